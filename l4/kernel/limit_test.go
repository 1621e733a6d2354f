package kernel_test

import (
	"context"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/sysnet/conntrack"
	"github.com/sluicelb/sluice/sysnet/housetest"
)

// live counts the connections to a backend that are not closed.
func (s *site) live(backend uint32) (n int) {
	s.t.Helper()
	s.in(func(ctx context.Context) {
		found, err := conntrack.Count(ctx, conntrack.Backend(backend))
		if err != nil {
			s.t.Fatal(err)
		}
		for _, c := range found {
			n += c.Established + c.Pending
		}
	})
	return n
}

// Clients that come in bursts fill their backends, go, and come again: who is
// there no more takes nobody's place.
func TestThereIsRoomAsSoonAsConnectionsAreClosed(t *testing.T) {
	for name, c := range map[string]struct {
		limits  []uint32
		persist farm.L4Persistence
	}{
		"one backend":            {[]uint32{6}, farm.L4PersistNone},
		"two, both full":         {[]uint32{6, 4}, farm.L4PersistNone},
		"clients with a session": {[]uint32{6, 4}, farm.L4PersistSrcPt},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, len(c.limits))
			f := s.l4(1, farm.L4TCP, farm.NATMasquerade, false, 80)
			f.L4.Algorithm, f.L4.Persist = farm.L4RoundRobin, c.persist
			most := 0
			for i, n := range c.limits {
				f.L4.Backends[i].ConnLimit = n
				most += int(n)
			}
			s.apply(f)
			s.follow()
			to := s.vip4 + ":80"
			for round := range 8 {
				var open []*housetest.Answer
				got := map[string]int{}
				for i := range most {
					a, err := s.open(i, to)
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
				for range 2 {
					if _, err := s.open(15, to); !refused(err) {
						t.Errorf("round %d: one too many: %v", round, err)
					}
				}
				for _, a := range open {
					a.Close()
				}
				eventually(t, "they are closed", func() bool { return s.live(10)+s.live(11) == 0 })
			}
		})
	}
}

// What rules that were made anew have not seen come is counted by looking.
func TestConnectionsFromBeforeTheRulesCountToo(t *testing.T) {
	s := newSite(t, 1)
	f := s.l4(1, farm.L4TCP, farm.NATMasquerade, false, 80)
	f.L4.Backends[0].ConnLimit = 3
	s.apply(f)
	to := s.vip4 + ":80"
	var last *housetest.Answer
	for i := range 3 {
		a, err := s.open(i, to)
		if err != nil {
			t.Fatal(err)
		}
		last = a
	}
	s.renew()
	s.apply(f)
	for range 3 {
		if _, err := s.open(5, to); !refused(err) {
			t.Errorf("one too many for rules that were made anew: %v", err)
		}
	}
	f.L4.Backends[0].ConnLimit = 2
	s.apply(f)
	last.Close()
	eventually(t, "it is closed", func() bool { return s.live(10) == 2 })
	if _, err := s.open(6, to); !refused(err) {
		t.Errorf("one too many for a bound that became less: %v", err)
	}
}
