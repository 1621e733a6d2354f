package auth

import (
	"net/netip"
	"time"
)

// The bounds of known places. One user cannot push out those of others before many users
// do.
const (
	maxUserPlaces = 8
	maxPlaces     = 4096
)

// account is a user at a source. Without a source it is the user everywhere else.
type account struct {
	name   [nameSize]byte // the digest of the name
	source netip.Prefix
}

// nameSize is the size of the digest of a name: long enough that nobody finds a second
// name with the same one.
const nameSize = 16

// nameOf returns the digest of a name. Names that strangers send may be passwords typed
// into the wrong field, so they are not kept.
func nameOf(user string) [nameSize]byte {
	d := digest(user)
	return [nameSize]byte(d[:nameSize])
}

// places hold where users logged in from, and when they did so last. The lock of the
// ledger guards them.
type places map[account]time.Time

// add remembers a place. It returns false if that changes nothing worth keeping.
func (p places) add(a account, now time.Time) bool {
	last, known := p[a]
	if known && now.Sub(last) < time.Hour {
		return false
	}
	if !known {
		p.makeRoom(maxUserPlaces, func(other account) bool { return other.name == a.name })
		p.makeRoom(maxPlaces, func(account) bool { return true })
	}
	p[a] = now
	return true
}

// makeRoom forgets the place that was not used for longest if there are most.
func (p places) makeRoom(most int, of func(account) bool) {
	var oldest account
	n := 0
	for a, last := range p {
		if !of(a) {
			continue
		}
		if n++; n == 1 || last.Before(p[oldest]) {
			oldest = a
		}
	}
	if n >= most {
		delete(p, oldest)
	}
}
