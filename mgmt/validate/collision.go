package validate

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	"github.com/sluicelb/sluice/core/farm"
)

// claim is ports of one transport on one address that a running farm takes.
type claim struct {
	transport farm.L4Protocol
	v6        bool
	vip       netip.Addr
	ports     farm.PortRange
	farm      int // position in the configuration
}

// claims lists what the farms take that run: those of http farms are TCP. A
// stopped farm takes nothing; it is refused when it is started.
func claims(cfg *farm.Config) []claim {
	out := make([]claim, 0, len(cfg.Farms))
	for i := range cfg.Farms {
		f := &cfg.Farms[i]
		if f.Stopped || !f.VIP.IsValid() {
			continue
		}
		for _, t := range f.Transports() {
			for _, p := range f.VPorts() {
				out = append(out, claim{t, f.VIP.Is6(), f.VIP, p, i})
			}
		}
	}
	return out
}

// collisions finds farms that take what another one takes: the same transport
// and port on the same address, where an unspecified VIP is every address of
// its IP version. It returns one of those other farms by the position of the
// one that comes later in the configuration; of farms that collide with several
// not all pairs are found. The work is that of sorting the claims.
func collisions(list []claim) map[int]int {
	found := map[int]int{}
	note := func(a, b int) {
		if a, b = min(a, b), max(a, b); a != b {
			if _, known := found[b]; !known {
				found[b] = a
			}
		}
	}
	// Claims on one address: the reach is that of the claim that ends last.
	slices.SortFunc(list, func(a, b claim) int {
		return cmp.Or(cmp.Compare(a.transport, b.transport), a.vip.Compare(b.vip), cmp.Compare(a.ports.First, b.ports.First), cmp.Compare(a.farm, b.farm))
	})
	for i, reach := 1, 0; i < len(list); i++ {
		c, last := &list[i], &list[reach]
		same := c.transport == last.transport && c.vip == last.vip
		if same && c.ports.First <= last.ports.Last {
			note(c.farm, last.farm)
		}
		if !same || c.ports.Last > last.ports.Last {
			reach = i
		}
	}
	// Claims on all addresses of an IP version against those on single ones.
	slices.SortFunc(list, func(a, b claim) int {
		return cmp.Or(cmp.Compare(a.transport, b.transport), compareBool(a.v6, b.v6), cmp.Compare(a.ports.First, b.ports.First), cmp.Compare(a.farm, b.farm))
	})
	var reach [2]*claim // of single addresses, of all
	for i := range list {
		c := &list[i]
		if i > 0 && (c.transport != list[i-1].transport || c.v6 != list[i-1].v6) {
			reach = [2]*claim{}
		}
		kind := 0
		if c.vip.IsUnspecified() {
			kind = 1
		}
		if other := reach[1-kind]; other != nil && c.ports.First <= other.ports.Last {
			note(c.farm, other.farm)
		}
		if reach[kind] == nil || c.ports.Last > reach[kind].ports.Last {
			reach[kind] = c
		}
	}
	return found
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// checkCollisions refuses two running farms that take the same.
func checkCollisions(cfg *farm.Config, yield func(Error) bool) bool {
	found := collisions(claims(cfg))
	if len(found) == 0 {
		return true
	}
	for i := range cfg.Farms {
		other, collides := found[i]
		if !collides {
			continue
		}
		f, o := &cfg.Farms[i], &cfg.Farms[other]
		if !yield(Error{FarmPath(f.Name), "vport", fmt.Sprintf("vip and vport must not be used by another running farm: %s collides with farm %s on %s", ProfileOf(f).ListensOn(f), show(o.Name), ProfileOf(o).ListensOn(o))}) {
			return false
		}
	}
	return true
}

// checkOwn refuses running farms that would take what the appliance itself
// listens on: the API would be gone. A farm on one of many addresses the API
// listens on is a warning, see ownWarning.
func (r Rules) checkOwn(cfg *farm.Config, yield func(Error) bool) bool {
	all := r.OwnOf(&cfg.System)
	for i := range cfg.Farms {
		f := &cfg.Farms[i]
		for _, own := range all {
			if !takes(f, own) || own.Addr().IsUnspecified() && !f.VIP.IsUnspecified() {
				continue
			}
			if !yield(Error{FarmPath(f.Name), "vport", fmt.Sprintf("vip and vport must not be what the appliance's API listens on (%s), got %s; use another vip, or ports without %d", own, ProfileOf(f).ListensOn(f), own.Port())}) {
				return false
			}
		}
	}
	return true
}

// takes reports whether the farm takes TCP connections to own.
func takes(f *farm.Farm, own netip.AddrPort) bool {
	if f.Stopped || !f.VIP.IsValid() {
		return false
	}
	addr := own.Addr().Unmap()
	// The unspecified IPv6 address takes IPv4 too.
	if f.VIP != addr && !(f.VIP.IsUnspecified() && f.VIP.Is4() == addr.Is4()) && !(addr.IsUnspecified() && (addr.Is6() || f.VIP.Is4())) {
		return false
	}
	return f.Takes(farm.L4TCP, own.Port())
}

func (r Rules) ownWarning(s *farm.System, f *farm.Farm) string {
	for _, own := range r.OwnOf(s) {
		if takes(f, own) {
			return fmt.Sprintf("vport: the appliance's API listens on port %d of every address; on %s it cannot be reached while the farm runs", own.Port(), f.VIP)
		}
	}
	return ""
}
