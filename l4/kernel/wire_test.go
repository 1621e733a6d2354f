package kernel_test

import (
	"context"
	"maps"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel"
	"github.com/sluicelb/sluice/l4/kernel/l4test"
	"github.com/sluicelb/sluice/sysnet/neigh"
	"github.com/sluicelb/sluice/sysnet/sysnettest"
)

// walking implements Neighbours; some replies are late.
type walking struct {
	wanted []netip.Addr
	asked  int
	late   int // queries until they reply
	hops   map[netip.Addr]neigh.NextHop
	moved  chan struct{}
}

func (n *walking) Want(addrs []netip.Addr) { n.wanted, n.asked = addrs, 0 }

func (n *walking) Changed() <-chan struct{} { return n.moved }

func (n *walking) NextHops() map[netip.Addr]neigh.NextHop {
	n.asked++
	out := maps.Clone(n.hops)
	if n.asked <= n.late {
		for addr := range out {
			out[addr] = neigh.NextHop{Addr: addr}
		}
	}
	return out
}

func TestBackendsOfPacketModesAreFollowedOnTheWire(t *testing.T) {
	if !sysnettest.Inside(t) {
		return
	}
	link := func() {
		sysnettest.IP(t, "link add v0 type veth peer name v1")
		sysnettest.IP(t, "address add 192.0.2.1/24 dev v0")
		sysnettest.IP(t, "link set v0 up")
	}
	link()
	web := l4test.Example(func(f *farm.Farm) { f.L4.NAT = farm.NATDirect })
	plain := l4test.Example(func(f *farm.Farm) { f.ID, f.L4.ID = 8, 13; f.L4.Backends[0].Addr = netip.MustParseAddr("10.0.0.9") })
	stopped := l4test.Example(func(f *farm.Farm) { f.ID, f.L4.ID, f.L4.NAT, f.Stopped = 9, 14, farm.NATDirect, true })
	stopped.L4.Backends[0].Addr = netip.MustParseAddr("10.0.0.8")
	first, second := web.L4.Backends[0].Addr, web.L4.Backends[1].Addr
	at := func(addr netip.Addr, last byte) neigh.NextHop {
		return neigh.NextHop{Addr: addr, MAC: neigh.MAC{2, 0, 0, 0, 0, last}, Interface: "v0"}
	}
	n := &walking{late: 3, hops: map[netip.Addr]neigh.NextHop{first: at(first, 1), second: at(second, 2)}}
	f := &observed{}
	k := kernel.New(kernel.Options{Filter: f, Connections: f, Neighbours: n, Log: l4test.Quiet})
	k.Apply(t.Context(), 1, &farm.Config{Farms: []farm.Farm{web, plain, stopped}})
	if !slices.Equal(n.wanted, []netip.Addr{first, second}) {
		t.Errorf("followed are %v", n.wanted)
	}
	hop := func(addr netip.Addr, want byte) {
		t.Helper()
		in, _ := f.now()
		if got, ok := in.Wire.NextHop(addr); !ok || got != at(addr, want) {
			t.Errorf("%s is at %+v", addr, got)
		}
		if got := in.Wire.Devices(web.VIP); !slices.Equal(got, []string{"v0"}) {
			t.Errorf("packets for the VIP come in by %q", got)
		}
	}
	hop(first, 1) // a change waits for quick replies
	k.Follow(t.Context())
	times := f.carried()
	step := func(what string, more int) {
		t.Helper()
		k.Follow(t.Context())
		if times += more; f.carried() != times {
			t.Errorf("%s: carried %d times more, want %d", what, f.carried()-times+more, more)
			times = f.carried()
		}
	}
	n.hops[second] = at(second, 7)
	step("it was looked a moment ago", 0)
	k.Age(time.Second)
	step("a backend moved", 1)
	hop(second, 7)
	k.Age(time.Second)
	step("nothing moved", 0)
	if f.doubts != 0 {
		t.Error("interfaces that stayed are doubted")
	}
	sysnettest.IP(t, "link del v0")
	link()
	k.Age(time.Second)
	step("the interface is another one", 1)
	if f.doubts != 1 {
		t.Errorf("a recreated interface causes %d doubts", f.doubts)
	}
	k.Apply(t.Context(), 2, &farm.Config{Farms: []farm.Farm{plain}})
	if in, _ := f.now(); in.Wire != nil || len(n.wanted) != 0 {
		t.Errorf("without farms of packet modes %v are followed", n.wanted)
	}
	k.Follow(t.Context())
	times = f.carried()
	k.Age(time.Second)
	step("there is no wire", 0)
}

func TestNextHopChangesAreAppliedAtOnce(t *testing.T) {
	addr := netip.MustParseAddr("10.0.0.1")
	n := &walking{moved: make(chan struct{}), hops: map[netip.Addr]neigh.NextHop{addr: {Addr: addr, MAC: neigh.MAC{2}}}}
	f := &observed{}
	k := kernel.New(kernel.Options{Filter: f, Connections: f, Neighbours: n, Log: l4test.Quiet})
	one := l4test.Example(func(f *farm.Farm) { f.L4.NAT = farm.NATDirect; f.L4.Backends = f.L4.Backends[:1] })
	k.Apply(t.Context(), 1, &farm.Config{Farms: []farm.Farm{one}})
	k.Follow(t.Context())
	k.Age(-time.Hour) // no periodic check
	n.hops = map[netip.Addr]neigh.NextHop{addr: {Addr: addr, MAC: neigh.MAC{2, 1}}}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); k.Run(ctx) }()
	n.moved <- struct{}{}
	l4test.Eventually(t, "what moved is carried", func() bool {
		in, _ := f.now()
		hop, _ := in.Wire.NextHop(addr)
		return hop.MAC == neigh.MAC{2, 1}
	})
	cancel()
	<-done
}
