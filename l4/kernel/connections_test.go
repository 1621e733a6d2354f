package kernel_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel/l4test"
	"github.com/sluicelb/sluice/sysnet/housetest"
)

func TestFullBackendsOverflowToOthers(t *testing.T) {
	s := l4test.NewSite(t, 2)
	f := s.Farm(1, farm.L4TCP, farm.NATMasquerade, false, 80)
	f.L4.Algorithm = farm.L4RoundRobin
	f.L4.Backends[0].ConnLimit, f.L4.Backends[1].ConnLimit = 2, 4
	s.Apply(f)
	s.Follow()
	to := s.VIP4 + ":80"
	got := map[string]int{}
	var open []*housetest.Answer
	for i := range 6 {
		a, err := s.Open(i, to)
		if err != nil {
			t.Fatalf("connection %d: %v", i, err)
		}
		got[a.Server]++
		open = append(open, a)
	}
	if got["b1"] != 2 || got["b2"] != 4 {
		t.Errorf("connections: %v", got)
	}
	for i := range 3 {
		if _, err := s.Open(6+i, to); !l4test.Refused(err) {
			t.Errorf("one too many: %v", err)
		}
	}
	// The backend stays full for long, then has room again.
	time.Sleep(6 * time.Second)
	if _, err := s.Open(9, to); !l4test.Refused(err) {
		t.Errorf("one too many, later: %v", err)
	}
	for _, a := range open {
		if a.Server == "b1" {
			a.Close()
		}
	}
	l4test.Eventually(t, "the backend takes connections again", func() bool {
		a, err := s.Open(10, to)
		return err == nil && a.Server == "b1"
	})
}

func TestAFarmHasNoMoreConnectionsThanItMay(t *testing.T) {
	s := l4test.NewSite(t, 2)
	f := s.Farm(1, farm.L4TCP, farm.NATTarget, false, 80)
	f.L4.MaxConnections = 3
	s.Apply(f)
	to := s.VIP4 + ":80"
	var last *housetest.Answer
	for i := range 3 {
		a, err := s.Open(i, to)
		if err != nil {
			t.Fatal(err)
		}
		last = a
	}
	for range 3 {
		if _, err := s.Open(5, to); !l4test.Refused(err) {
			t.Errorf("one too many: %v", err)
		}
	}
	f.L4.Algorithm = farm.L4RoundRobin // an edit keeps the counts
	s.Apply(f)
	if _, err := s.Open(5, to); !l4test.Refused(err) {
		t.Errorf("one too many after an edit: %v", err)
	}
	last.Close()
	l4test.Eventually(t, "there is room again", func() bool {
		_, err := s.Open(6, to)
		return err == nil
	})
}

func TestStopDeleteAndCutEndTheirOwnConnectionsOnly(t *testing.T) {
	s := l4test.NewSite(t, 2)
	f, g := s.Farm(1, farm.L4TCP, farm.NATMasquerade, false, 80), s.Farm(2, farm.L4TCP, farm.NATTarget, false, 81)
	f.L4.Algorithm, g.L4.Algorithm = farm.L4RoundRobin, farm.L4RoundRobin
	s.Apply(f, g)
	for i := range 4 {
		for _, port := range []string{":80", ":81"} {
			if _, err := s.Open(i, s.VIP4+port); err != nil {
				t.Fatal(err)
			}
		}
	}
	expect := func(when string, want ...int) {
		t.Helper()
		for i, id := range []uint32{10, 11, 20, 21} {
			if got := s.Tracked(id).Total; got != want[i] {
				t.Errorf("%s: backend %d has %d connections, want %d", when, id, got, want[i])
			}
		}
	}
	expect("before", 2, 2, 2, 2)
	f.L4.Backends[0].Maintenance = farm.MaintenanceDrain
	s.Apply(f, g)
	expect("drain", 2, 2, 2, 2)
	f.L4.Backends[0].Maintenance = farm.MaintenanceCut
	s.Apply(f, g)
	expect("cut", 0, 2, 2, 2)
	g.L4.Backends = g.L4.Backends[1:]
	s.Apply(f, g)
	expect("delete of a backend", 0, 2, 0, 2)
	f.Stopped = true
	s.Apply(f, g)
	expect("stop", 0, 0, 0, 2)
	s.Renew()
	s.Apply(f)
	expect("deleted while nobody looked", 0, 0, 0, 0)
}

