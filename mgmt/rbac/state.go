package rbac

import "slices"

// state is everything that a Book stores: one immutable value that is replaced as a whole.
type state struct {
	// Revision grows with every change.
	Revision uint64 `json:"revision,omitempty"`

	Root   User    `json:"root"`
	Users  []User  `json:"users,omitempty"`  // by name
	Groups []Group `json:"groups,omitempty"` // by name
	Roles  []Role  `json:"roles,omitempty"`  // by name; without the predefined ones
	// Using are the services in use, nil for the default of an appliance.
	Using *Services `json:"using,omitempty"`
}

// fresh returns the state of a new appliance.
func fresh() *state {
	return &state{Root: User{Name: Root, Service: Local, WebGUI: true, API: true}}
}

// clone copies everything that a change may modify.
func (s *state) clone() *state {
	c := &state{Revision: s.Revision, Root: s.Root, Users: slices.Clone(s.Users), Groups: slices.Clone(s.Groups), Roles: slices.Clone(s.Roles), Using: s.Using}
	for i := range c.Groups {
		g := &c.Groups[i]
		g.Users, g.Farms, g.Interfaces = slices.Clone(g.Users), slices.Clone(g.Farms), slices.Clone(g.Interfaces)
	}
	for i := range c.Roles {
		c.Roles[i].Allowed = slices.Clone(c.Roles[i].Allowed)
	}
	return c
}

func (s *state) user(name string) *User {
	if name == Root {
		return &s.Root
	}
	for i := range s.Users {
		if s.Users[i].Name == name {
			return &s.Users[i]
		}
	}
	return nil
}

func (s *state) group(name string) *Group {
	for i := range s.Groups {
		if s.Groups[i].Name == name {
			return &s.Groups[i]
		}
	}
	return nil
}

// role finds a role, including predefined ones.
func (s *state) role(name string) *Role {
	for _, list := range [][]Role{predefined, s.Roles} {
		for i := range list {
			if list[i].Name == name {
				return &list[i]
			}
		}
	}
	return nil
}

// groupOf returns the group of a user, nil for none.
func (s *state) groupOf(user string) *Group {
	for i := range s.Groups {
		if slices.Contains(s.Groups[i].Users, user) {
			return &s.Groups[i]
		}
	}
	return nil
}
