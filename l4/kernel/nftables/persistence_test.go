package nftables_test

import (
	"context"
	"net/netip"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel"
	"github.com/sluicelb/sluice/l4/kernel/l4test"
	"github.com/sluicelb/sluice/l4/kernel/nftables"
	"github.com/sluicelb/sluice/sysnet/ctl"
)

func TestClientsStayOnTheirBackendAcrossChanges(t *testing.T) {
	s := l4test.NewSite(t, 3)
	f := s.Farm(1, farm.L4TCP, farm.NATMasquerade, false, 80)
	f.L4.Algorithm, f.L4.Persist = farm.L4RoundRobin, farm.L4PersistSrc
	s.Apply(f)
	to := s.VIP4 + ":80"
	first := map[int]string{}
	for i := range 6 {
		first[i] = s.Ask("tcp", l4test.Source(i), to).Server
	}
	stays := func(when string) {
		t.Helper()
		for i := range 6 {
			if got := s.Ask("tcp", l4test.Source(i), to).Server; got != first[i] {
				t.Errorf("%s: client %d went from %s to %s", when, i, first[i], got)
			}
		}
	}
	stays("at once")
	f.L4.TTL = 600
	s.Apply(f)
	stays("after an edit")
	g := s.Farm(2, farm.L4UDP, farm.NATTarget, true, 53)
	s.Apply(f, g)
	stays("with another farm")
	f.Name, f.L4.Algorithm, f.L4.Ports[0].Last = "other", farm.L4HashSrc, 90
	s.Apply(f, g)
	stays("with other ports")

	list := s.Sessions(1)
	if len(list) != 6 || list[0].Key != "10.10.1.100" || list[0].TTL < 500*time.Second || list[0].TTL > 600*time.Second {
		t.Errorf("sessions: %+v", list)
	}
	// A reconciler without knowledge rebuilds everything.
	s.Renew()
	s.Apply(f, g)
	stays("after a restart")
	if list := s.Sessions(1); len(list) != 6 || list[0].TTL < 500*time.Second {
		t.Errorf("sessions after a restart: %+v", list)
	}
}

func TestSessionsAreAddedDeletedAndFlushed(t *testing.T) {
	s := l4test.NewSite(t, 2)
	f := s.Farm(1, farm.L4TCP, farm.NATTarget, false, 80)
	f.L4.Algorithm, f.L4.Persist = farm.L4RoundRobin, farm.L4PersistSrc
	f.L4.Backends[1].Sessions = []string{"10.10.1.105"}
	s.Apply(f)
	to := s.VIP4 + ":80"
	for range 3 {
		if got := s.Ask("tcp", l4test.Source(5), to).Server; got != "b2" {
			t.Errorf("the client of a static session went to %s, want %s", got, "b2")
		}
	}
	s.In(func(ctx context.Context) {
		for range 2 { // existing rules are replaced
			if err := s.Reconciler.AddSession(ctx, 1, " 10.10.1.101", 10, 0); err != nil {
				t.Error(err)
			}
		}
		if err := s.Reconciler.AddSession(ctx, 1, "10.10.1.101", 99, 0); err == nil {
			t.Error("an unknown backend was accepted")
		}
		if err := s.Reconciler.AddSession(ctx, 1, "fd00::1; flush ruleset", 10, 0); err == nil {
			t.Error("an invalid client was accepted")
		}
		if got, ok, err := s.Reconciler.Session(ctx, 1, "10.10.1.101"); !ok || err != nil || got.Backend != 10 {
			t.Errorf("%+v, %v, %v", got, ok, err)
		}
		if got, ok, err := s.Reconciler.Session(ctx, 1, "10.10.1.105"); !ok || err != nil || !got.Static {
			t.Errorf("%+v, %v, %v", got, ok, err)
		}
	})
	for range 3 {
		if got := s.Ask("tcp", l4test.Source(1), to).Server; got != "b1" {
			t.Errorf("the client of an added session went to %s, want %s", got, "b1")
		}
	}
	s.In(func(ctx context.Context) {
		if was, err := s.Reconciler.DeleteSession(ctx, 1, "10.10.1.101"); !was || err != nil {
			t.Errorf("deleted: %v, %v", was, err)
		}
		if was, err := s.Reconciler.DeleteSession(ctx, 1, "10.10.1.101"); was || err != nil {
			t.Errorf("deleted twice: %v, %v", was, err)
		}
	})
	s.Ask("tcp", l4test.Source(2), to)
	s.In(func(ctx context.Context) {
		if n, err := s.Reconciler.FlushSessions(ctx, 1); n != 1 || err != nil {
			t.Errorf("flushed %d, %v, want 1", n, err)
		}
	})
	if list := s.Sessions(1); len(list) != 1 || !list[0].Static {
		t.Errorf("left: %+v", list)
	}
}

