package marks

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// usersPatience limits the wait for sockets of new kinds.
const usersPatience = time.Second

// User is the share of one engine in a Reserve, across configurations. It is not safe
// for concurrent use.
type User struct {
	name    string
	able    func() error
	reserve *Reserve // nil: the engine sets marks itself
	inUse   map[Kind]bool
}

// NewUser returns a user without a reserve. able returns the reason why the process
// cannot set marks itself, or nil.
func NewUser(name string, able func() error) *User { return &User{name: name, able: able} }

// Draw sets the reserve. It must be called before Prepare.
func (u *User) Draw(r *Reserve) { u.reserve = r }

// Prepare requests sockets for kinds not in use yet and returns those that are
// unavailable, with the errors. Kinds without a mark are ignored. With first, it
// tolerates a netd that does not answer, because late service is better than none. Keep
// must be called afterwards.
func (u *User) Prepare(kinds []Kind, first bool) (missing map[Kind]error) {
	kinds = slices.DeleteFunc(kinds, func(k Kind) bool { return k.Mark == 0 || u.inUse[k] })
	switch {
	case len(kinds) == 0:
		return nil
	case u.reserve == nil:
		return u.own(kinds)
	}
	missing = u.reserve.Prepare(kinds, usersPatience)
	if first {
		maps.DeleteFunc(missing, func(_ Kind, err error) bool { return errors.Is(err, ErrSilent) })
	}
	return missing
}

// own returns the kinds that are unavailable without a reserve.
func (u *User) own(kinds []Kind) (missing map[Kind]error) {
	missing = map[Kind]error{}
	if err := u.able(); err != nil {
		for _, k := range kinds {
			missing[k] = fmt.Errorf("%w: give the engine that capability, or remove the mark", err)
		}
	}
	return missing
}

// Keep sets the kinds in use and releases all others. Kinds without a mark are ignored.
func (u *User) Keep(kinds []Kind) {
	u.inUse = map[Kind]bool{}
	for _, k := range kinds {
		if k.Mark != 0 {
			u.inUse[k] = true
		}
	}
	if u.reserve != nil {
		u.reserve.Keep(u.name, slices.Collect(maps.Keys(u.inUse)))
	}
}
