package farm

import (
	"fmt"
	"slices"
)

// Auth is who a service lets in. Users and keys are asked for independently: a
// service with both asks for both.
type Auth struct {
	// Users have passwords (basic authentication, RFC 7617); none asks for none.
	Users []AuthUser `json:"users,omitempty"`
	// Realm is what clients are told they log in to; empty means DefaultRealm.
	Realm string `json:"realm,omitempty"`
	// Header names the request header that must carry one of Keys; empty asks
	// for none.
	Header string    `json:"header,omitempty"`
	Keys   []AuthKey `json:"keys,omitempty"`
	// Pass leaves the credentials in what backends get.
	Pass bool `json:"pass,omitempty"`
}

// AuthUser is a user and the bcrypt hash of the password.
type AuthUser struct {
	Name string `json:"name"`
	Hash string `json:"hash"`
	// plain is the password Hash was just made of, until ForgetPasswords.
	plain string
}

// NewAuthUser is a user whose hash was just made of that password.
func NewAuthUser(name, hash, password string) AuthUser {
	return AuthUser{Name: name, Hash: hash, plain: password}
}

// Keep gives the user the hash of before, if same says that it is one of the
// password just given: another hash of it would be a change that changes nothing.
func (u *AuthUser) Keep(before string, same func(hash, password string) bool) {
	if u.plain != "" && same(before, u.plain) {
		u.Hash = before
	}
}

// ForgetPasswords leaves nothing but hashes of the passwords of c.
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
			if u := &g.Service.Auth.Users[j]; u.plain != "" { // a shared one is not written
				u.plain = ""
			}
		}
	}
}

// AuthKey is the SHA-256 of a key, in 64 hexadecimal digits.
type AuthKey string

// The bounds of an Auth.
const (
	MaxAuthUsers = 256
	MaxAuthKeys  = 64
	DefaultRealm = "Restricted"
)

// Format writes the name alone, whatever the verb: a configuration that ends
// up in a message by mistake gives nobody anything to guess at.
func (u AuthUser) Format(f fmt.State, _ rune) { fmt.Fprintf(f, "user %q", u.Name) }

// Format is the same for keys.
func (AuthKey) Format(f fmt.State, _ rune) { fmt.Fprint(f, "key") }

// keyHeaders are the headers in which services of the farm expect keys: their
// values are nobody's to read.
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
