package rbac

import (
	"slices"
)

// Group is a set of users with one role, and the farms and interfaces that they may see and
// change.
type Group struct {
	Name  string   `json:"name"`
	Role  string   `json:"role,omitempty"`  // empty: its users may do nothing
	Users []string `json:"users,omitempty"` // by name
	// Farms are stable IDs: a renamed farm stays in its group.
	Farms []uint32 `json:"farms,omitempty"`
	// AllFarms: its users see every farm, including later ones.
	AllFarms   bool     `json:"all_farms,omitempty"`
	Interfaces []string `json:"interfaces,omitempty"`
}

// Groups lists all groups by name.
func (b *Book) Groups() []Group { return b.state.Load().clone().Groups }

// Group returns one group.
func (b *Book) Group(name string) (Group, error) {
	if g := b.state.Load().clone().group(name); g != nil {
		return *g, nil
	}
	return Group{}, noGroup(name)
}

func noGroup(name string) error { return missing("the group %.80q does not exist", name) }

// AddGroup makes a group without role or users.
func (b *Book) AddGroup(name string) error {
	return b.change(func(s *state) error {
		if err := checkName(name); err != nil {
			return err
		}
		switch {
		case s.group(name) != nil:
			return invalid("name: a group named %s exists already", name)
		case len(s.Groups) >= maxGroups:
			return invalid("there are %d groups already: delete one first", maxGroups)
		}
		s.Groups = sorted(append(s.Groups, Group{Name: name}), func(g Group) string { return g.Name })
		return nil
	})
}

// GiveRole sets the role of a group; an empty role removes it.
func (b *Book) GiveRole(group, role string) error {
	return b.ChangeGroup(group, GroupChange{Role: &role})
}

// GroupChange holds the properties of a group to change; nil leaves a property unchanged.
type GroupChange struct {
	Role     *string // empty: removes the role
	AllFarms *bool
}

// ChangeGroup changes several properties of a group at once.
func (b *Book) ChangeGroup(group string, to GroupChange) error {
	return b.changeGroup(group, func(s *state, g *Group) error {
		if to.Role != nil {
			if *to.Role != "" && s.role(*to.Role) == nil {
				return noRole(*to.Role)
			}
			g.Role = *to.Role
		}
		if to.AllFarms != nil {
			g.AllFarms = *to.AllFarms
		}
		return nil
	})
}

// RemoveGroup deletes a group. Its users remain, without rights. As in Leave, they may lose
// their credentials.
func (b *Book) RemoveGroup(name string) error {
	return b.changeGroup(name, func(s *state, g *Group) error {
		if b.caller.confined(s) {
			for _, user := range g.Users {
				s.user(user).disarm()
			}
		}
		s.Groups = slices.DeleteFunc(s.Groups, func(g Group) bool { return g.Name == name })
		return nil
	})
}

// Join adds a user to a group. The user must not be in another one.
func (b *Book) Join(group, user string) error {
	return b.change(func(s *state) error { return s.join(group, user) })
}

func (s *state) join(group, user string) error {
	g := s.group(group)
	switch {
	case g == nil:
		return noGroup(group)
	case user == Root:
		return invalid("name: root may do everything and is in no group")
	case s.user(user) == nil:
		return noUser(user)
	}
	if of := s.groupOf(user); of != nil {
		return invalid("name: the user %s is in the group %s already", user, of.Name)
	}
	g.Users = sorted(append(g.Users, user), func(name string) string { return name })
	return nil
}

// Leave removes a user from a group. If the caller does not see all farms, the user loses
// its credentials (see Caller).
func (b *Book) Leave(group, user string) error {
	return b.changeGroup(group, func(s *state, g *Group) error {
		if err := take(&g.Users, user, "the user %.80q is not in the group %s", user, group); err != nil {
			return err
		}
		if b.caller.confined(s) {
			s.user(user).disarm()
		}
		return nil
	})
}

// AddFarm allows a group to see and change a farm. A farm may be in any number of groups.
func (b *Book) AddFarm(group string, farm uint32) error {
	return b.changeGroup(group, func(_ *state, g *Group) error {
		return give(&g.Farms, farm, "name: the farm is in the group %s already", group)
	})
}

// RemoveFarm reverts AddFarm.
func (b *Book) RemoveFarm(group string, farm uint32) error {
	return b.changeGroup(group, func(_ *state, g *Group) error {
		return take(&g.Farms, farm, "the farm is not in the group %s", group)
	})
}

// AddInterface allows a group to see and change a virtual interface.
func (b *Book) AddInterface(group, name string) error {
	return b.changeGroup(group, func(_ *state, g *Group) error {
		return give(&g.Interfaces, name, "name: the interface %.80q is in the group %s already", name, group)
	})
}

// RemoveInterface reverts AddInterface.
func (b *Book) RemoveInterface(group, name string) error {
	return b.changeGroup(group, func(_ *state, g *Group) error {
		return take(&g.Interfaces, name, "the interface %.80q is not in the group %s", name, group)
	})
}

func (b *Book) changeGroup(name string, edit func(*state, *Group) error) error {
	return b.change(func(s *state) error {
		g := s.group(name)
		if g == nil {
			return noGroup(name)
		}
		return edit(s, g)
	})
}

func give[T comparable](list *[]T, item T, format string, args ...any) error {
	if slices.Contains(*list, item) {
		return invalid(format, args...)
	}
	*list = append(*list, item)
	return nil
}

func take[T comparable](list *[]T, item T, format string, args ...any) error {
	at := slices.Index(*list, item)
	if at < 0 {
		return missing(format, args...)
	}
	*list = slices.Delete(*list, at, at+1)
	return nil
}
