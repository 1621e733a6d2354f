package announce_test

import (
	"log/slog"
	"net/netip"
	"testing"

	"github.com/sluicelb/sluice/core/logtest"
	"github.com/sluicelb/sluice/sysnet/announce"
	"github.com/sluicelb/sluice/sysnet/sysnettest"
)

// Addresses that cannot belong to a single machine, e.g. loopback and multicast, must not be
// announced. The others are listed in order, and each problem is reported once.
func TestAddressesAreKeptInOrder(t *testing.T) {
	if !sysnettest.Inside(t) {
		return
	}
	var log logtest.Log
	a := announce.New(slog.New(slog.NewTextHandler(&log, nil)))
	var set []netip.Addr
	for i := range byte(40) {
		set = append(set, netip.AddrFrom4([4]byte{203, 0, 113, 200 - 3*i}))
	}
	for _, none := range []string{"127.0.0.2", "::1", "0.0.0.0", "::", "224.0.0.1", "ff02::1"} {
		set = append(set, netip.MustParseAddr(none))
	}
	a.Keep(append(set, netip.Addr{}))
	const problem = "no interface of this machine has the address "
	sysnettest.Eventually(t, func() (string, bool) {
		return log.String(), len(log.Lines("address not announced")) == 40
	})
	l := a.List()
	if len(l) != 40 {
		t.Fatalf("%d are kept: %+v", len(l), l)
	}
	for i, k := range l {
		if want := netip.AddrFrom4([4]byte{203, 0, 113, byte(83 + 3*i)}); k.Addr != want || k.Rounds != 0 || k.Interface != "" {
			t.Errorf("%d: %+v, want %s", i, k, want)
		}
	}
	sysnettest.Eventually(t, func() (string, bool) {
		k := a.List()[39]
		return k.Problem, len(k.Problem) > len(problem) && k.Problem[:len(problem)] == problem
	})
	for range 2 {
		a.Add(set[0])
	}
	a.Drop(set[0])
	a.Keep(set[1:3])
	if l := a.List(); len(l) != 3 || l[2].Addr != set[0] {
		t.Errorf("kept: %+v", l)
	}
	a.Close()
	a.Keep(set[10:12]) // nothing begins any more
	if l := a.List(); len(l) != 3 || l[0].Problem != "" || l[0].Rounds != 0 {
		t.Errorf("after the end: %+v", l)
	}
}
