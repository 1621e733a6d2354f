package document

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/password"
)

// Carry copies the IDs of old to the same objects of new, including resolved addresses and
// backend numbers. Farms are the same if their names are equal, and services if their names are
// equal in the same farm. Backends are the same if host and port are equal in the same service
// or l4xnat farm.
//
// An object that is not in old gets ID 0. If it has the ID of an old object without another
// match, it counts as that object, renamed. A user whose password is unchanged keeps its hash;
// the passwords themselves are removed. If the document omits the settings of the machine or
// the list of checks, the old ones are kept.
func Carry(old, new *farm.Config) {
	defer new.ForgetPasswords()
	if new.SystemUnsaid {
		new.System, new.SystemUnsaid = old.System.Clone(), false
	}
	if new.ChecksUnsaid {
		new.Checks, new.ChecksUnsaid = slices.Clone(old.Checks), false
	}
	pair(farms(old), farms(new), func(was, is *farm.Farm) {
		var before []*group
		if was != nil {
			before = groups(was)
		}
		pair(before, groups(is), func(was, is *group) {
			var before []*farm.Backend
			if *is.LastSlotAt() = 0; was != nil {
				*is.LastSlotAt() = *was.LastSlotAt()
				before = pointers(was.Configured())
				carryUsers(was.Service, is.Service)
			}
			if slices.ContainsFunc(is.Backends(), func(b farm.Backend) bool { return b.Of != 0 }) {
				is.SetBackends(is.Configured()) // the parts follow from these
			}
			pair(before, pointers(is.Backends()), func(was, is *farm.Backend) {
				is.Slot = 0
				if was != nil {
					is.Slot = was.Slot
				}
				carryAddr(was, is)
			})
		})
	})
}

// StripIDs removes all IDs and backend numbers of f, for copies.
func StripIDs(f *farm.Farm) {
	f.ID = 0
	for _, g := range f.Groups() {
		*g.IDAt(), *g.LastSlotAt() = 0, 0
		for i := range g.Backends() {
			b := &g.Backends()[i]
			b.ID, b.Slot = 0, 0
		}
	}
}

// carryUsers keeps the hashes of unchanged passwords.
func carryUsers(was, is *farm.Service) {
	if was == nil || is == nil || was.Auth == nil || is.Auth == nil {
		return
	}
	for i := range is.Auth.Users {
		u := &is.Auth.Users[i]
		for _, known := range was.Auth.Users {
			if known.Name == u.Name {
				u.Keep(known.Hash, func(hash, text string) bool { return password.Matches([]byte(hash), []byte(text)) })
			}
		}
	}
}

// carryAddr keeps the last known address of an unchanged name.
func carryAddr(was, is *farm.Backend) {
	if was != nil && was.Host == is.Host && was.Addr.IsValid() {
		is.Addr = was.Addr
	}
	if addr, err := netip.ParseAddr(is.Host); err == nil {
		is.Addr = addr
	}
}

// pair matches new objects with old ones, first by key, then by ID, and gives them the old ID.
// It calls matched for each new object; was is nil if there is no match.
func pair[T object](old, new []T, matched func(was, is T)) {
	byKey := make(map[string]T, len(old))
	byID := make(map[uint32]T, len(old))
	for _, o := range old {
		byKey[key(o)] = o
		byID[*id(o)] = o
	}
	partner := make([]T, len(new))
	taken := make(map[uint32]bool, len(new))
	for i, n := range new {
		if o, ok := byKey[key(n)]; ok && !taken[*id(o)] {
			partner[i], taken[*id(o)] = o, true
		}
	}
	for i, n := range new {
		var none T
		if partner[i] == none {
			if o, ok := byID[*id(n)]; ok && *id(n) != 0 && !taken[*id(n)] {
				partner[i], taken[*id(n)] = o, true
			}
		}
		*id(n) = 0
		if partner[i] != none {
			*id(n) = *id(partner[i])
		}
		matched(partner[i], n)
	}
}

type object interface {
	*farm.Farm | *group | *farm.Backend
	comparable
}

func id[T object](o T) *uint32 {
	switch v := any(o).(type) {
	case *farm.Farm:
		return &v.ID
	case *group:
		return v.IDAt()
	case *farm.Backend:
		return &v.ID
	}
	return nil
}

func key[T object](o T) string {
	switch v := any(o).(type) {
	case *farm.Farm:
		return v.Name
	case *group:
		return v.Name()
	case *farm.Backend:
		return strings.ToLower(v.Host) + " " + strconv.Itoa(int(v.Port))
	}
	return ""
}

func farms(c *farm.Config) []*farm.Farm { return pointers(c.Farms) }

// group is the backends of a service or of an l4xnat farm, which has one group.
type group struct{ farm.Group }

func groups(f *farm.Farm) []*group {
	var out []*group
	for _, g := range f.Groups() {
		out = append(out, &group{g})
	}
	return out
}

func pointers[T any](list []T) []*T {
	out := make([]*T, len(list))
	for i := range list {
		out[i] = &list[i]
	}
	return out
}
