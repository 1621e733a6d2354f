package forward_test

import (
	"net/netip"
	"syscall"
	"testing"
)

// fewFlows starts an engine that may have only a few hundred flows.
func fewFlows(t *testing.T) (a *appliance, most int) {
	t.Helper()
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	few := was
	few.Cur = 400
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &few); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &was); err != nil {
			t.Fatal(err)
		}
	}()
	return newAppliance(t, 1), int(few.Cur) * 3 / 4
}

// Nobody has to make room for a client that may not come in anyway.
func TestClientsOfAFullFarmCostOthersNothing(t *testing.T) {
	a, most := fewFlows(t)
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
