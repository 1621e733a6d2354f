package rbac

import (
	"crypto/sha256"
	"math/rand/v2"
	"slices"
)

// User is one user. A Book does not reveal passwords and keys.
type User struct {
	Name    string  `json:"name"`
	Service Service `json:"service"`
	// WebGUI: may log in with a password. API: may use the API with a key.
	WebGUI bool `json:"webgui"`
	API    bool `json:"api"`
	// Password is an argon2id hash, empty if another service checks the password. Key is
	// the SHA-256 of the user's key, empty for none.
	Password string `json:"password,omitempty"`
	Key      []byte `json:"key,omitempty"`
	// Factor is the second factor, nil for none.
	Factor *Second `json:"second,omitempty"`
	// Mapped means that a login with OpenID Connect created the user, whose claims determine
	// the group.
	Mapped bool `json:"mapped,omitempty"`
	// Epoch counts the changes that end the user's sessions, from a random number on: see
	// Book.Epoch.
	Epoch uint64 `json:"epoch,omitempty"`
}

// HasKey reports whether the user has a key of its own.
func (u *User) HasKey() bool { return len(u.Key) > 0 }

// UserView is the visible part of a user.
type UserView struct {
	User
	Group string // empty for none
}

func (s *state) view(u *User) UserView {
	v := UserView{User: *u}
	v.Password, v.Key = "", slices.Clone(u.Key)
	if u.Factor != nil { // the visible part, without the secret
		v.Factor = &Second{Confirmed: u.Factor.Confirmed, Recovery: make([][]byte, len(u.Factor.Recovery))}
	}
	if g := s.groupOf(u.Name); g != nil {
		v.Group = g.Name
	}
	return v
}

// Users lists all users but root by name.
func (b *Book) Users() []UserView {
	s := b.state.Load()
	out := make([]UserView, 0, len(s.Users))
	for i := range s.Users {
		out = append(out, s.view(&s.Users[i]))
	}
	return out
}

// User returns one user, including root.
func (b *Book) User(name string) (UserView, error) {
	s := b.state.Load()
	if u := s.user(name); u != nil {
		return s.view(u), nil
	}
	return UserView{}, noUser(name)
}

func noUser(name string) error { return missing("the user %.80q does not exist", name) }

// AddUser makes a user without a group. The password is required for the service local, and
// must be empty for the others.
func (b *Book) AddUser(name string, service Service, password string) error {
	return b.AddMember("", name, service, password)
}

// AddMember makes a user in a group, empty for none.
func (b *Book) AddMember(group, name string, service Service, password string) error {
	if err := checkUserName(name); err != nil {
		return err
	}
	made := newUser(name, service)
	switch {
	case service == LDAP && password != "":
		return invalid("password: the one of a user of the service ldap is kept by the directory")
	case service == OIDC && password != "":
		return invalid("password: users of the service oidc have none here")
	case service == Local:
		hash, err := b.hash("password", password)
		if err != nil {
			return err
		}
		made.Password = hash
	}
	return b.change(func(s *state) error {
		if err := s.add(made); err != nil {
			return err
		}
		if group == "" {
			return nil
		}
		return s.join(group, name)
	})
}

// newUser returns a user with a random epoch, so that sessions of an earlier user of that
// name are invalid.
func newUser(name string, service Service) User {
	return User{Name: name, Service: service, Epoch: rand.Uint64()}
}

func (s *state) add(u User) error {
	switch {
	case s.user(u.Name) != nil:
		return invalid("name: a user named %s exists already", u.Name)
	case len(s.Users) >= maxUsers:
		return invalid("there are %d users already: delete one first", maxUsers)
	}
	s.Users = sorted(append(s.Users, u), func(u User) string { return u.Name })
	return nil
}

// UserChange holds the properties of a user to change; nil leaves a property unchanged.
type UserChange struct {
	Password    *string
	WebGUI, API *bool
	Key         *string // empty removes it
}

// ChangeUser changes a user, including root, except for root's password, which belongs to the
// system (ChangeRootPassword). Removing the key also removes the permission to use the API,
// including root's numbered keys, as the specification demands. Any of these changes ends the
// sessions of the user.
func (b *Book) ChangeUser(name string, to UserChange) error {
	hash, err := b.newPassword(name, to.Password)
	if err != nil {
		return err
	}
	return b.change(func(s *state) error { return s.changeUser(name, hash, to) })
}

// changeUser applies a change; hash is that of the new password, empty for none.
func (s *state) changeUser(name, hash string, to UserChange) error {
	u := s.user(name)
	if u == nil {
		return noUser(name)
	}
	if hash != "" {
		u.Password = hash
	}
	assign(&u.WebGUI, to.WebGUI)
	if to.Key != nil {
		if err := setKey(s, u, *to.Key); err != nil {
			return err
		}
		u.API = u.API && u.HasKey()
	}
	if assign(&u.API, to.API); to.API != nil && *to.API && u.Name != Root && !u.HasKey() {
		return invalid("zapi_permissions: a key is needed first: send zapikey too")
	}
	u.Epoch++
	return nil
}

// newPassword returns the hash of a new password, empty for none.
func (b *Book) newPassword(name string, password *string) (string, error) {
	if password == nil {
		return "", nil
	}
	u := b.state.Load().user(name)
	switch {
	case u == nil:
		return "", noUser(name)
	case name == Root:
		return "", invalid("newpassword: the password of root is the system's")
	case u.Service != Local:
		return "", invalid("newpassword: the password of a user of the service %s is kept there", u.Service)
	}
	return b.hash("newpassword", *password)
}

func assign(field, to *bool) {
	if to != nil {
		*field = *to
	}
}

// disarm removes the credentials that others can set: password, second factor and key. Those
// of another service remain.
func (u *User) disarm() {
	if u.Service == Local {
		u.Password, u.Factor = "", nil
	}
	u.Key, u.API = nil, false
	u.Epoch++
}

// RemoveUser deletes a user, and removes it from its group.
func (b *Book) RemoveUser(name string) error {
	return b.change(func(s *state) error {
		switch {
		case name == Root:
			return invalid("root is not deleted")
		case s.user(name) == nil:
			return noUser(name)
		}
		if g := s.groupOf(name); g != nil {
			g.Users = without(g.Users, name)
		}
		s.Users = slices.DeleteFunc(s.Users, func(u User) bool { return u.Name == name })
		return nil
	})
}

func without(users []string, name string) []string {
	return slices.DeleteFunc(users, func(user string) bool { return user == name })
}

// Limits for keys that users choose; api-reference §1.1 defines the alphabet.
const minKey, maxKey = 8, 256

func setKey(s *state, u *User, key string) error {
	if key == "" {
		u.Key = nil
		return nil
	}
	if len(key) < minKey || len(key) > maxKey || !alphanumeric(key) {
		return invalid("zapikey: %d to %d letters and digits are needed", minKey, maxKey)
	}
	hash := sha256.Sum256([]byte(key))
	if owner := s.owner(hash[:]); owner != nil && owner.Name != u.Name {
		return ErrTaken
	}
	u.Key = hash[:]
	return nil
}

func alphanumeric(text string) bool {
	for _, c := range text {
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9') {
			return false
		}
	}
	return true
}
