package mgmt

import (
	"context"
	"net/netip"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/core/stats"
	"github.com/sluicelb/sluice/mgmt/guardian"
	"github.com/sluicelb/sluice/sysnet/ctl"
)

// naming is a house with a kernel farm, which needs no engine, and a gslb farm that answers
// with its address.
func naming(t *testing.T) (h *house, carries *farm.Farm, named uint32) {
	t.Helper()
	h = newHouse(t, ctl.Parts{})
	ctx, leave := context.WithCancel(t.Context())
	h.guardian = guardian.New(ctx, guardian.Options{Table: h.manager.health, Open: h.openTo, Farm: func(f *farm.Farm) (farm.Status, string) { return h.board().Now(nil).Look(f) }})
	t.Cleanup(h.guardian.Wait)
	t.Cleanup(leave)
	names := farm.Farm{Name: "names", Profile: farm.ProfileGSLB, VIP: netip.MustParseAddr("127.0.0.1"), VPort: 5300, Global: &farm.GSLB{
		Services: []farm.DNSService{{Name: "web", Algorithm: farm.DNSLoad, Port: 53, Backends: []farm.Backend{{Host: "127.0.0.1"}}}},
	}}
	h.give(t, overTCP(), names)
	h.refreshNames(t.Context())
	cfg, _ := h.applier.Current()
	return h, &cfg.Farms[0], cfg.Farms[1].Groups()[0].Backends()[0].ID
}

func overTCP() farm.Farm {
	f := carried()[1]
	f.L4.Protocol = farm.L4TCP
	return f
}

// A farm reports within a second that its address disappeared or came back.
func TestTheAddressesOfFarmsAreLookedAtSoon(t *testing.T) {
	h := newHouse(t, nil)
	f, now := carried()[0], time.Now()
	for i, vip := range []string{"192.0.2.77", "127.0.0.1", "192.0.2.77"} {
		f.VIP = netip.MustParseAddr(vip)
		h.give(t, f)
		cfg, _ := h.applier.Current()
		h.watch.lookSoon(h.manager, now)
		if is := h.watch.unreachable(&cfg.Farms[0]); (is == "") != f.VIP.IsLoopback() {
			t.Errorf("look %d at %s: %q", i, vip, is)
		}
		now = now.Add(500 * time.Millisecond)
	}
}

// The effect of a failed backend on a farm's address is known at the next quick look, long
// before the next health look.
func TestNamesFollowAFarmOfTheApplianceSoon(t *testing.T) {
	h, carries, named := naming(t)
	now := time.Now()
	is := func(when string, want health.State) {
		t.Helper()
		if got := h.manager.health.Slot(named).Guardian(); got != want {
			t.Errorf("%s: it is %v, want %v", when, got, want)
		}
	}
	if next := h.watch.lookSoon(h.manager, now); next != followLook {
		t.Errorf("looked at again after %v", next)
	}
	is("at first", health.Up)
	set := func(s health.State) {
		for _, b := range carries.Groups()[0].Backends() {
			h.manager.health.SetPassive(b.ID, s, now)
		}
	}
	set(health.Down)
	is("before anybody looked", health.Up)
	h.watch.lookSoon(h.manager, now.Add(followLook))
	is("its servers are gone", health.Down)
	set(health.Up)
	h.published = make(chan struct{})
	h.watch.lookSoon(h.manager, now.Add(2*followLook))
	is("while no engine runs what is stored", health.Down)
	h.published = nil
	set(health.Down)
	set(health.Up)
	h.watch.lookSoon(h.manager, now.Add(3*followLook))
	is("its servers are back", health.Up)

	stopped := overTCP()
	stopped.ID, stopped.Stopped = carries.ID, true
	cfg, _ := h.applier.Current()
	h.give(t, stopped, cfg.Farms[1])
	after, revision := h.applier.Current()
	h.changed(cfg, after, revision)
	is("it was stopped, and nobody looked", health.Down)

	h.give(t, stopped)
	h.refreshNames(t.Context())
	if next := h.watch.lookSoon(h.manager, now.Add(4*followLook)); next != healthLook {
		t.Errorf("with no farm to follow, the next look is after %v", next)
	}
}

func TestTheLoadOfAFarmIsItsConnections(t *testing.T) {
	h, kernel, named := naming(t)
	shop := carried()[0]
	shop.ID = 99
	h.counters.Shard(0).Farm(shop.ID).Established = 7
	got := h.openTo([]*farm.Farm{&shop, kernel})
	if n, known := got[shop.ID]; n != 7 || !known || len(got) != 1 {
		t.Errorf("while netd does not tell: %v", got)
	}
	h.kernel.counts.ask = func(context.Context) (stats.Traffic, error) {
		return stats.Traffic{Farms: map[uint32]stats.Farm{kernel.ID: {Established: 5}}}, nil
	}
	if got = h.openTo([]*farm.Farm{&shop, kernel}); got[shop.ID] != 7 || got[kernel.ID] != 5 {
		t.Errorf("%v", got)
	}
	h.guardian.LookLoads()
	if n, known := h.manager.health.Load(named); n != 5 || !known {
		t.Errorf("the backend has load %d, known %t", n, known)
	}
}
