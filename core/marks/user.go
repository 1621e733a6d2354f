package marks

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// usersPatience bounds the wait for sockets of kinds that were not in use
// before.
const usersPatience = time.Second

// User is what one engine needs of a Reserve it shares with others, from one
// configuration to the next. Its methods are for one goroutine at a time.
type User struct {
	name    string
	able    func() error
	reserve *Reserve // nil: the engine sets marks itself
	inUse   map[Kind]bool
}

// NewUser returns a user of that name who has no reserve; able says why sockets
// cannot be marked without one, if so.
func NewUser(name string, able func() error) *User { return &User{name: name, able: able} }

// Draw makes r what sockets come from. It is to be called before Prepare.
func (u *User) Draw(r *Reserve) { u.reserve = r }

// Prepare gets ready for kinds that are not in use yet and says which cannot be
// had, and why; a kind without a mark needs nothing. The first configuration
// does not wait for a netd that is just being started again: what it is for is
// better served late than not at all. Keep follows in any case.
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

// own says which kinds cannot be had without a reserve.
func (u *User) own(kinds []Kind) (missing map[Kind]error) {
	missing = map[Kind]error{}
	if err := u.able(); err != nil {
		for _, k := range kinds {
			missing[k] = fmt.Errorf("%w: give the engine that capability, or remove the mark", err)
		}
	}
	return missing
}

// Keep says which kinds are in use, and lets go of all others; a kind without a
// mark needs nothing.
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