func TestConnectionsOfAStoppedFarmHaveItsGrace(t *testing.T) {
	s := l4test.NewSite(t, 1)
	f := s.Farm(1, farm.L4TCP, farm.NATMasquerade, false, 80)
	f.L4.StopGrace = 1
	s.Apply(f)
	s.Follow()
	a, err := s.Open(0, s.VIP4+":80")
	if err != nil {
		t.Fatal(err)
	}
	f.Stopped = true
	s.Apply(f)
	if err := a.Again("still here"); err != nil {
		t.Error(err)
	}
	if s.Tracked(10).Total != 1 {
		t.Error("the connection was ended at once")
	}
	l4test.Eventually(t, "its connections are ended", func() bool { return s.Tracked(10).Total == 0 })
}

func TestConnectionsWithoutABackendAreRefused(t *testing.T) {
	s := l4test.NewSite(t, 1)
	s.Appliance.Server("appliance", 22)
	f := s.Farm(1, farm.L4All, farm.NATTarget, false, 0)
	f.L4.Backends[0].Maintenance = farm.MaintenanceCut
	s.Apply(f)
	if a, err := s.Open(0, s.VIP4+":22"); !l4test.Refused(err) {
		t.Errorf("the connection was accepted: %+v, %v", a, err)
	}
	if _, err := s.Client.AskWithin(time.Second, "udp", netip.AddrPort{}, s.VIP4+":22"); !l4test.Refused(err) || os.IsTimeout(err) {
		t.Errorf("UDP: %v", err)
	}
}

func TestLeastConnFollowsTheNumberOfConnections(t *testing.T) {
	s := l4test.NewSite(t, 2)
	f := s.Farm(1, farm.L4TCP, farm.NATMasquerade, false, 80)
	f.L4.Algorithm = farm.L4LeastConn
	f.L4.Backends[1].Maintenance = farm.MaintenanceDrain
	s.Apply(f)
	to := s.VIP4 + ":80"
	for i := range 10 {
		if _, err := s.Open(i, to); err != nil {
			t.Fatal(err)
		}
	}
	f.L4.Backends[1].Maintenance = ""
	s.Apply(f)
	s.Follow()
	l4test.Eventually(t, "the backend without connections weighs ten times the other", func() bool {
		var text string
		s.In(func(ctx context.Context) { text, _ = s.Reconciler.Rules(ctx, 1) })
		return strings.Count(text, "0x5c00000b") > 10 && strings.Count(text, "0x5c00000a") < 10
	})
	got := map[string]int{}
	for range 60 {
		got[s.Ask("tcp", netip.Addr{}, to).Server]++
	}
	if got["b2"] < 40 {
		t.Errorf("connections: %v", got)
	}
}

// A closed connection frees its slot at once, also when clients come in bursts.
func TestClosedConnectionsFreeRoom(t *testing.T) {
	for name, c := range map[string]struct {
		limits  []uint32
		persist farm.L4Persistence
	}{
		"one backend":            {[]uint32{6}, farm.L4PersistNone},
		"two, both full":         {[]uint32{6, 4}, farm.L4PersistNone},
		"clients with a session": {[]uint32{6, 4}, farm.L4PersistSrcPt},
	} {
		t.Run(name, func(t *testing.T) {
			s := l4test.NewSite(t, len(c.limits))
			f := s.Farm(1, farm.L4TCP, farm.NATMasquerade, false, 80)
			f.L4.Algorithm, f.L4.Persist = farm.L4RoundRobin, c.persist
			most := 0
			for i, n := range c.limits {
				f.L4.Backends[i].ConnLimit = n
				most += int(n)
			}
			s.Apply(f)
			s.Follow()
			to := s.VIP4 + ":80"
			for round := range 8 {
				var open []*housetest.Answer
				got := map[string]int{}
				for i := range most {
					a, err := s.Open(i, to)
					if err != nil {
						t.Fatalf("round %d, connection %d of %d: %v", round, i+1, most, err)
					}
					open = append(open, a)
					got[a.Server]++
				}
				for i, n := range c.limits {
					if server := s.Backends[i].Name; got[server] != int(n) {
						t.Errorf("round %d: %v", round, got)
					}
				}
				if round%2 == 1 { // as corrected by an earlier count
					s.Appliance.Run("nft", "flush", "set", "inet", "sluice", "full")
				}
				for range 2 {
					if _, err := s.Open(15, to); !l4test.Refused(err) {
						t.Errorf("round %d: one too many: %v", round, err)
					}
				}
				for _, a := range open {
					a.Close()
				}
				l4test.Eventually(t, "they are closed", func() bool { return s.Tracked(10).Open()+s.Tracked(11).Open() == 0 })
				// The kernel removes ended connections once per tick (nf_conncount.c); one
				// still closing at that time counts until the next tick.
				time.Sleep(2 * tick)
			}
		})
	}
}

