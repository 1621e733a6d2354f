package auth

import (
	"context"
	"errors"
	"net/netip"
	"strconv"
	"testing"
	"time"
)

// at is a stopped clock.
type at struct{ time.Time }

func (a *at) now() time.Time { return a.Time }

func newAt() *at { return &at{time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)} }

// try makes a guess in a ledger.
func try(l *Ledger, user, source string, result outcome) error {
	a, err := l.begin(context.Background(), &l.passwords, user, netip.MustParseAddr(source))
	if err == nil {
		a.end(result)
	}
	return err
}

func tries(t *testing.T, l *Ledger, user, source string, n int) {
	t.Helper()
	for i := range n {
		if err := try(l, user, source, wrong); err != nil {
			t.Fatalf("guess %d at %s from %s: %v", i+1, user, source, err)
		}
	}
}

// locked fails the test unless a guess is refused for that time; 0 means that it is accepted.
func locked(t *testing.T, l *Ledger, user, source string, want time.Duration) {
	t.Helper()
	var e *LockedError
	err := try(l, user, source, unchecked)
	if got := errors.As(err, &e); got != (want > 0) || got && e.Wait != want {
		t.Errorf("%s from %s: %v, want a lock of %s", user, source, err, want)
	}
}

func TestTenWrongGuessesLockASourceAndAUserForAMinute(t *testing.T) {
	c := newAt()
	l := NewLedger(c.now)
	tries(t, l, "ann", "192.0.2.1", 9)
	locked(t, l, "ann", "192.0.2.1", 0)
	tries(t, l, "ann", "192.0.2.1", 1)
	c.Time = c.Add(20 * time.Second)
	locked(t, l, "ann", "192.0.2.2", 40*time.Second)
	locked(t, l, "eve", "192.0.2.1", 40*time.Second)
	locked(t, l, "eve", "192.0.2.2", 0)
	c.Time = c.Add(40 * time.Second)
	tries(t, l, "ann", "192.0.2.1", 9)
	locked(t, l, "ann", "192.0.2.1", 0)
	tries(t, l, "ann", "192.0.2.1", 1)
	locked(t, l, "ann", "192.0.2.1", time.Minute)
}

func TestARightGuessClearsItsUserAlone(t *testing.T) {
	l := NewLedger(newAt().now)
	tries(t, l, "ann", "192.0.2.1", 9)
	if err := try(l, "ann", "192.0.2.1", right); err != nil {
		t.Fatal(err)
	}
	tries(t, l, "eve", "192.0.2.1", 1) // the tenth of the source
	locked(t, l, "eve", "192.0.2.1", time.Minute)
	tries(t, l, "ann", "192.0.2.2", 9) // the earlier nine have expired
	locked(t, l, "ann", "192.0.2.3", 0)
	if err := try(l, "eve", "192.0.2.4", unchecked); err != nil {
		t.Fatal(err)
	}
	tries(t, l, "eve", "192.0.2.4", 9) // ten, including the first one
	locked(t, l, "eve", "192.0.2.5", time.Minute)
}

func TestKnownSourceHasItsOwnCount(t *testing.T) {
	c := newAt()
	l := NewLedger(c.now)
	l.loggedIn("ann", netip.MustParseAddr("192.0.2.1"))
	tries(t, l, "ann", "198.51.100.1", 10)
	locked(t, l, "ann", "198.51.100.2", time.Minute)
	tries(t, l, "eve", "192.0.2.1", 10) // another client at the same address
	locked(t, l, "bob", "192.0.2.1", time.Minute)
	locked(t, l, "ann", "192.0.2.1", 0)
	c.Time = c.Add(time.Second)
	tries(t, l, "ann", "192.0.2.1", 10)
	locked(t, l, "ann", "192.0.2.1", time.Minute)
	locked(t, l, "bob", "192.0.2.1", 59*time.Second) // guesses beyond the limit do not prolong a lock
	locked(t, l, "ann", "198.51.100.2", 59*time.Second)
	c.Time = c.Add(time.Minute)
	tries(t, l, "ann", "198.51.100.1", 9)
	if err := try(l, "ann", "192.0.2.1", right); err != nil {
		t.Fatal(err)
	}
	tries(t, l, "ann", "198.51.100.1", 1)
	locked(t, l, "ann", "198.51.100.2", time.Minute) // a login at the known place does not reset the count of other places
}

