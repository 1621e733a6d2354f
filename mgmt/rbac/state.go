package rbac

import "slices"

// state is everything a Book keeps: one value, replaced as a whole and never
// changed once it is in force.
type state struct {
	// Revision grows with every change.
	Revision uint64 `json:"revision,omitempty"`

	Root   User    `json:"root"`
	Users  []User  `json:"users,omitempty"`  // by name
	Groups []Group `json:"groups,omitempty"` // by name
	Roles  []Role  `json:"roles,omitempty"`  // by name; those that come with Sluice are not among them
	// Using are the services in use, nil for those an appliance begins with.
	Using *Services `json:"using,omitempty"`
}

// fresh is what an appliance begins with.
func fresh() *state {
	return &state{Root: User{Name: Root, Service: Local, WebGUI: true, API: true}}
}

// clone copies all that a change may touch.
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

// role finds a role, those that come with Sluice too.
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

// groupOf is the group a user is in, nil for none.
func (s *state) groupOf(user string) *Group {
	for i := range s.Groups {
		if slices.Contains(s.Groups[i].Users, user) {
			return &s.Groups[i]
		}
	}
	return nil
}
