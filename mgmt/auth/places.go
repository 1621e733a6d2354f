package auth

import (
	"net/netip"
	"time"
)

// Limits for known places. The limit per user protects the places of others.
const (
	maxUserPlaces = 8
	maxPlaces     = 4096
)

// account is a user at a source. Without a source it represents all other sources.
type account struct {
	name   [nameSize]byte // the digest of the name
	source netip.Prefix
}

// nameSize is the size of the digest of a name, large enough to prevent collisions.
const nameSize = 16

// nameOf returns the digest of a name. Clients sometimes send the password in the field of
// the name, so names are not stored.
func nameOf(user string) [nameSize]byte {
	d := digest(user)
	return [nameSize]byte(d[:nameSize])
}

// places holds the sources of logins of users, with the time of the last login. The lock
// of the ledger guards them.
type places map[account]time.Time

// add records a place. It returns false if the change need not be stored.
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

// makeRoom removes the least recently used place if there are most.
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
