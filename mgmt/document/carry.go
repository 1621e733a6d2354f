package document

import (
	"net/netip"
	"strconv"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
)

// Carry gives the objects of new the IDs of the same objects in old, and the
// resolved addresses that go with them: a farm is the same when it has the
// same name, a service when it has the same name in the same farm, a backend
// when it has the same host and port in the same service. What is not in old
// has ID 0 afterwards, unless it already had the number of an object of old
// that nothing else took: then it is that object, renamed.
func Carry(old, new *farm.Config) {
	pair(farms(old), farms(new), func(was, is *farm.Farm) {
		var before []*farm.Service
		if was != nil {
			before = services(was)
		}
		pair(before, services(is), func(was, is *farm.Service) {
			var before []*farm.Backend
			if was != nil {
				before = backends(was)
			}
			pair(before, backends(is), carryAddr)
		})
	})
}

// StripIDs makes f a farm no store has seen, for copies.
func StripIDs(f *farm.Farm) {
	f.ID = 0
	for _, s := range services(f) {
		s.ID = 0
		for _, b := range backends(s) {
			b.ID = 0
		}
	}
}

// carryAddr keeps the last known address of a name that did not change.
func carryAddr(was, is *farm.Backend) {
	if was != nil && was.Host == is.Host && was.Addr.IsValid() {
		is.Addr = was.Addr
	}
	if addr, err := netip.ParseAddr(is.Host); err == nil {
		is.Addr = addr
	}
}

// pair matches new objects with old ones, first by key, then by ID, gives
// them the old ID and calls matched for each new one (was nil: not matched).
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
	*farm.Farm | *farm.Service | *farm.Backend
	comparable
}

func id[T object](o T) *uint32 {
	switch v := any(o).(type) {
	case *farm.Farm:
		return &v.ID
	case *farm.Service:
		return &v.ID
	case *farm.Backend:
		return &v.ID
	}
	return nil
}

func key[T object](o T) string {
	switch v := any(o).(type) {
	case *farm.Farm:
		return v.Name
	case *farm.Service:
		return v.Name
	case *farm.Backend:
		return strings.ToLower(v.Host) + " " + strconv.Itoa(int(v.Port))
	}
	return ""
}

func farms(c *farm.Config) []*farm.Farm { return pointers(c.Farms) }

func services(f *farm.Farm) []*farm.Service {
	if f.HTTP == nil {
		return nil
	}
	return pointers(f.HTTP.Services)
}

func backends(s *farm.Service) []*farm.Backend { return pointers(s.Backends) }

func pointers[T any](list []T) []*T {
	out := make([]*T, len(list))
	for i := range list {
		out[i] = &list[i]
	}
	return out
}
