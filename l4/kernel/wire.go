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

// Neighbours resolves next hops; implemented by *neigh.Watcher.
type Neighbours interface {
	Want(addrs []netip.Addr)
	Changed() <-chan struct{}
	NextHops() map[netip.Addr]neigh.NextHop
}

const (
	// firstLook is how long a change waits for the next hops of its new backends. Backends
	// that reply later are used from then on.
	firstLook = 300 * time.Millisecond
	lookPause = 2 * time.Millisecond
	// lookInterval is how often the interfaces of VIPs are looked up.
	lookInterval = time.Second
)

// seen is a snapshot of a Wire.
type seen struct {
	hops    map[netip.Addr]neigh.NextHop
	devices map[netip.Addr][]string
	index   map[string]int // of interfaces; a recreated one has another
}

func (s *seen) NextHop(a netip.Addr) (neigh.NextHop, bool) { p, ok := s.hops[a]; return p, ok }
func (s *seen) Devices(vip netip.Addr) []string            { return s.devices[vip] }

func (s *seen) equal(other *seen) bool {
	return maps.Equal(s.hops, other.hops) && maps.Equal(s.index, other.index) &&
		maps.EqualFunc(s.devices, other.devices, func(a, b []string) bool { return slices.Equal(a, b) })
}

// packetBackends returns the addresses of backends and VIPs of packet modes.
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

// watch makes Neighbours follow the backends of the farms, and waits briefly for unknown
// next hops.
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

// look returns the current next hops and devices of these farms, or nil if none are needed.
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

// ethernets returns the Ethernet interfaces with addresses: packets for a VIP may arrive on
// any of them. Interfaces with only link-local addresses (fe80::/10) are left out, because
// they come and go with containers. So are interfaces whose names nft cannot parse, which
// would make it refuse all rules.
func ethernets(all []addr.Local, vips []netip.Addr) (names []string) {
	for _, l := range all {
		own := !l.Addr.IsLinkLocalUnicast() || slices.Contains(vips, l.Addr)
		if l.Ethernet && !l.Port && own && rules.Nameable(l.Interface) && !slices.Contains(names, l.Interface) {
			names = append(names, l.Interface)
		}
	}
	return names
}

// moved reports whether something on the wire differs from the rules.
func (k *Reconciler) moved() bool {
	now := k.look(k.farms)
	if now == nil || k.wire == nil {
		return (now == nil) != (k.wire == nil)
	}
	for name, index := range k.wire.index {
		if now.index[name] != index {
			k.options.Filter.Doubt() // chains of an interface are deleted with it (Linux before 6.16)
		}
	}
	return !now.equal(k.wire)
}

// changes returns a channel that signals when moved should be called, or nil without
// Neighbours.
func (k *Reconciler) changes() <-chan struct{} {
	if k.options.Neighbours == nil {
		return nil
	}
	return k.options.Neighbours.Changed()
}
