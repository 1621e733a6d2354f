package auth

import (
	"context"
	"log/slog"
	"net/netip"
	"sync"
	"time"
)

// Ledger counts guesses at passwords, codes and keys, and records the sources of logins. A
// guess is counted before it is checked, so that parallel guesses count like sequential ones.
// Make it with NewLedger or OpenLedger.
//
// Guesses at passwords and codes are counted by user and by source. A known place is a source
// from which the user logged in before. It has a separate count for this user, with the same
// limit: other sources cannot lock the user out there.
type Ledger struct {
	now  func() time.Time
	path string // empty: not stored
	log  *slog.Logger
	// failing: the last write failed. Only Run uses it.
	failing bool

	mu        sync.Mutex
	passwords counts // and codes
	choices   counts // keys that users chose, see Guard.ChooseKey
	keys      limit[netip.Prefix]
	places    places
	changed   chan struct{} // has room for one: there are changes to store
}

// counts holds the counts for guesses of one kind. Each guess is in two of them.
type counts struct {
	names   limit[account]
	sources limit[netip.Prefix]
}

func newCounts() counts { return counts{limit[account]{}, limit[netip.Prefix]{}} }

// NewLedger returns an empty ledger with a clock, which is not stored.
func NewLedger(now func() time.Time) *Ledger {
	return &Ledger{now: now, log: slog.New(slog.DiscardHandler), passwords: newCounts(), choices: newCounts(), keys: limit[netip.Prefix]{},
		places: places{}, changed: make(chan struct{}, 1)}
}

// outcome is the result of a check.
type outcome int

const (
	unchecked outcome = iota // the check had no result
	right
	wrong
)

// attempt is a guess that is counted but not checked yet.
type attempt struct {
	ledger *Ledger
	counts *counts
	who    account
	source netip.Prefix
	// name and address are the two counts of the guess.
	name, address *count
}

// begin counts a guess of a kind for a user. It waits while the guesses in progress could use
// up the limit. Error: *LockedError.
func (l *Ledger) begin(ctx context.Context, kind *counts, user string, source netip.Addr) (*attempt, error) {
	for {
		a, wait, ended := l.try(kind, nameOf(user), block(source))
		switch {
		case a != nil:
			return a, nil
		case wait > 0:
			return nil, &LockedError{Wait: wait}
		}
		select {
		case <-ended:
		case <-ctx.Done():
			return nil, &LockedError{Wait: time.Second}
		}
	}
}

// try counts a guess, or returns how long to wait, or returns a channel to wait for. The
// count of the source does not lock a known place of the user, because other clients at the
// same address could lock out the user with it.
func (l *Ledger) try(kind *counts, name [nameSize]byte, source netip.Prefix) (a *attempt, wait time.Duration, ended <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	who := account{name: name, source: source}
	_, known := l.places[who]
	address := kind.sources[source]
	if known {
		address = nil
	} else {
		who.source = netip.Prefix{}
	}
	at := kind.names[who]
	if wait = max(at.wait(now), address.wait(now)); wait > 0 {
		return nil, wait, nil
	}
	for _, c := range []*count{at, address} {
		if c.full(now) {
			return nil, 0, c.ended()
		}
	}
	return &attempt{ledger: l, counts: kind, who: who, source: source, name: kind.names.begin(who, now), address: kind.sources.begin(source, now)}, 0, nil
}

// end records the result of an attempt. A correct guess resets only the count of its user:
// the source may also have guessed at other users.
func (a *attempt) end(result outcome) {
	l := a.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	if result == right {
		a.name.wrong = 0
	}
	a.counts.names.end(a.who, a.name, result == wrong, now)
	a.counts.sources.end(a.source, a.address, result == wrong, now)
	l.touch()
}

// loggedIn records a place of a user.
func (l *Ledger) loggedIn(user string, source netip.Addr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.places.add(account{nameOf(user), block(source)}, l.now()) {
		l.touch()
	}
}

// touch schedules a write of the ledger. The caller holds the lock.
func (l *Ledger) touch() {
	select {
	case l.changed <- struct{}{}:
	default:
	}
}

// Beyond the limit of a source, guesses at keys are checked one by one at this interval.
// Guesses that would wait longer than maxKeyPause are rejected.
const (
	keyPause    = 500 * time.Millisecond
	maxKeyPause = 10 * time.Second
)

// beginKey counts a guess at a key, and returns how long it must wait before the check.
// Error: *LockedError. The caller must call endKey.
func (l *Ledger) beginKey(source netip.Addr) (c *count, pause time.Duration, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now, at := l.now(), block(source)
	if c := l.keys[at]; c.full(now) {
		turn := c.turn
		if turn.Before(now) {
			turn = now
		}
		if pause = turn.Sub(now); pause > maxKeyPause {
			return nil, 0, &LockedError{Wait: pause}
		}
		c.turn = turn.Add(keyPause)
	}
	return l.keys.begin(at, now), pause, nil
}

// endKey ends the check of a key, and returns how long the source is now locked.
func (l *Ledger) endKey(source netip.Addr, c *count, result outcome) (wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	l.keys.end(block(source), c, result == wrong, now)
	l.touch()
	if c.wrong > maxGuesses {
		return c.wait(now)
	}
	return 0
}
