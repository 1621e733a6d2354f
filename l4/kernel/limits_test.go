package kernel_test

import (
	"context"
	"net/netip"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel/l4test"
	"github.com/sluicelb/sluice/sysnet/housetest"
)

// crowd is a farm of two backends with limits, and its clients.
type crowd struct {
	*l4test.Site
	t    *testing.T
	to   string
	open map[string][]*housetest.Answer // by backend
}

func newCrowd(t *testing.T, edit func(l *farm.L4), limits ...uint32) *crowd {
	t.Helper()
	s := l4test.NewSite(t, len(limits))
	f := s.Farm(1, farm.L4TCP, farm.NATMasquerade, false, 80)
	f.L4.Algorithm = farm.L4RoundRobin
	for i, n := range limits {
		f.L4.Backends[i].ConnLimit = n
	}
	edit(f.L4)
	s.Apply(f)
	return &crowd{s, t, s.VIP4 + ":80", map[string][]*housetest.Answer{}}
}

// come opens a connection from an address, keeps it open and returns its backend.
func (c *crowd) come(source int) string {
	c.t.Helper()
	a, err := c.Open(source, c.to)
	if err != nil {
		c.t.Fatalf("client %d: %v\n%s", source, err, c.Ruleset())
	}
	c.open[a.Server] = append(c.open[a.Server], a)
	return a.Server
}

// leave closes a connection to the backend and waits until the kernel has noticed.
func (c *crowd) leave(backend string) {
	c.t.Helper()
	id := map[string]uint32{"b1": 10, "b2": 11}[backend]
	last := len(c.open[backend]) - 1
	c.open[backend][last].Close()
	c.open[backend] = c.open[backend][:last]
	l4test.Eventually(c.t, "the connection is closed", func() bool { return c.Tracked(id).Occupying() == last })
	time.Sleep(2 * tick) // the kernel removes closed connections once per tick
}

// look makes the reconciler check the notes once.
func (c *crowd) look() {
	c.t.Helper()
	c.Reconciler.Age(100 * time.Millisecond)
	c.In(c.Reconciler.Follow)
}

func TestEmptiedBackendIsUsedAfterOneCheck(t *testing.T) {
	c := newCrowd(t, func(*farm.L4) {}, 3, 0)
	for len(c.open["b1"]) < 3 {
		c.come(len(c.open["b1"]))
	}
	for range 3 {
		c.leave("b1")
	}
	for range 2 {
		if got := c.come(4); got != "b2" {
			t.Fatalf("a client came to %s before anybody looked: it does not rely on notes", got)
		}
	}
	c.look()
	got := map[string]int{}
	for i := range 4 {
		got[c.come(i)]++
	}
	if got["b1"] != 2 {
		t.Errorf("clients in turn: %v", got)
	}
}

func TestAClientKeepsItsSessionWhileItsBackendIsFull(t *testing.T) {
	for _, persist := range []farm.L4Persistence{farm.L4PersistSrc, farm.L4PersistSrcDest} {
		c := newCrowd(t, func(l *farm.L4) { l.Persist = persist }, 2, 0)
		home := func(what, want string) {
			t.Helper()
			a, err := c.Client.Ask("tcp", netip.AddrPortFrom(l4test.Source(3), 0), c.to)
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			defer a.Close()
			if a.Server != want {
				t.Errorf("%s: at %s, want %s", what, a.Server, want)
			}
		}
		if c.come(3) != "b1" {
			t.Fatal("the first client in turn is not at the first backend")
		}
		c.leave("b1")
		for source := 5; len(c.open["b1"]) < 2; source++ {
			c.come(source)
		}
		home("the backend of its session is full", "b2")
		home("and again", "b2")
		c.leave("b1")
		c.look()
		home("there is room again", "b1")
	}
}

// A connection counts only for the backend it was sent to, not for others considered.
func TestAConnectionOccupiesItsOwnBackendOnly(t *testing.T) {
	for name, forget := range map[string]bool{"noted": false, "notes are missing": true} {
		t.Run(name, func(t *testing.T) {
			c := newCrowd(t, func(*farm.L4) {}, 3, 3)
			for i := range 6 {
				c.come(i)
			}
			for round := range 4 { // connections to the second backend stay
				c.leave("b2")
				if forget {
					c.Appliance.Run("nft", "flush", "set", "inet", "sluice", "full")
				} else {
					c.look()
				}
				if got := c.come(6 + round); got != "b2" {
					t.Fatalf("round %d: a client came to %s, which was full", round, got)
				}
			}
			for n := range 3 {
				c.leave("b1")
				c.look()
				if got := c.come(12 + n); got != "b1" {
					t.Fatalf("a client came to %s, which was full", got)
				}
			}
		})
	}
}

func TestNotesHaveTheirTime(t *testing.T) {
	c := newCrowd(t, func(*farm.L4) {}, 1, 0)
	before := time.Now()
	for len(c.open["b1"]) == 0 {
		c.come(0)
	}
	c.leave("b1")
	var noted map[uint32]time.Time
	c.In(func(ctx context.Context) {
		var err error
		if noted, err = c.Filter.Noted(ctx); err != nil {
			t.Error(err)
		}
	})
	at, is := noted[10]
	if !is || len(noted) != 1 || at.Before(before.Add(-tick)) || at.After(time.Now()) {
		t.Errorf("noted: %v, after %v", noted, before)
	}
}
