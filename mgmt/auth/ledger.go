package auth

import (
	"context"
	"log/slog"
	"net/netip"
	"sync"
	"time"
)

// Ledger counts guesses at passwords, codes and keys, and knows where users logged in
// from. A guess is counted before it is checked, so that guesses sent at the same time
// count like those sent one after another. Make it with NewLedger or OpenLedger.
//
// Guesses at passwords and codes are counted by user and by source. A known place, from
// where the user logged in before, has a count of its own for this user: strangers cannot
// lock the user out there, and nobody there has more guesses than strangers have.
type Ledger struct {
	now  func() time.Time
	path string // where it is kept; empty: nowhere
	log  *slog.Logger
	// failing: the last write failed. Only Run uses it.
	failing bool

	mu        sync.Mutex
	passwords counts // and codes
	choices   counts // keys that users chose, see Guard.ChooseKey
	keys      limit[netip.Prefix]
	places    places
	changed   chan struct{} // has room for one: there is something to keep
}

// counts are those of guesses of one kind, each of which is in two.
type counts struct {
	names   limit[account]
	sources limit[netip.Prefix]
}

func newCounts() counts { return counts{limit[account]{}, limit[netip.Prefix]{}} }

// NewLedger returns an empty ledger on a clock, which is kept nowhere.
func NewLedger(now func() time.Time) *Ledger {
	return &Ledger{now: now, log: slog.New(slog.DiscardHandler), passwords: newCounts(), choices: newCounts(), keys: limit[netip.Prefix]{},
		places: places{}, changed: make(chan struct{}, 1)}
}

// outcome is the result of a check.
type outcome int

const (
	unchecked outcome = iota // nobody could say
	right
	wrong
)

// attempt is a guess that is counted and not checked yet.
type attempt struct {
	ledger *Ledger
	counts *counts
	who    account
	source netip.Prefix
	// name and address are the two counts it is in.
	name, address *count
}

// begin counts a guess of a kind about a user. It waits while as many guesses as are left
// are being checked. Error: *LockedError.
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

// try counts a guess, or says how long to wait, or returns what to wait for. The source's
// count does not lock a known place of the user: others behind the same address could
// keep the user out with it.
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

// end says what came of an attempt. A right guess forgets the wrong ones at its user, and
// nothing else: others may have been guessed at from the same source.
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

// loggedIn remembers a place of a user.
func (l *Ledger) loggedIn(user string, source netip.Addr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.places.add(account{nameOf(user), block(source)}, l.now()) {
		l.touch()
	}
}

// touch has the ledger kept. The caller holds the lock.
func (l *Ledger) touch() {
	select {
	case l.changed <- struct{}{}:
	default:
	}
}

// Guesses at keys beyond the limit of a source are checked one by one, this far apart.
// Those that would wait longer than maxKeyPause are not checked.
const (
	keyPause    = 500 * time.Millisecond
	maxKeyPause = 10 * time.Second
)

// beginKey counts a guess at a key, and returns how long it has to wait before it is
// checked. Error: *LockedError. The caller ends it with endKey.
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

// endKey ends the check of a key, and returns how long the source is locked now.
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