func TestSourcesAreNetworks(t *testing.T) {
	for _, c := range []struct {
		first, second string
		same          bool
	}{
		{"::ffff:192.0.2.1", "192.0.2.1", true}, {"192.0.2.1", "192.0.2.2", false}, {"2001:db8::1", "2001:db8::2", true},
		{"2001:db8::1", "2001:db8:0:1::1", false}, {"fe80::1%eth0", "fe80::1%eth1", true},
	} {
		l := NewLedger(newAt().now)
		tries(t, l, "ann", c.first, 10)
		err := try(l, "eve", c.second, unchecked)
		if (err != nil) != c.same {
			t.Errorf("%s and %s: %v", c.first, c.second, err)
		}
		if l = NewLedger(newAt().now); true {
			l.loggedIn("ann", netip.MustParseAddr(c.first))
			if _, known := l.places[account{nameOf("ann"), block(netip.MustParseAddr(c.second))}]; known != c.same {
				t.Errorf("%s and %s: one place: got %t, want %t", c.first, c.second, known, c.same)
			}
		}
	}
	l := NewLedger(newAt().now)
	for i := range 10 {
		a, err := l.begin(t.Context(), &l.passwords, strconv.Itoa(i), netip.Addr{})
		if err != nil {
			t.Fatal(err)
		}
		a.end(wrong)
	}
	if _, err := l.begin(t.Context(), &l.passwords, "ann", netip.Addr{}); err == nil {
		t.Error("sources without an address share no count")
	}
}

func TestCountsAreBounded(t *testing.T) {
	c := newAt()
	l := NewLedger(c.now)
	tries(t, l, "ann", "192.0.2.1", 10)
	c.Time = c.Add(time.Second)
	for i := range 6000 {
		source := netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}).String()
		tries(t, l, strconv.Itoa(i), source, 1)
	}
	if len(l.passwords.names) != maxCounts || len(l.passwords.sources) != maxCounts {
		t.Errorf("%d names and %d sources are counted", len(l.passwords.names), len(l.passwords.sources))
	}
	locked(t, l, "ann", "192.0.2.2", 59*time.Second) // thousands of other sources do not unlock it
	locked(t, l, "5999", "192.0.2.1", 59*time.Second)
	c.Time = c.Add(time.Hour)
	tries(t, l, "eve", "198.51.100.1", 1)
	if len(l.passwords.names) != 1 || len(l.passwords.sources) != 1 {
		t.Errorf("an hour later %d names and %d sources are counted", len(l.passwords.names), len(l.passwords.sources))
	}
}

func TestAGuessBeingCheckedIsNotForgotten(t *testing.T) {
	l := NewLedger(newAt().now)
	a, err := l.begin(t.Context(), &l.passwords, "ann", netip.MustParseAddr("192.0.2.1"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range maxCounts + 10 {
		tries(t, l, strconv.Itoa(i), netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}).String(), 1)
	}
	a.end(wrong)
	if c := l.passwords.names[account{name: nameOf("ann")}]; c != a.name || c.wrong != 1 || c.checking != 0 {
		t.Errorf("the count is %+v", c)
	}
}

func TestPlacesAreBounded(t *testing.T) {
	c := newAt()
	p := places{}
	place := func(user string, i int) account {
		return account{nameOf(user), netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), 32)}
	}
	for i := range maxUserPlaces {
		c.Time = c.Add(time.Second)
		p.add(place("ann", i), c.Time)
	}
	c.Time = c.Add(time.Hour)
	if p.add(place("ann", maxUserPlaces-1), c.Time.Add(-time.Minute)) {
		t.Error("a place that was used within the hour is news")
	}
	if !p.add(place("ann", 0), c.Time) {
		t.Error("a place that was used long ago is no news")
	}
	p.add(place("ann", 100), c.Time)
	_, first := p[place("ann", 0)]
	_, second := p[place("ann", 1)]
	if len(p) != maxUserPlaces || !first || second {
		t.Errorf("%d places, the one used again: %t, the one not used for longest: %t", len(p), first, second)
	}
	for i := range maxPlaces {
		c.Time = c.Add(time.Second)
		p.add(place(strconv.Itoa(i), i), c.Time)
	}
	if _, last := p[place("ann", 100)]; len(p) != maxPlaces || last {
		t.Errorf("%d places, an old one is still among them: %t", len(p), last)
	}
}
