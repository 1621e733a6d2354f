package forward_test

import (
	"net/netip"
	"sync"
	"testing"

	"github.com/sluicelb/sluice/core/descriptortest"
	"github.com/sluicelb/sluice/core/loop"
)

// fewFlows starts an engine with a limit of a few hundred flows.
func fewFlows(t *testing.T, loops int) (a *appliance, most int) {
	t.Helper()
	const few = 400
	defer descriptortest.Limit(t, few)()
	return newAppliance(t, loops), few * 3 / 4
}

// No flow is evicted for a client that is refused anyway.
func TestRefusedClientsEvictNoFlow(t *testing.T) {
	a, most := fewFlows(t, 1)
	none := uint16(0)
	others := a.farmUDP(answering(t, same).at())
	others.L4.Responses, others.L4.IdleTimeout = &none, 300
	bounded := a.farmUDP(answering(t, same).at())
	bounded.ID, bounded.Name, bounded.L4.ID, bounded.L4.Backends[0].ID = 2, "bounded", 2, 2
	bounded.L4.MaxConnections = 1
	a.publish(others, bounded)
	if !insist(a.dialUDP(bounded), "mine") {
		t.Fatal("the one client is not served")
	}
	for n := range most - 1 {
		spoof(t, source(n), netip.MustParseAddrPort(address(others)))
	}
	eventually(t, "the table is full", func() bool { return int(a.stats().Established) == most-1 })
	for n := range 50 {
		spoof(t, source(n), netip.MustParseAddrPort(address(bounded)))
	}
	eventually(t, "they are refused", func() bool { a.Turn(); return a.segment.SumFarm(2).Dropped == 50 })
	if s := a.stats(); int(s.Established) != most-1 || s.Evicted != 0 {
		t.Errorf("%d flows are left of %d, %d had to go", s.Established, most-1, s.Evicted)
	}
}

// A flow is evicted before the new one begins, not later.
func TestNewFlowReplacesAnother(t *testing.T) {
	a, most := fewFlows(t, 1)
	f := a.farmUDP(answering(t, same).at())
	f.L4.IdleTimeout = 300
	a.publish(f)
	for n := range most {
		spoof(t, source(n), netip.MustParseAddrPort(address(f)))
	}
	eventually(t, "the table is full", func() bool { return int(a.stats().Established) == most })
	for n := range 32 {
		spoof(t, source(most+n), netip.MustParseAddrPort(address(f)))
		a.Turn()
		if s := a.stats(); int(s.Established) > most {
			t.Fatalf("%d flows, %d are the bound", s.Established, most)
		}
	}
	eventually(t, "each new one took a place", func() bool { a.Turn(); return a.stats().Evicted == 32 })
	if s := a.stats(); int(s.Established) != most || s.Dropped != 0 {
		t.Errorf("%d flows of %d are left, %d datagrams were dropped", s.Established, most, s.Dropped)
	}
}

// Flows that use free capacity are evicted as soon as listeners with a share of it exist.
func TestFlowsLeaveRoomForConnections(t *testing.T) {
	a, most := fewFlows(t, 1)
	f := a.farmUDP(answering(t, same).at())
	f.L4.IdleTimeout = 300
	a.publish(f)
	for n := range most {
		spoof(t, source(n), netip.MustParseAddrPort(address(f)))
	}
	eventually(t, "the table is full", func() bool { return int(a.stats().Established) == most })
	other := a.farm(serve(t, name("one")).at())
	other.ID, other.Name, other.L4.ID, other.L4.Backends[0].ID = 2, "other", 2, 2
	a.publish(f, other)
	if loop.MostUDPConns() > int64(most)*2/3 {
		t.Fatalf("%d of %d descriptors are left to flows", loop.MostUDPConns(), most)
	}
	eventually(t, "flows go", func() bool { return int64(a.stats().Established) <= loop.MostUDPConns() })
}

// The kernel distributes clients to loops. A loop whose first clients arrive late still gets
// its share, although another loop has used all capacity.
func TestLoopsKeepTheirShares(t *testing.T) {
	a, most := fewFlows(t, 2)
	f := a.farmUDP(answering(t, same).at())
	f.L4.IdleTimeout, f.L4.MaxConnections = 300, 1<<20
	a.publish(f)
	to := netip.MustParseAddrPort(address(f))
	busy, held := make(chan struct{}), make(chan struct{})
	free := sync.OnceFunc(func() { close(busy) })
	defer free()
	a.loops[1].Post(func() { close(held); <-busy })
	<-held
	for n := range 8 * most {
		spoof(t, source(n), to)
	}
	eventually(t, "one loop has what it can get", func() bool { return a.segment.Shard(0).Farm(1).Evicted > 0 })
	if n := int(a.segment.SumFarm(1).Established); n > most {
		t.Errorf("%d flows, %d are the bound", n, most)
	}
	free()
	for i := range 20 {
		if !insist(a.dialUDP(f), "new") {
			t.Errorf("client %d is not served", i)
		}
	}
	if n := int(a.segment.SumFarm(1).Established); n > most {
		t.Errorf("%d flows, %d are the bound", n, most)
	}
}
