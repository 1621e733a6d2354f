package kernel_test

import (
	"context"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
)

// stoppedOf is the farm as it is when it is stopped.
func stoppedOf(f farm.Farm) farm.Farm {
	f.Stopped = true
	return f
}

func TestSessionsOutliveAStopInEveryMode(t *testing.T) {
	s := newPacketSite(t, 2)
	gateways(s)
	eachMode(t, s, func(t *testing.T, f farm.Farm, ask func(int) string) {
		s.apply(f)
		of := map[int]string{}
		for c := range 4 {
			of[c] = ask(c)
		}
		s.apply(stoppedOf(f))
		s.apply(f)
		for c, was := range of {
			if is := ask(c); is != was {
				t.Errorf("client %d went from %s to %s", c, was, is)
			}
		}
	})
}

func TestSessionsKeptByAHashOutliveAStop(t *testing.T) {
	s := newSite(t, 1)
	f := s.l4(1, farm.L4TCP, farm.NATMasquerade, true, 80)
	f.L4.Persist, f.L4.TTL = farm.L4PersistSrcSrc, 60
	s.apply(f)
	s.in(func(ctx context.Context) {
		if err := s.keeper.AddSession(ctx, 1, "fd00::7 . 4022", 10, 0); err != nil {
			t.Fatal(err)
		}
	})
	s.apply(stoppedOf(f))
	s.renew() // nor does it matter that netd is another one
	s.apply(stoppedOf(f))
	s.apply(f)
	if list := s.sessions(1); len(list) != 1 || list[0].Key != "fd00::7 . 4022" || list[0].Backend != 10 {
		t.Errorf("left: %v", list)
	}
}

func TestByIptablesSessionsOutliveAStopToo(t *testing.T) {
	s := newSite(t, 3)
	byIptables(t, s)
	f := s.l4(1, farm.L4TCP, farm.NATMasquerade, false, 80)
	f.L4.Persist, f.L4.TTL, f.L4.Algorithm = farm.L4PersistSrc, 60, farm.L4RoundRobin
	s.apply(f)
	first := map[int]string{}
	for i := range 6 {
		first[i] = s.ask("tcp", source(i), s.vip4+":80").Server
	}
	other := s.l4(2, farm.L4TCP, farm.NATMasquerade, false, 81)
	for _, farms := range [][]farm.Farm{{stoppedOf(f)}, {stoppedOf(f), other}, {stoppedOf(f)}, {f}} {
		s.apply(farms...)
	}
	for i, was := range first {
		if is := s.ask("tcp", source(i), s.vip4+":80").Server; is != was {
			t.Errorf("client %d went from %s to %s", i, was, is)
		}
	}
	s.apply(stoppedOf(f))
	s.apply()
	if left := ours(s.Appliance.Run("iptables-save") + s.Appliance.Run("ip6tables-save")); left != "" {
		t.Errorf("a deleted farm left\n%s", left)
	}
}

func TestABackendCutWhileItsFarmIsStoppedHasNoSessions(t *testing.T) {
	s := newSite(t, 2)
	f := s.l4(1, farm.L4TCP, farm.NATMasquerade, false, 80)
	f.L4.Persist, f.L4.TTL, f.L4.Algorithm = farm.L4PersistSrc, 60, farm.L4RoundRobin
	s.apply(f)
	for i := range 4 {
		s.ask("tcp", source(i), s.vip4+":80")
	}
	s.apply(stoppedOf(f))
	cut := f.Clone()
	cut.L4.Backends[0].Maintenance = farm.MaintenanceCut
	s.apply(stoppedOf(cut))
	s.apply(stoppedOf(f))
	s.apply(f)
	for _, one := range s.sessions(1) {
		if one.Backend == 10 {
			t.Errorf("%s still goes to the backend that was cut", one.Key)
		}
	}
	if n := len(s.sessions(1)); n != 2 {
		t.Errorf("%d sessions are left of the other", n)
	}
}

func TestWhatAStoppedFarmRememberedGoesWithIt(t *testing.T) {
	s := newSite(t, 1)
	f := s.l4(1, farm.L4TCP, farm.NATMasquerade, false, 80)
	f.L4.Persist, f.L4.TTL = farm.L4PersistSrc, 60
	s.apply(f)
	s.ask("tcp", source(1), s.vip4+":80")
	s.apply(stoppedOf(f))
	s.apply()
	if left := s.Appliance.Run("nft", "list", "ruleset"); left != "" {
		t.Errorf("a deleted farm left\n%s", left)
	}
}
