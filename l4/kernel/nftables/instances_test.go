package nftables_test

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel"
	"github.com/sluicelb/sluice/l4/kernel/l4test"
	"github.com/sluicelb/sluice/l4/kernel/nftables"
	"github.com/sluicelb/sluice/sysnet/claim"
)

// Two instances in one network namespace may use the same backend numbers: each has its own
// rules, counters and connections.
func TestInstancesInOneNamespaceAreIsolated(t *testing.T) {
	s := l4test.NewSite(t, 2)
	t.Cleanup(func() { claim.Use(0) })
	var both [2]*kernel.Reconciler
	for i := range both {
		both[i] = kernel.New(kernel.Options{Filter: nftables.New(s.NFT, l4test.Quiet), Log: l4test.Quiet})
	}
	as := func(i int, do func(ctx context.Context, k *kernel.Reconciler)) {
		t.Helper()
		claim.Use(claim.Slot(3 * i))
		s.In(func(ctx context.Context) { do(ctx, both[i]) })
	}
	for i := range both {
		f := s.Farm(1, farm.L4TCP, farm.NATMasquerade, false, uint16(80+8000*i))
		f.L4.Backends = f.L4.Backends[:1]
		f.L4.Backends[0].Addr = netip.MustParseAddr(s.Backends[i].V4)
		as(i, func(ctx context.Context, k *kernel.Reconciler) {
			for _, p := range k.Apply(ctx, 1, &farm.Config{Farms: []farm.Farm{f}}) {
				t.Fatal(p)
			}
		})
	}
	answers := func(when string, want ...string) {
		t.Helper()
		for i, name := range want {
			if got := s.Ask("tcp", l4test.Source(1), fmt.Sprintf("%s:%d", s.VIP4, 80+8000*i)); got.Server != name {
				t.Errorf("%s: instance %d answers %+v, want %s", when, i, got, name)
			}
		}
	}
	answers("both run", "b1", "b2")
	for i := range both {
		as(i, func(ctx context.Context, k *kernel.Reconciler) {
			if n, err := k.Traffic(ctx); err != nil || n.Farms[1].Connections != 1 {
				t.Errorf("instance %d counts %+v, %v", i, n.Farms[1], err)
			}
			if list, err := k.Objects(ctx); err != nil || len(list) != 1 || list[0].Name != "inet "+claim.Own().Table() {
				t.Errorf("instance %d has %v, %v", i, list, err)
			}
		})
	}
	as(1, func(ctx context.Context, k *kernel.Reconciler) {
		if err := k.Clean(ctx); err != nil {
			t.Error(err)
		}
	})
	if tables := s.Appliance.Run("nft", "list", "tables"); strings.Contains(tables, "sluice_3") || !strings.Contains(tables, "inet sluice") {
		t.Errorf("left are %s", tables)
	}
	answers("one was cleaned", "b1")
}
