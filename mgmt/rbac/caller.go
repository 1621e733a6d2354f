package rbac

import (
	"reflect"
	"slices"
)

// Caller is a user who requests changes of users, groups and roles. The caller must cover the
// target: for every affected user, group and role, the caller must see all farms and
// interfaces that it sees, and hold every permission that it has. This must be true before
// and after the change. A caller that sees only some farms may change only its own group,
// that group's users and its role. Its new users are in that group from the start. It may
// not add existing users, and users that it removes lose their credentials: otherwise it
// would know those of accounts that may join a group with more rights. Root covers
// everything, and only root covers root.
type Caller struct {
	Name  string
	Farms []uint32 // all existing farms
}

// On returns the book for a caller: changes that the caller does not cover are refused.
func (b *Book) On(behalf Caller) *Book {
	c := *b
	c.caller = &behalf
	return &c
}

// covers applies the rule to everything that a change affects.
func (c *Caller) covers(now, next *state) error {
	who, known := now.identity(c.Name)
	switch {
	case !known:
		return forbidden("you may not do this: the user %s does not exist any more", c.Name)
	case who.Root():
		return nil
	}
	check := coverage{who: who, now: now, next: next, farms: c.Farms, all: c.unconfined(who)}
	for _, step := range []func() error{check.settings, check.roles, check.users, check.groups} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// unconfined reports whether a caller may change other groups than its own.
func (c *Caller) unconfined(who Identity) bool { return who.SeesAll(slices.Values(c.Farms)) }

// confined reports whether a caller may change the own group only; nil may change all.
func (c *Caller) confined(s *state) bool {
	if c == nil {
		return false
	}
	who, _ := s.identity(c.Name)
	return !c.unconfined(who)
}

// coverage compares a change with the rights of the caller.
type coverage struct {
	who       Identity // before the change
	now, next *state
	farms     []uint32 // all existing farms
	all       bool     // the caller sees all farms
}

// settings allows changes of the settings only to root.
func (c *coverage) settings() error {
	if reflect.DeepEqual(c.now.Using, c.next.Using) {
		return nil
	}
	return forbidden("you may not do this: it is about all users")
}

func (c *coverage) roles() error {
	names := both(c.now.Roles, c.next.Roles, func(r *Role) string { return r.Name })
	for _, name := range names {
		before, after := c.now.role(name), c.next.role(name)
		if reflect.DeepEqual(before, after) {
			continue
		}
		for _, r := range []*Role{before, after} {
			if err := c.role(r, "the role "+name); err != nil {
				return err
			}
		}
		if !c.all && !c.ownRole(name) {
			return c.beyond("the role " + name)
		}
	}
	return nil
}

// ownRole reports whether a role is the role of the caller's group and of no other.
func (c *coverage) ownRole(name string) bool {
	for i := range c.now.Groups {
		if g := &c.now.Groups[i]; g.Role == name && g.Name != c.who.Group() {
			return false
		}
	}
	return c.who.role != nil && c.who.role.Name == name
}

func (c *coverage) groups() error {
	names := both(c.now.Groups, c.next.Groups, func(g *Group) string { return g.Name })
	for _, name := range names {
		before, after := c.now.group(name), c.next.group(name)
		if reflect.DeepEqual(before, after) {
			continue
		}
		if !c.all && name != c.who.Group() {
			return c.beyond("the group " + name)
		}
		if !c.all && after != nil {
			if err := c.joins(before, after); err != nil {
				return err
			}
		}
		if err := c.group(c.now, before, "the group "+name); err != nil {
			return err
		}
		if err := c.group(c.next, after, "the group "+name); err != nil {
			return err
		}
	}
	return nil
}

// joins refuses users who existed before in no group or another one.
func (c *coverage) joins(before, after *Group) error {
	for _, user := range after.Users {
		if c.now.user(user) != nil && (before == nil || !slices.Contains(before.Users, user)) {
			return c.beyond("the user " + user)
		}
	}
	return nil
}

func (c *coverage) users() error {
	if !reflect.DeepEqual(c.now.Root, c.next.Root) {
		return forbidden("you may not do this: only root changes root")
	}
	names := both(c.now.Users, c.next.Users, func(u *User) string { return u.Name })
	for _, name := range names {
		if err := c.user(name); err != nil {
			return err
		}
	}
	return nil
}

// user checks one user. Changes of its group or role are checked there.
func (c *coverage) user(name string) error {
	if reflect.DeepEqual(c.now.user(name), c.next.user(name)) || name == c.who.Name() {
		return nil
	}
	of := c.now.groupOf(name)
	if mine := of; !c.all {
		if c.now.user(name) == nil {
			mine = c.next.groupOf(name)
		}
		if mine == nil || mine.Name != c.who.Group() {
			return c.beyond("the user " + name)
		}
	}
	if err := c.group(c.now, of, "the user "+name); err != nil {
		return err
	}
	return c.group(c.next, c.next.groupOf(name), "the user "+name)
}

// group refuses a group that sees or may do more than the caller.
func (c *coverage) group(in *state, g *Group, what string) error {
	if g == nil {
		return nil
	}
	if g.AllFarms && !c.who.AllFarms() { // a list of all farms lacks later farms
		return forbidden("you may not change %s: it sees all farms, those that are made later too, and your group does not", what)
	}
	for _, id := range g.Farms {
		// A deleted farm stays in the group, because a rollback may bring it back.
		if slices.Contains(c.farms, id) && !c.who.MayFarm(id) {
			return forbidden("you may not change %s: it sees farms that your group does not see", what)
		}
	}
	for _, name := range g.Interfaces {
		if !c.who.MayInterface(name) {
			return forbidden("you may not change %s: it sees interfaces that your group does not see", what)
		}
	}
	return c.role(in.role(g.Role), what)
}

// role refuses permissions that the caller does not hold.
func (c *coverage) role(r *Role, what string) error {
	if r == nil {
		return nil
	}
	for _, p := range r.Allowed {
		if !c.who.May(p) {
			return forbidden("you may not change %s: it has the permission %q, which you do not have", what, p)
		}
	}
	return nil
}

func (c *coverage) beyond(what string) error {
	return forbidden("you may not change %s: who does not see all farms changes the own group, its users and its role only", what)
}

// both returns the names in two lists.
func both[T any](now, next []T, name func(*T) string) []string {
	var out []string
	for _, list := range [][]T{now, next} {
		for i := range list {
			out = append(out, name(&list[i]))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
