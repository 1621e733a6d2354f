package farmstate_test

import (
	"net/netip"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/farmstate"
)

// A backend that stands for several has a result when all of them have, or one is up.
func TestTheHealthOfABackendWithPartsIsAwaited(t *testing.T) {
	part := func(id uint32) farm.Backend {
		addr := netip.AddrFrom4([4]byte{10, 0, 0, byte(id)})
		return farm.Backend{ID: id, Of: 1, Host: "all.test", Resolve: farm.ResolveAll, Addr: addr}
	}
	f := farm.Farm{HTTP: &farm.HTTP{Services: []farm.Service{{Name: "s",
		Backends: []farm.Backend{{ID: 1, Host: "all.test", Resolve: farm.ResolveAll}, part(2), part(3)}}}}}
	const up, down, undefined = farm.StatusUp, farm.StatusDown, farm.StatusUndefined
	for _, c := range []struct {
		second, third farm.Status
		want          bool
	}{{up, undefined, false}, {undefined, down, true}, {down, undefined, true}, {down, down, false}, {down, up, false}} {
		health := func(id uint32) farm.Status { return map[uint32]farm.Status{2: c.second, 3: c.third}[id] }
		awaits := farmstate.Awaits(func(id uint32) bool { return id > 1 })
		g := f.Groups()[0]
		if got := awaits.Of(g, 0, health); got != c.want {
			t.Errorf("%v and %v: got %t, want %t", c.second, c.third, got, c.want)
		}
		if awaits.OfFarm(&f, health) != (c.second == undefined || c.third == undefined) {
			t.Errorf("farm with %v and %v", c.second, c.third)
		}
		if farmstate.Awaits(nil).Of(g, 0, health) || farmstate.Awaits(nil).OfFarm(&f, health) {
			t.Error("without checks")
		}
	}
}
