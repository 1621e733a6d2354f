package rbac

import (
	"cmp"
	"maps"
	"slices"
)

// Role is a set of permissions.
type Role struct {
	Name    string       `json:"name"`
	Allowed []Permission `json:"allowed,omitempty"` // in the order of Permissions
	// Predefined roles are part of Sluice: they can be copied, not changed.
	Predefined bool `json:"-"`
}

// May reports whether the role has the permission.
func (r *Role) May(p Permission) bool { return slices.Contains(r.Allowed, p) }

// predefined are the roles that are part of Sluice, by name. The first has all permissions of
// an administrator below root, except the right to start programs. The specification defines
// the next two: start and stop backends; read system and farms. The last may read everything.
var predefined = []Role{
	{Name: "administration", Predefined: true, Allowed: slices.DeleteFunc(Permissions(), func(p Permission) bool { return p == ProgramSet })},
	{Name: "management", Predefined: true, Allowed: []Permission{FarmMenu, FarmAction, FarmMaintenance, FarmguardianMenu}},
	{Name: "monitoring", Predefined: true, Allowed: []Permission{FarmMenu, FarmguardianMenu, LogMenu, LogShow, SystemMenu, NotificationMenu, NotificationShow}},
	{Name: "readonly", Predefined: true, Allowed: slices.DeleteFunc(Permissions(), func(p Permission) bool { return !p.shows() })},
}

// Roles lists all roles by name.
func (b *Book) Roles() []Role {
	out := slices.Concat(predefined, b.state.Load().Roles)
	slices.SortFunc(out, func(x, y Role) int { return cmp.Compare(x.Name, y.Name) })
	return out
}

// Role returns one role.
func (b *Book) Role(name string) (Role, error) {
	if r := b.state.Load().role(name); r != nil {
		return *r, nil
	}
	return Role{}, noRole(name)
}

func noRole(name string) error { return missing("the role %.80q does not exist", name) }

// AddRole makes a role with no permissions, or with the permissions of another role.
func (b *Book) AddRole(name, copyFrom string) (Role, error) {
	made := Role{Name: name}
	err := b.change(func(s *state) error {
		if err := checkName(name); err != nil {
			return err
		}
		switch {
		case s.role(name) != nil:
			return invalid("name: a role named %s exists already", name)
		case len(s.Roles) >= maxRoles:
			return invalid("there are %d roles already: delete one first", maxRoles)
		}
		if copyFrom != "" {
			from := s.role(copyFrom)
			if from == nil {
				return noRole(copyFrom)
			}
			made.Allowed = slices.Clone(from.Allowed)
		}
		s.Roles = sorted(append(s.Roles, made), func(r Role) string { return r.Name })
		return nil
	})
	return made, err
}

// ChangeRole adds permissions to a role and removes others. Permissions that are not in set
// remain unchanged.
func (b *Book) ChangeRole(name string, set map[Permission]bool) (Role, error) {
	var now Role
	err := b.change(func(s *state) error {
		r := s.role(name)
		switch {
		case r == nil:
			return noRole(name)
		case r.Predefined:
			return invalid("the role %s comes with Sluice and is not changed: make a copy (copy_from) and change that", name)
		}
		for _, p := range slices.Sorted(maps.Keys(set)) {
			if !slices.Contains(permissions, p) {
				return invalid("%s: there is no permission %.80q in the section %.80q", p.Section(), p.Name(), p.Section())
			}
		}
		r.Allowed = slices.DeleteFunc(Permissions(), func(p Permission) bool {
			if wanted, named := set[p]; named {
				return !wanted
			}
			return !slices.Contains(r.Allowed, p)
		})
		now = *r
		return nil
	})
	return now, err
}

// RemoveRole deletes a role that no group has.
func (b *Book) RemoveRole(name string) error {
	return b.change(func(s *state) error {
		r := s.role(name)
		switch {
		case r == nil:
			return noRole(name)
		case r.Predefined:
			return invalid("the role %s comes with Sluice and is not deleted", name)
		}
		for _, g := range s.Groups {
			if g.Role == name {
				return invalid("the role %s is that of the group %s: give the group another one first", name, g.Name)
			}
		}
		s.Roles = slices.DeleteFunc(s.Roles, func(r Role) bool { return r.Name == name })
		return nil
	})
}

// sorted orders a list by name.
func sorted[T any](list []T, name func(T) string) []T {
	slices.SortFunc(list, func(x, y T) int { return cmp.Compare(name(x), name(y)) })
	return list
}
