package kernel_test

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/sysnet/conntrack"
	"github.com/sluicelb/sluice/sysnet/housetest"
)

// open opens a connection that stays until the test ends.
func (s *site) open(n int, to string) (*housetest.Answer, error) {
	s.t.Helper()
	a, err := s.Client.Ask("tcp", netip.AddrPortFrom(source(n), 0), to)
	if err == nil {
		s.t.Cleanup(a.Close)
	}
	return a, err
}

// tracked counts the tracked connections to a backend.
func (s *site) tracked(backend uint32) (n int) {
	s.t.Helper()
	s.in(func(ctx context.Context) {
		found, err := conntrack.Count(ctx, conntrack.Backend(backend))
		if err != nil {
			s.t.Fatal(err)
		}
		for _, c := range found {
			n += c.Total
		}
	})
	return n
}

// run has the keeper follow until the test ends.
func (s *site) follow() {
	s.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Appliance.Do(func() { s.keeper.Run(ctx) })
	}()
	s.t.Cleanup(func() { cancel(); <-done })
}

func refused(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED)
}

func TestFullBackendsAreSpilledOverAndAllFullRefuses(t *testing.T) {
	s := newSite(t, 2)
	f := s.l4(1, farm.L4TCP, farm.NATMasquerade, false, 80)
	f.L4.Algorithm = farm.L4RoundRobin
	f.L4.Backends[0].ConnLimit, f.L4.Backends[1].ConnLimit = 2, 4
	s.apply(f)
	s.follow()
	to := s.vip4 + ":80"
	got := map[string]int{}
	var open []*housetest.Answer
	for i := range 6 {
		a, err := s.open(i, to)
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
		if _, err := s.open(6+i, to); !refused(err) {
			t.Errorf("one too many: %v", err)
		}
	}
	// However long it stays full, and then there is room again.
	time.Sleep(6 * time.Second)
	if _, err := s.open(9, to); !refused(err) {
		t.Errorf("one too many, later: %v", err)
	}
	for _, a := range open {
		if a.Server == "b1" {
			a.Close()
		}
	}
	eventually(t, "the backend takes connections again", func() bool {
		a, err := s.open(10, to)
		return err == nil && a.Server == "b1"
	})
}

func TestAFarmHasNoMoreConnectionsThanItMay(t *testing.T) {
	s := newSite(t, 2)
	f := s.l4(1, farm.L4TCP, farm.NATTarget, false, 80)
	f.L4.MaxConnections = 3
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
	for range 3 {
		if _, err := s.open(5, to); !refused(err) {
			t.Errorf("one too many: %v", err)
		}
	}
	f.L4.Algorithm = farm.L4RoundRobin // an edit does not forget
	s.apply(f)
	if _, err := s.open(5, to); !refused(err) {
		t.Errorf("one too many after an edit: %v", err)
	}
	last.Close()
	eventually(t, "there is room again", func() bool {
		_, err := s.open(6, to)
		return err == nil
	})
}

func TestStopDeleteAndCutEndTheirOwnConnectionsOnly(t *testing.T) {
	s := newSite(t, 2)
	f, g := s.l4(1, farm.L4TCP, farm.NATMasquerade, false, 80), s.l4(2, farm.L4TCP, farm.NATTarget, false, 81)
	f.L4.Algorithm, g.L4.Algorithm = farm.L4RoundRobin, farm.L4RoundRobin
	s.apply(f, g)
	for i := range 4 {
		for _, port := range []string{":80", ":81"} {
			if _, err := s.open(i, s.vip4+port); err != nil {
				t.Fatal(err)
			}
		}
	}
	expect := func(when string, want ...int) {
		t.Helper()
		for i, id := range []uint32{10, 11, 20, 21} {
			if got := s.tracked(id); got != want[i] {
				t.Errorf("%s: backend %d has %d connections, want %d", when, id, got, want[i])
			}
		}
	}
	expect("before", 2, 2, 2, 2)
	f.L4.Backends[0].Maintenance = farm.MaintenanceDrain
	s.apply(f, g)
	expect("drain", 2, 2, 2, 2)
	f.L4.Backends[0].Maintenance = farm.MaintenanceCut
	s.apply(f, g)
	expect("cut", 0, 2, 2, 2)
	g.L4.Backends = g.L4.Backends[1:]
	s.apply(f, g)
	expect("delete of a backend", 0, 2, 0, 2)
	f.Stopped = true
	s.apply(f, g)
	expect("stop", 0, 0, 0, 2)
	s.renew()
	s.apply(f)
	expect("deleted while nobody looked", 0, 0, 0, 0)
}

func TestConnectionsOfAStoppedFarmGoOnForItsGrace(t *testing.T) {
	s := newSite(t, 1)
	f := s.l4(1, farm.L4TCP, farm.NATMasquerade, false, 80)
	f.L4.StopGrace = 1
	s.apply(f)
	s.follow()
	a, err := s.open(0, s.vip4+":80")
	if err != nil {
		t.Fatal(err)
	}
	f.Stopped = true
	s.apply(f)
	if err := a.Again("still here"); err != nil {
		t.Error(err)
	}
	if s.tracked(10) != 1 {
		t.Error("the connection was ended at once")
	}
	eventually(t, "its connections are ended", func() bool { return s.tracked(10) == 0 })
}

func TestWithoutABackendConnectionsAreRefusedNotServedHere(t *testing.T) {
	s := newSite(t, 1)
	s.Appliance.Server("appliance", 22)
	f := s.l4(1, farm.L4All, farm.NATTarget, false, 0)
	f.L4.Backends[0].Maintenance = farm.MaintenanceCut
	s.apply(f)
	if a, err := s.open(0, s.vip4+":22"); !refused(err) {
		t.Errorf("somebody answered: %+v, %v", a, err)
	}
	if _, err := s.Client.AskWithin(time.Second, "udp", netip.AddrPort{}, s.vip4+":22"); !refused(err) || os.IsTimeout(err) {
		t.Errorf("UDP: %v", err)
	}
}

func TestLeastConnFollowsTheNumberOfConnections(t *testing.T) {
	s := newSite(t, 2)
	f := s.l4(1, farm.L4TCP, farm.NATMasquerade, false, 80)
	f.L4.Algorithm = farm.L4LeastConn
	f.L4.Backends[1].Maintenance = farm.MaintenanceDrain
	s.apply(f)
	to := s.vip4 + ":80"
	for i := range 10 {
		if _, err := s.open(i, to); err != nil {
			t.Fatal(err)
		}
	}
	f.L4.Backends[1].Maintenance = ""
	s.apply(f)
	s.follow()
	eventually(t, "the backend without connections weighs ten times the other", func() bool {
		var text string
		s.in(func(ctx context.Context) { text, _ = s.keeper.Rules(ctx, 1) })
		return countOf(text, "0x5c00000b") > 10 && countOf(text, "0x5c00000a") < 10
	})
	got := map[string]int{}
	for range 60 {
		got[s.ask("tcp", netip.Addr{}, to).Server]++
	}
	if got["b2"] < 40 {
		t.Errorf("connections: %v", got)
	}
}
