package farm

import (
	"fmt"
	"slices"
)

// Auth restricts access to a service. Users and keys are independent: a service with both
// requires both.
type Auth struct {
	// Users holds users and passwords (basic authentication, RFC 7617); empty requires none.
	Users []AuthUser `json:"users,omitempty"`
	// Realm is the realm shown to clients; empty means DefaultRealm.
	Realm string `json:"realm,omitempty"`
	// Header names the request header that must contain one of Keys; empty requires none.
	Header string    `json:"header,omitempty"`
	Keys   []AuthKey `json:"keys,omitempty"`
	// Pass forwards the credentials to backends.
	Pass bool `json:"pass,omitempty"`
}

// AuthUser is a user and the bcrypt hash of the password.
type AuthUser struct {
	Name string `json:"name"`
	Hash string `json:"hash"`
	// plain is the new password from which Hash was made, until ForgetPasswords.
	plain string
}

// NewAuthUser returns a user with a hash made from that password.
func NewAuthUser(name, hash, password string) AuthUser {
	return AuthUser{Name: name, Hash: hash, plain: password}
}

// Keep restores the hash before if same reports that it matches the new password. Another
// hash of the same password would be a change without effect.
func (u *AuthUser) Keep(before string, same func(hash, password string) bool) {
	if u.plain != "" && same(before, u.plain) {
		u.Hash = before
	}
}

// ForgetPasswords removes all plain passwords from c.
func (c *Config) ForgetPasswords() {
	for i := range c.Farms {
		c.Farms[i].ForgetPasswords()
	}
}

// ForgetPasswords is Config.ForgetPasswords for one farm.
func (f *Farm) ForgetPasswords() {
	for _, g := range f.Groups() {
		if g.Service == nil || g.Service.Auth == nil {
			continue
		}
		for j := range g.Service.Auth.Users {
			if u := &g.Service.Auth.Users[j]; u.plain != "" { // shared ones are not written
				u.plain = ""
			}
		}
	}
}

// AuthKey is the SHA-256 of a key, as 64 hexadecimal digits.
type AuthKey string

// Limits of Auth.
const (
	MaxAuthUsers = 256
	MaxAuthKeys  = 64
	DefaultRealm = "Restricted"
)

// Format ignores the verb and writes only the name, so that a configuration in a message
// does not reveal hashes.
func (u AuthUser) Format(f fmt.State, _ rune) { fmt.Fprintf(f, "user %q", u.Name) }

// Format is the same for keys.
func (AuthKey) Format(f fmt.State, _ rune) { fmt.Fprint(f, "key") }

// keyHeaders returns the headers in which services of the farm expect keys. Their values
// must not be logged.
func (h *HTTP) keyHeaders() (names []string) {
	for i := range h.Services {
		if a := h.Services[i].Auth; a != nil && a.Header != "" {
			names = append(names, a.Header)
		}
	}
	return names
}

func (a *Auth) clone() *Auth {
	out := own(a)
	if out != nil {
		out.Users, out.Keys = slices.Clone(a.Users), slices.Clone(a.Keys)
	}
	return out
}
