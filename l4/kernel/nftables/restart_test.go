package nftables_test

import (
	"context"
	"errors"
	"net/netip"
	"syscall"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel/l4test"
)

func TestSessionsOutliveAStopInEveryMode(t *testing.T) {
	s := newPacketSite(t, 2)
	gateways(s)
	eachMode(t, s, func(t *testing.T, f farm.Farm, ask func(int) string) {
		s.Apply(f)
		of := map[int]string{}
		for c := range 4 {
			of[c] = ask(c)
		}
		s.Apply(l4test.Stopped(f))
		s.Apply(f)
		for c, was := range of {
			if is := ask(c); is != was {
				t.Errorf("client %d went from %s to %s", c, was, is)
			}
		}
	})
}

func TestSessionsKeptByAHashOutliveAStop(t *testing.T) {
	s := l4test.NewSite(t, 1)
	f := s.Farm(1, farm.L4TCP, farm.NATMasquerade, true, 80)
	f.L4.Persist, f.L4.TTL = farm.L4PersistSrcSrc, 60
	s.Apply(f)
	s.In(func(ctx context.Context) {
		if err := s.Reconciler.AddSession(ctx, 1, "fd00::7 . 4022", 10, 0); err != nil {
			t.Fatal(err)
		}
	})
	s.Apply(l4test.Stopped(f))
	s.Renew() // another netd makes no difference
	s.Apply(l4test.Stopped(f))
	s.Apply(f)
	if list := s.Sessions(1); len(list) != 1 || list[0].Key != "fd00::7 . 4022" || list[0].Backend != 10 {
		t.Errorf("left: %v", list)
	}
}

func TestABackendCutWhileItsFarmIsStoppedHasNoSessions(t *testing.T) {
	s := l4test.NewSite(t, 2)
	f := s.Farm(1, farm.L4TCP, farm.NATMasquerade, false, 80)
	f.L4.Persist, f.L4.TTL, f.L4.Algorithm = farm.L4PersistSrc, 60, farm.L4RoundRobin
	s.Apply(f)
	for i := range 4 {
		s.Ask("tcp", l4test.Source(i), s.VIP4+":80")
	}
	s.Apply(l4test.Stopped(f))
	cut := f.Clone()
	cut.L4.Backends[0].Maintenance = farm.MaintenanceCut
	s.Apply(l4test.Stopped(cut))
	s.Apply(l4test.Stopped(f))
	s.Apply(f)
	for _, one := range s.Sessions(1) {
		if one.Backend == 10 {
			t.Errorf("%s still has the cut backend", one.Key)
		}
	}
	if n := len(s.Sessions(1)); n != 2 {
		t.Errorf("the other backend has %d sessions left", n)
	}
}

func TestDeletingAStoppedFarmRemovesItsSessions(t *testing.T) {
	s := l4test.NewSite(t, 1)
	f := s.Farm(1, farm.L4TCP, farm.NATMasquerade, false, 80)
	f.L4.Persist, f.L4.TTL = farm.L4PersistSrc, 60
	s.Apply(f)
	s.Ask("tcp", l4test.Source(1), s.VIP4+":80")
	s.Apply(l4test.Stopped(f))
	s.Apply()
	if left := s.Appliance.Run("nft", "list", "ruleset"); left != "" {
		t.Errorf("a deleted farm left\n%s", left)
	}
}

// Connections ended by a restart are not picked up again, even with a single backend.
func TestConnectionsEndedByARestartAreNotPickedUp(t *testing.T) {
	s := l4test.NewSite(t, 1)
	var farms []farm.Farm
	for i, nat := range []farm.NATType{farm.NATMasquerade, farm.NATTarget} {
		for j, six := range []bool{false, true} {
			f := s.Farm(uint32(1+2*i+j), farm.L4TCP, nat, six, uint16(80+i))
			f.L4.Persist, f.L4.TTL = farm.L4PersistSrc, 60
			farms = append(farms, f)
		}
	}
	s.RestartsEnd(farms)
}

func TestConnectionsEndedByARestartAreNotPickedUpInPacketModes(t *testing.T) {
	s := newPacketSite(t, 1)
	inModes(t, s, []farm.NATType{farm.NATDirect, farm.NATStateless}, func(t *testing.T, f farm.Farm, ask func(int) string) {
		s.Apply(f)
		a, err := s.Client.Ask("tcp", netip.AddrPort{}, l4test.Listener(f))
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		s.Apply(l4test.Stopped(f))
		s.flushed = map[uint32]bool{f.ID: true}
		defer func() { s.flushed = nil }()
		s.Apply(f)
		if err := a.Again("after a restart"); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("the connection from before: %v", err)
		}
		ask(1)
	})
}
