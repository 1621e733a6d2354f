package kernel

import (
	"context"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel/rules"
	"github.com/sluicelb/sluice/sysnet/addr"
	"github.com/sluicelb/sluice/sysnet/neigh"
)

// Neighbours follows where addresses are; a *neigh.Watcher does.
type Neighbours interface {
	Want(addrs []netip.Addr)
	Changed() <-chan struct{}
	NextHops() map[netip.Addr]neigh.NextHop
}

const (
	// firstLook is how long a change waits for where its new backends are. Those
	// that answer later are used from then on.
	firstLook = 300 * time.Millisecond
	lookPause = 2 * time.Millisecond
	// lookInterval is how often the interfaces of VIPs are looked for.
	lookInterval = time.Second
)

// seen is a Wire as it was at one moment.
type seen struct {
	hops    map[netip.Addr]neigh.NextHop
	devices map[netip.Addr][]string
	index   map[string]int // of interfaces: one that was made anew has another
}

func (s *seen) NextHop(a netip.Addr) (neigh.NextHop, bool) { p, ok := s.hops[a]; return p, ok }
func (s *seen) Devices(vip netip.Addr) []string            { return s.devices[vip] }

func (s *seen) equal(other *seen) bool {
	return maps.Equal(s.hops, other.hops) && maps.Equal(s.index, other.index) &&
		maps.EqualFunc(s.devices, other.devices, func(a, b []string) bool { return slices.Equal(a, b) })
}

// packetBackends are the addresses of backends and VIPs of packet modes.
func packetBackends(farms []farm.Farm) (backends, vips []netip.Addr) {
	for i := range farms {
		if f := &farms[i]; !f.Stopped && rules.Home(f.L4.NAT) == rules.Netdev() {
			vips = append(vips, f.VIP.Unmap())
			for _, b := range f.L4.Backends {
				backends = append(backends, b.Addr.Unmap())
			}
		}
	}
	return backends, vips
}

// watch has the backends of the farms followed and waits a moment for next hops
// that are not known.
func (k *Reconciler) watch(ctx context.Context) {
	n := k.options.Neighbours
	if n == nil {
		return
	}
	backends, _ := packetBackends(k.farms)
	n.Want(backends)
	if k.wire != nil {
		backends = slices.DeleteFunc(backends, func(a netip.Addr) bool { _, known := k.wire.hops[a]; return known })
	}
	for until := time.Now().Add(firstLook); time.Now().Before(until) && ctx.Err() == nil; time.Sleep(lookPause) {
		hops := n.NextHops()
		if !slices.ContainsFunc(backends, func(a netip.Addr) bool { p, known := hops[a]; return !known || p.MAC == neigh.MAC{} }) {
			return
		}
	}
}

// look is what is on the wire now for those farms; nil when there is nothing to
// look for.
func (k *Reconciler) look(farms []farm.Farm) *seen {
	_, vips := packetBackends(farms)
	if k.options.Neighbours == nil || len(vips) == 0 {
		return nil
	}
	s := &seen{hops: k.options.Neighbours.NextHops(), devices: map[netip.Addr][]string{}, index: map[string]int{}}
	all, err := addr.List()
	if err != nil {
		k.options.Log.Warn("interfaces cannot be read", "reason", err)
	}
	ethernet := ethernets(all, vips)
	for _, l := range all {
		if slices.Contains(ethernet, l.Interface) {
			s.index[l.Interface] = l.Index
		}
		if slices.Contains(vips, l.Addr) {
			s.devices[l.Addr] = ethernet
		}
	}
	return s
}

// ethernets are the Ethernet interfaces that have addresses: packets for a VIP
// may come in by any of them, whichever has it. Those that have no more than
// every interface has by itself (fe80::/10) are left out: they come and go with
// containers. So are those nft cannot name, which would spoil the rules of all.
func ethernets(all []addr.Local, vips []netip.Addr) (names []string) {
	for _, l := range all {
		own := !l.Addr.IsLinkLocalUnicast() || slices.Contains(vips, l.Addr)
		if l.Ethernet && !l.Port && own && rules.Nameable(l.Interface) && !slices.Contains(names, l.Interface) {
			names = append(names, l.Interface)
		}
	}
	return names
}

// moved reports whether something on the wire is not where the rules have it.
func (k *Reconciler) moved() bool {
	now := k.look(k.farms)
	if now == nil || k.wire == nil {
		return (now == nil) != (k.wire == nil)
	}
	for name, index := range k.wire.index {
		if now.index[name] != index {
			k.options.Filter.Doubt() // chains of an interface go with it (Linux before 6.16)
		}
	}
	return !now.equal(k.wire)
}

// changes is closed, or gets a value, when moved is worth asking; nil when
// nobody is followed.
func (k *Reconciler) changes() <-chan struct{} {
	if k.options.Neighbours == nil {
		return nil
	}
	return k.options.Neighbours.Changed()
}
