package kernel_test

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel"
	"github.com/sluicelb/sluice/l4/kernel/l4test"
	"github.com/sluicelb/sluice/sysnet/conntrack"
	"github.com/sluicelb/sluice/sysnet/housetest"
)

// The kernel takes up connections midway, and with one backend there is no other.
func TestWhatARestartEndedIsNotTakenUpAgain(t *testing.T) {
	s := newSite(t, 1)
	var farms []farm.Farm
	for i, nat := range []farm.NATType{farm.NATMasquerade, farm.NATTarget} {
		for j, six := range []bool{false, true} {
			f := s.l4(uint32(1+2*i+j), farm.L4TCP, nat, six, uint16(80+i))
			f.L4.Persist, f.L4.TTL = farm.L4PersistSrc, 60
			farms = append(farms, f)
		}
	}
	s.restarts(farms)
}

func TestByIptablesNeitherIsWhatARestartEndedTakenUpAgain(t *testing.T) {
	s := newSite(t, 1)
	byIptables(t, s)
	s.restarts([]farm.Farm{s.l4(1, farm.L4TCP, farm.NATMasquerade, false, 80), s.l4(2, farm.L4TCP, farm.NATTarget, true, 81)})
}

// restarts stops and starts each of the farms, and wants its connection to end
// by that, and no other.
func (s *site) restarts(farms []farm.Farm) {
	s.t.Helper()
	s.apply(farms...)
	open := make([]*housetest.Answer, len(farms))
	for i, f := range farms {
		a, err := s.Client.Ask("tcp", netip.AddrPort{}, listener(f))
		if err != nil {
			s.t.Fatal(err)
		}
		defer a.Close()
		open[i] = a
	}
	for i, f := range farms {
		at := slices.Clone(farms)
		at[i].Stopped = true
		s.apply(at...)
		s.apply(farms...)
		if err := open[i].Again("after a restart"); !errors.Is(err, syscall.ECONNRESET) {
			s.t.Errorf("%s %s: %v", f.L4.NAT, f.VIP, err)
		}
		s.ask("tcp", netip.Addr{}, listener(f))
		for _, other := range open[i+1:] {
			if err := other.Again("of another farm"); err != nil {
				s.t.Error(err)
			}
		}
	}
}

// listener is where clients of a farm with one port go.
func listener(f farm.Farm) string {
	return netip.AddrPortFrom(f.VIP, f.L4.Ports[0].First).String()
}

func TestNorIsItInPacketModes(t *testing.T) {
	s := newPacketSite(t, 1)
	inModes(t, s, []farm.NATType{farm.NATDirect, farm.NATStateless}, func(t *testing.T, f farm.Farm, ask func(int) string) {
		s.apply(f)
		a, err := s.Client.Ask("tcp", netip.AddrPort{}, listener(f))
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		s.apply(stoppedOf(f))
		s.ended = map[uint32]bool{f.ID: true}
		defer func() { s.ended = nil }()
		s.apply(f)
		if err := a.Again("after a restart"); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("the connection from before: %v", err)
		}
		ask(1)
	})
}

// As an operator ends connections, who then cleans up.
func TestWhatIsEndedOnRequestIsNotTakenUpAgain(t *testing.T) {
	s := newSite(t, 1)
	f, g := s.l4(1, farm.L4TCP, farm.NATMasquerade, false, 80), s.l4(2, farm.L4TCP, farm.NATMasquerade, false, 81)
	end := func(c *housetest.Answer, how func(ctx context.Context)) {
		t.Helper()
		s.in(func(ctx context.Context) {
			how(ctx)
			if _, err := conntrack.FlushOnly(ctx, func(id uint32) bool { return id == 10 }); err != nil {
				t.Fatal(err)
			}
		})
		s.apply(f, g)
		if err := c.Again("after that"); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("it was ended, and then %v", err)
		}
	}
	open := func(f farm.Farm) *housetest.Answer {
		t.Helper()
		a, err := s.open(0, listener(f))
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	s.apply(f, g)
	other := open(g)
	end(open(f), func(ctx context.Context) {
		s.keeper.Ending(ctx, func(id uint32) bool { return id == 10 })
	})
	end(open(f), func(ctx context.Context) {
		if err := s.keeper.Clean(ctx); err != nil {
			t.Fatal(err)
		}
	})
	if err := other.Again("the other"); err != nil {
		t.Error(err)
	}
}

func TestEndedConnectionsAreRememberedAsLongAsTheyMayBeSilent(t *testing.T) {
	f := &told{}
	k := kernel.New(kernel.Options{Filter: f, Connections: none{}, Log: slog.New(slog.DiscardHandler)})
	one := l4test.Example(func(f *farm.Farm) { f.L4.NAT, f.L4.IdleTimeout = farm.NATDirect, 1 })
	apply := func(farms ...farm.Farm) { k.Apply(context.Background(), 1, &farm.Config{Farms: farms}) }
	ended := func() bool { in, _ := f.now(); return in.Ended[one.ID] }
	apply(one)
	if ended() {
		t.Error("nothing was ended yet")
	}
	fewer := one.Clone()
	fewer.L4.Backends = fewer.L4.Backends[1:]
	apply(fewer)
	if ended() {
		t.Error("nobody chooses a backend that was deleted")
	}
	apply(one)
	apply(stoppedOf(one))
	apply(one)
	if !ended() {
		t.Error("those of a farm that was stopped are not remembered")
	}
	time.Sleep(1100 * time.Millisecond)
	k.Follow(context.Background())
	if ended() {
		t.Error("they are remembered for longer")
	}
	cut := one.Clone()
	cut.L4.Backends[0].Maintenance = farm.MaintenanceCut
	apply(cut)
	apply(one)
	if !ended() {
		t.Error("those of a backend that was cut are not remembered")
	}
	apply()
	apply(one)
	if ended() {
		t.Error("those of a farm that was deleted are remembered")
	}
	k = kernel.New(kernel.Options{Filter: f, Connections: none{}, Log: slog.New(slog.DiscardHandler)})
	apply(stoppedOf(one))
	apply(one)
	if !ended() {
		t.Error("a keeper that is new forgot those of a farm that is stopped")
	}
}
