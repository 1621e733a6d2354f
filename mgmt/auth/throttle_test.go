package auth_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/sluicelb/sluice/mgmt/auth"
)

// clock is a hand-moved clock.
type clock struct{ at time.Time }

func (c *clock) now() time.Time          { return c.at }
func (c *clock) advance(d time.Duration) { c.at = c.at.Add(d) }

func newClock() *clock { return &clock{at: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)} }

func fail(t *auth.Throttle[netip.Addr, netip.Prefix], source string, times int) {
	for range times {
		t.Failed(netip.MustParseAddr(source))
	}
}

func TestTenMistakesLockASourceForAMinute(t *testing.T) {
	c := newClock()
	th := auth.NewThrottle(c.now)
	fail(th, "192.0.2.1", 9)
	if w := th.Wait(netip.MustParseAddr("192.0.2.1")); w != 0 {
		t.Fatalf("after nine mistakes: wait %s, want none", w)
	}
	c.advance(30 * time.Second) // the minute begins with the tenth
	fail(th, "192.0.2.1", 1)
	if w := th.Wait(netip.MustParseAddr("192.0.2.1")); w != time.Minute {
		t.Fatalf("after ten mistakes: wait %s, want a minute", w)
	}
	if w := th.Wait(netip.MustParseAddr("192.0.2.2")); w != 0 {
		t.Errorf("another source waits %s", w)
	}
	c.advance(30 * time.Second)
	fail(th, "192.0.2.1", 5)
	c.advance(30 * time.Second)
	if w := th.Wait(netip.MustParseAddr("192.0.2.1")); w != 0 {
		t.Errorf("after the minute: wait %s; tries while locked must not prolong it", w)
	}
	fail(th, "192.0.2.1", 1)
	if w := th.Wait(netip.MustParseAddr("192.0.2.1")); w != 0 {
		t.Errorf("one mistake after the lock: wait %s, want a fresh count", w)
	}
	fail(th, "192.0.2.1", 9)
	if w := th.Wait(netip.MustParseAddr("192.0.2.1")); w != time.Minute {
		t.Errorf("ten mistakes after the lock: wait %s, want a minute", w)
	}
}

func TestSuccessForgetsMistakes(t *testing.T) {
	th := auth.NewThrottle(newClock().now)
	fail(th, "192.0.2.1", 9)
	th.Succeeded(netip.MustParseAddr("192.0.2.1"))
	fail(th, "192.0.2.1", 9)
	if w := th.Wait(netip.MustParseAddr("192.0.2.1")); w != 0 {
		t.Errorf("wait %s, want none", w)
	}
}

func TestSourcesAreOneForMappedAndNeighbouringAddresses(t *testing.T) {
	th := auth.NewThrottle(newClock().now)
	fail(th, "::ffff:192.0.2.1", 10)
	if th.Wait(netip.MustParseAddr("192.0.2.1")) == 0 {
		t.Error("the mapped form of an IPv4 address escapes the lock")
	}
	fail(th, "2001:db8::1", 10)
	if th.Wait(netip.MustParseAddr("2001:db8::2")) == 0 {
		t.Error("a neighbour in the same /64 escapes the lock")
	}
	if th.Wait(netip.MustParseAddr("2001:db8:0:1::1")) != 0 {
		t.Error("another /64 is locked")
	}
	fail(th, "fe80::1%eth0", 10)
	if th.Wait(netip.MustParseAddr("fe80::1%eth1")) == 0 {
		t.Error("another zone of the same address escapes the lock")
	}
	for range 10 {
		th.Failed(netip.Addr{})
	}
	if th.Wait(netip.Addr{}) == 0 {
		t.Error("a source without an address escapes the lock")
	}
}

func TestTenThousandSourcesUseABoundedTable(t *testing.T) {
	c := newClock()
	th := auth.NewThrottle(c.now)
	fail(th, "203.0.113.9", 10)
	for i := range 10000 {
		th.Failed(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}))
	}
	if n := th.Len(); n != 4096 {
		t.Errorf("%d sources remembered, want 4096", n)
	}
	c.advance(time.Hour)
	th.Failed(netip.MustParseAddr("198.51.100.1"))
	if n := th.Len(); n != 1 {
		t.Errorf("%d sources after an hour, want the one", n)
	}
}

func TestAFullTableForgetsWhatEndsFirst(t *testing.T) {
	c := newClock()
	th := auth.NewThrottle(c.now)
	locked := func(source string, want bool) {
		t.Helper()
		if w := th.Wait(netip.MustParseAddr(source)); w > 0 != want {
			t.Errorf("%s waits %s", source, w)
		}
	}
	fail(th, "192.0.2.1", 10)
	c.advance(time.Second)
	fail(th, "192.0.2.2", 10)
	c.advance(time.Second)
	for i := range 4094 {
		th.Failed(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}))
	}
	locked("192.0.2.1", true) // there was room for all
	fail(th, "198.51.100.1", 10)
	locked("192.0.2.1", false)
	locked("192.0.2.2", true)
	c.advance(59 * time.Second) // the second is over now, by itself
	fail(th, "198.51.100.2", 10)
	locked("198.51.100.1", true)
	locked("198.51.100.2", true)
	if n := th.Len(); n != 4096 {
		t.Errorf("%d sources remembered, want 4096", n)
	}
}
