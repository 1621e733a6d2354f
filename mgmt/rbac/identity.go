package rbac

import (
	"iter"
	"slices"
)

// Identity is what one user may do at this moment. The zero one may do nothing.
type Identity struct {
	user  *User
	group *Group // nil: only what is open
	role  *Role
}

// Identity returns what the user may do now; false when there is none. It holds for
// one request: a later change is not seen.
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

// Root reports whether it is root, who may do everything.
func (i Identity) Root() bool { return i.user != nil && i.user.Name == Root }

// Name is that of the user.
func (i Identity) Name() string { return i.user.Name }

// Group is the name of the user's group, empty for none.
func (i Identity) Group() string {
	if i.group == nil {
		return ""
	}
	return i.group.Name
}

// API reports whether the user may use the API by key.
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

// MayFarm reports whether the user sees the farm of a stable ID.
func (i Identity) MayFarm(id uint32) bool {
	return i.AllFarms() || i.group != nil && slices.Contains(i.group.Farms, id)
}

// AllFarms reports whether the user sees every farm, those that are made later too.
func (i Identity) AllFarms() bool { return i.Root() || i.group != nil && i.group.AllFarms }

// SeesAll reports whether the user sees all of the farms that there are: by a group that
// sees every farm, or that lists each farm of the moment. The latter ends with the next
// farm that is made. On an appliance without farms only the former counts, because a list
// shows nothing there.
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

// Sight is comparable: who has the same sees the same farms.
func (i Identity) Sight() any {
	type sight struct {
		root  bool
		group *Group // another one after every change
	}
	return sight{i.Root(), i.group}
}

// MayInterface reports whether the user sees a virtual interface.
func (i Identity) MayInterface(name string) bool {
	return i.Root() || i.group != nil && slices.Contains(i.group.Interfaces, name)
}

// Epoch changes with everything that ends the sessions of a user: password, second
// factor, keys, permissions, group, the role of the group, and whether its service is in
// use; false when there is none.
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

// Epoch is a time in the life of a user in which its rights did not change.
type Epoch struct {
	changes     uint64
	group, role string
	served      bool
}