func TestClientsOfAnUnusableBackendMove(t *testing.T) {
	s := l4test.NewSite(t, 2)
	f := s.Farm(1, farm.L4TCP, farm.NATMasquerade, false, 80)
	f.L4.Algorithm, f.L4.Persist = farm.L4RoundRobin, farm.L4PersistSrc
	s.Apply(f)
	to := s.VIP4 + ":80"
	was := s.Ask("tcp", l4test.Source(0), to).Server
	gone := 0
	if was == "b2" {
		gone = 1
	}
	f.L4.Backends[gone].Maintenance = farm.MaintenanceDrain
	s.Apply(f)
	if got := s.Ask("tcp", l4test.Source(0), to).Server; got != was {
		t.Errorf("drain moved the client from %s to %s", was, got)
	}
	for range 4 {
		if got := s.Ask("tcp", l4test.Source(1), to).Server; got == was {
			t.Error("a new client went to a backend that drains")
		}
	}
	f.L4.Backends[gone].Maintenance = farm.MaintenanceCut
	s.Apply(f)
	other := s.Ask("tcp", l4test.Source(0), to).Server
	if other == was {
		t.Error("the backend was cut and still has the client")
	}
	f.L4.Backends[gone].Maintenance = ""
	s.Apply(f)
	for range 4 {
		if got := s.Ask("tcp", l4test.Source(0), to).Server; got != other {
			t.Errorf("the client moved back from %s to %s", other, got)
		}
	}
}

// A client with a known key keeps its backend and is listed with that key. All kinds of keys
// are tried that one client machine can use.
func TestEveryKindOfKeyIsStoredAndListed(t *testing.T) {
	s := l4test.NewSite(t, 3)
	mac := s.ClientLinks[0].MAC.String()
	for i, c := range []struct {
		persist farm.L4Persistence
		port    uint16 // of the client
		v4, v6  string // keys
	}{
		{farm.L4PersistSrc, 0, "10.10.1.100", "fd00:1::100"},
		{farm.L4PersistSrcPt, 40001, "40001", "40001"},
		{farm.L4PersistMAC, 0, mac, mac},
		{farm.L4PersistDst, 0, s.VIP4, s.VIP6},
		{farm.L4PersistDstPt, 0, "80", "80"},
		{farm.L4PersistSrcSrc, 40002, "10.10.1.100 . 40002", "fd00:1::100 . 40002"},
		{farm.L4PersistSrcDest, 0, "10.10.1.100 . 80", "fd00:1::100 . 80"},
	} {
		for _, six := range []bool{false, true} {
			name, key, from, vip := string(c.persist)+"4", c.v4, netip.MustParseAddr("10.10.1.100"), s.VIP4+":80"
			if six {
				name, key, from, vip = string(c.persist)+"6", c.v6, netip.MustParseAddr("fd00:1::100"), "["+s.VIP6+"]:80"
			}
			t.Run(name, func(t *testing.T) {
				id := uint32(i*2 + 1)
				if six {
					id++
				}
				f := s.Farm(id, farm.L4UDP, farm.NATMasquerade, six, 80)
				f.L4.Algorithm, f.L4.Persist = farm.L4RoundRobin, c.persist
				s.Apply(f)
				seen := map[string]int{}
				for range 4 {
					a, err := s.Client.Ask("udp", netip.AddrPortFrom(from, c.port), vip)
					if err != nil {
						t.Fatal(err)
					}
					a.Close()
					seen[a.Server]++
					s.In(func(ctx context.Context) { // the next one is chosen again
						if err := (kernel.Tracked{}).Flush(ctx, func(uint32) bool { return true }); err != nil {
							t.Fatal(err)
						}
					})
				}
				if len(seen) != 1 {
					t.Errorf("it went to %v", seen)
				}
				list := s.Sessions(id)
				if len(list) != 1 || list[0].Key != key {
					t.Fatalf("sessions %+v, want one of %q", list, key)
				}
				s.In(func(ctx context.Context) {
					found, ok, err := s.Reconciler.Session(ctx, id, key)
					if !ok || err != nil || found.Backend != list[0].Backend || found.Key != key {
						t.Errorf("found %+v, %v, %v", found, ok, err)
					}
					if was, err := s.Reconciler.DeleteSession(ctx, id, key); !was || err != nil {
						t.Errorf("deleted: %v, %v", was, err)
					}
					other := f.L4.Backends[0].ID
					if other == list[0].Backend {
						other = f.L4.Backends[1].ID
					}
					if err := s.Reconciler.AddSession(ctx, id, key, other, 0); err != nil {
						t.Error(err)
					}
					if found, _, _ := s.Reconciler.Session(ctx, id, key); found.Backend != other {
						t.Errorf("added to %d, found %+v", other, found)
					}
				})
			})
		}
	}
}

func TestSessionsOfACutBackendAreDeletedDespiteExpiry(t *testing.T) {
	s := l4test.NewSite(t, 1)
	f := s.Farm(1, farm.L4TCP, farm.NATMasquerade, false, 80)
	f.L4.Persist, f.L4.TTL = farm.L4PersistSrc, 60
	s.Apply(f)
	s.In(func(ctx context.Context) {
		filter := nftables.New(s.NFT, l4test.Quiet)
		if err := filter.Learn(ctx, &f, ctl.KernelSession{Key: "192.0.2.7", Backend: 10, TTL: time.Minute}); err != nil {
			t.Fatal(err)
		}
		if _, err := filter.Forget(ctx, &f, "192.0.2.7", "192.0.2.8"); err != nil {
			t.Fatal(err)
		}
		if left, err := filter.Learned(ctx, &f); err != nil || len(left) != 0 {
			t.Errorf("left: %v, %v", left, err)
		}
	})
}