// tick is the longest tick of a kernel's clock (CONFIG_HZ=100).
const tick = 10 * time.Millisecond

// Connection limits hold even if the kernel has no room for a note.
func TestConnectionLimitsHoldWithoutNotes(t *testing.T) {
	s := l4test.NewSite(t, 2)
	f := s.Farm(1, farm.L4TCP, farm.NATMasquerade, false, 80)
	f.L4.Backends[0].ConnLimit, f.L4.Backends[1].ConnLimit = 3, 2
	s.Apply(f)
	var others strings.Builder
	others.WriteString("add element inet sluice full {")
	for i := range 65535 {
		fmt.Fprintf(&others, " 0x%x,", 0x5d000000+i)
	}
	s.Appliance.Feed(others.String()+" }\n", "nft", "-f", "-")
	to := s.VIP4 + ":80"
	got := map[string]int{}
	for i := range 5 {
		a, err := s.Open(i, to)
		if err != nil {
			t.Fatalf("connection %d: %v", i, err)
		}
		got[a.Server]++
	}
	if got["b1"] != 3 || got["b2"] != 2 {
		t.Errorf("connections: %v", got)
	}
	for range 3 {
		if a, err := s.Open(6, to); !l4test.Refused(err) {
			t.Errorf("one too many: %+v, %v", a, err)
		}
	}
}

// Connections that began before the rules were loaded are counted too.
func TestOlderConnectionsAreCounted(t *testing.T) {
	s := l4test.NewSite(t, 1)
	f := s.Farm(1, farm.L4TCP, farm.NATMasquerade, false, 80)
	f.L4.Backends[0].ConnLimit = 3
	s.Apply(f)
	to := s.VIP4 + ":80"
	var last *housetest.Answer
	for i := range 3 {
		a, err := s.Open(i, to)
		if err != nil {
			t.Fatal(err)
		}
		last = a
	}
	s.Renew()
	s.Apply(f)
	for range 3 {
		if _, err := s.Open(5, to); !l4test.Refused(err) {
			t.Errorf("one connection above the limit after a rebuild of the rules: %v", err)
		}
	}
	f.L4.Backends[0].ConnLimit = 2
	s.Apply(f)
	last.Close()
	l4test.Eventually(t, "it is closed", func() bool { return s.Tracked(10).Open() == 2 })
	if _, err := s.Open(6, to); !l4test.Refused(err) {
		t.Errorf("one too many for a bound that became less: %v", err)
	}
}

// When a connection is cut, idle ends are notified: the client, and the backend, which would
// otherwise keep the connection.
func TestCutNotifiesIdleEnds(t *testing.T) {
	for _, nat := range []farm.NATType{farm.NATMasquerade, farm.NATTarget} {
		for _, six := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/%v", nat, six), func(t *testing.T) {
				s := l4test.NewSite(t, 2)
				f := s.Farm(1, farm.L4TCP, nat, six, 80)
				f.L4.Algorithm = farm.L4RoundRobin
				s.Apply(f)
				s.Follow()
				var open [2]*housetest.Answer
				for range open {
					a, err := s.Client.Ask("tcp", netip.AddrPort{}, l4test.Listener(f))
					if err != nil {
						t.Fatal(err)
					}
					defer a.Close()
					open[int(a.Server[1]-'1')] = a
				}
				held := func() string {
					return s.Backends[0].Run("ss", "-Htn", "state", "established", "sport = :8080")
				}
				if held() == "" {
					t.Fatal("the backend has no connection")
				}
				f.L4.Backends[0].Maintenance = farm.MaintenanceCut
				s.Apply(f)
				_ = open[0].Conn().SetReadDeadline(time.Now().Add(20 * time.Second))
				if _, err := open[0].Conn().Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
					t.Errorf("a client that waits: %v", err)
				}
				l4test.Eventually(t, "the backend ends the connection", func() bool { return held() == "" })
				if err := open[1].Again("another backend's"); err != nil {
					t.Error(err)
				}
			})
		}
	}
}
