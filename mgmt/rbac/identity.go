package rbac

import (
	"iter"
	"slices"
)

// Identity holds the current rights of one user. The zero Identity has none.
type Identity struct {
	user  *User
	group *Group // nil: only Open and Public
	role  *Role
}

// Identity returns the current rights of a user, and false if the user does not exist. It
// is for one request: it does not reflect later changes.
func (b *Book) Identity(user string) (Identity, bool) {
	return b.state.Load().identity(user)
}

func (s *state) identity(user string) (Identity, bool) {
	u := s.user(user)
	if u == nil {
		return Identity{}, false
	}
	who := Identity{user: u, group: s.groupOf(user)}
	if who.group != nil {
		who.role = s.role(who.group.Role)
	}
	return who, true
}

// Root reports whether the user is root, with all rights.
func (i Identity) Root() bool { return i.user != nil && i.user.Name == Root }

// Name returns the name of the user.
func (i Identity) Name() string { return i.user.Name }

// Group returns the name of the user's group, empty for none.
func (i Identity) Group() string {
	if i.group == nil {
		return ""
	}
	return i.group.Name
}

// API reports whether the user may use the API with a key.
func (i Identity) API() bool { return i.user != nil && i.user.API }

// May reports whether the user has the permission.
func (i Identity) May(p Permission) bool {
	switch {
	case p == Public:
		return true
	case i.user == nil || p == Nobody:
		return false
	case i.Root() || p == Open:
		return true
	}
	return i.role != nil && i.role.May(p)
}

// MayFarm reports whether the user sees the farm with a stable ID.
func (i Identity) MayFarm(id uint32) bool {
	return i.AllFarms() || i.group != nil && slices.Contains(i.group.Farms, id)
}

// AllFarms reports whether the user sees every farm, including later ones.
func (i Identity) AllFarms() bool { return i.Root() || i.group != nil && i.group.AllFarms }

// SeesAll reports whether the user sees all existing farms. That is the case for a group
// with all farms, and for a group that lists every existing farm until another one is
// created. If there are no farms, only the former counts, because an empty list proves
// nothing.
func (i Identity) SeesAll(farms iter.Seq[uint32]) bool {
	if i.AllFarms() {
		return true
	}
	any := false
	for id := range farms {
		if any = true; !i.MayFarm(id) {
			return false
		}
	}
	return any
}

// Sight returns a comparable value. Users with equal values see the same farms.
func (i Identity) Sight() any {
	type sight struct {
		root  bool
		group *Group // a new one after every change
	}
	return sight{i.Root(), i.group}
}

// MayInterface reports whether the user sees a virtual interface.
func (i Identity) MayInterface(name string) bool {
	return i.Root() || i.group != nil && slices.Contains(i.group.Interfaces, name)
}

// Epoch returns a value that changes with everything that ends the sessions of a user. That
// is a change of the password, second factor, keys, permissions, group or the group's role,
// and of whether its service is in use. It returns false if the user does not exist.
func (b *Book) Epoch(user string) (Epoch, bool) {
	who, ok := b.Identity(user)
	if !ok {
		return Epoch{}, false
	}
	e := Epoch{changes: who.user.Epoch, group: who.Group(), served: b.state.Load().serves(who.user)}
	if who.group != nil {
		e.role = who.group.Role
	}
	return e, true
}

// Epoch identifies a period in which the rights of a user did not change.
type Epoch struct {
	changes     uint64
	group, role string
	served      bool
}
