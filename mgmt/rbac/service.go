package rbac

// Service is the service that checks the password of a user.
type Service string

// The services.
const (
	Local Service = "local" // a Book
	LDAP  Service = "ldap"  // a directory
	OIDC  Service = "oidc"  // a provider of OpenID Connect: there is no password here
)

// Services contains the services whose users may log in with a password. Root always may.
type Services struct {
	Local bool `json:"local"`
	LDAP  bool `json:"ldap"`
}

// Services returns the services in use.
func (b *Book) Services() Services { return b.state.Load().services() }

func (s *state) services() Services {
	if s.Using == nil {
		return Services{Local: true}
	}
	return *s.Using
}

// UseServices sets the services in use. Sessions of users of other services end.
func (b *Book) UseServices(using Services) error {
	return b.change(func(s *state) error {
		s.Using = &using
		return nil
	})
}

// serves reports whether a user's service allows the user to log in.
func (s *state) serves(u *User) bool {
	using := s.services()
	return u.Name == Root || u.Service == OIDC || u.Service == Local && using.Local || u.Service == LDAP && using.LDAP
}

// Admit logs in a user who was authenticated by a provider of OpenID Connect. An existing
// user of that service may log in. A missing user is created if the provider's claims map
// to a group, and its group follows the claims at each login. No login is possible as
// root or as a user of another service. Errors: ErrWrong, ErrNotAllowed, *Error.
func (b *Book) Admit(name, group string) (UserView, error) {
	if u := b.state.Load().user(name); u != nil && (u.Name == Root || u.Service != OIDC) {
		return UserView{}, ErrWrong
	}
	if err := b.follow(name, group); err != nil {
		return UserView{}, err
	}
	s := b.state.Load()
	switch u := s.user(name); {
	case u == nil:
		return UserView{}, ErrWrong
	case !u.WebGUI:
		return UserView{}, ErrNotAllowed
	default:
		return s.view(u), nil
	}
}

// follow creates or changes a user according to the claims; users created by an operator are
// not changed.
func (b *Book) follow(name, group string) error {
	s := b.state.Load()
	u := s.user(name)
	switch {
	case u == nil && group == "":
		return ErrWrong
	case u == nil:
		if err := checkUserName(name); err != nil {
			return err
		}
	case !u.Mapped:
		return nil
	case group == "": // the claims no longer map to a group
		return ErrWrong
	case s.groupOf(name) != nil && s.groupOf(name).Name == group:
		return nil
	}
	return b.change(func(s *state) error {
		to := s.group(group)
		if to == nil {
			return noGroup(group)
		}
		if s.user(name) == nil {
			made := newUser(name, OIDC)
			made.WebGUI, made.Mapped = true, true
			if err := s.add(made); err != nil {
				return err
			}
		}
		if of := s.groupOf(name); of != nil {
			of.Users = without(of.Users, name)
		}
		to.Users = sorted(append(to.Users, name), func(name string) string { return name })
		return nil
	})
}
