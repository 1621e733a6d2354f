package auth

import (
	"net/netip"
	"time"
)

// The limits of guesses. Ten allow for a forgotten password. The tables are limited so that
// an attacker with many addresses can use only a fixed amount of memory.
const (
	maxGuesses = 10
	guessTime  = time.Minute
	maxCounts  = 4096
)

// limit counts guesses by key. The lock of its ledger guards it.
type limit[K comparable] map[K]*count

// count is the number of guesses of one key. A nil *count acts as zero.
type count struct {
	wrong    int           // wrong guesses
	checking int           // guesses in progress, which may be wrong
	until    time.Time     // when the wrong guesses expire
	checked  chan struct{} // closed when a check ends; nil without waiters
	turn     time.Time     // when the next guess beyond the limit is checked (keys only)
}

// wait returns how long the key is locked, 0 if it is not.
func (c *count) wait(now time.Time) time.Duration {
	if c == nil || c.wrong < maxGuesses {
		return 0
	}
	return max(0, c.until.Sub(now))
}

// full reports whether the next guess must wait for the end of one in progress.
func (c *count) full(now time.Time) bool { return c != nil && c.pending(now) >= maxGuesses }

// pending returns the number of wrong guesses if all in progress are wrong.
func (c *count) pending(now time.Time) int {
	if !now.Before(c.until) {
		return c.checking
	}
	return c.wrong + c.checking
}

// begin counts a guess whose check begins.
func (c *count) begin(now time.Time) {
	if !now.Before(c.until) {
		c.wrong = 0
	}
	c.checking++
}

// end ends a check. Guesses beyond the limit do not prolong a lock.
func (c *count) end(wrong bool, now time.Time) {
	c.checking--
	if !now.Before(c.until) {
		c.wrong = 0
	}
	if wrong {
		if c.wrong++; c.wrong <= maxGuesses {
			c.until = now.Add(guessTime)
		}
	}
	if c.checked != nil {
		close(c.checked)
		c.checked = nil
	}
}

// ended returns a channel that is closed when a check ends.
func (c *count) ended() <-chan struct{} {
	if c.checked == nil {
		c.checked = make(chan struct{})
	}
	return c.checked
}

// begin counts the beginning of a guess of a key, and returns the count.
func (l limit[K]) begin(key K, now time.Time) *count {
	c := l[key]
	if c == nil {
		l.makeRoom(now)
		c = &count{}
		l[key] = c
	}
	c.begin(now)
	return c
}

// end ends a check, and removes an empty count.
func (l limit[K]) end(key K, c *count, wrong bool, now time.Time) {
	if c.end(wrong, now); c.wrong == 0 && c.checking == 0 {
		delete(l, key)
	}
}

// makeRoom removes the expired counts if the table is full. If there are none, it removes the
// smallest count, of equal ones the oldest. So to unlock one key an attacker would have to
// lock all others. Counts with a check in progress remain.
func (l limit[K]) makeRoom(now time.Time) {
	if len(l) < maxCounts {
		return
	}
	var least *count
	var at K
	for key, c := range l {
		switch {
		case c.checking > 0:
		case !now.Before(c.until):
			delete(l, key)
		case least == nil || c.wrong < least.wrong || c.wrong == least.wrong && c.until.Before(least.until):
			least, at = c, key
		}
	}
	if len(l) >= maxCounts && least != nil {
		delete(l, at)
	}
}

// block returns the network that counts as one source: an IPv4 address, or the /64 of an
// IPv6 address, because one host has all of its addresses. Sources without an address count
// as one.
func block(a netip.Addr) netip.Prefix {
	a = a.Unmap().WithZone("")
	bits := 32
	if a.Is6() {
		bits = 64
	}
	p, err := a.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return p
}
