package validate

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
)

// claim is a range of ports that a running farm occupies, for one transport and address.
type claim struct {
	transport farm.L4Protocol
	v6        bool
	vip       netip.Addr
	ports     farm.PortRange
	farm      int // position in the configuration
}

// claims lists the ports of running farms; http farms use TCP. A stopped farm occupies no
// ports; starting it is rejected on a conflict.
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

// collisions finds farms that occupy the same transport, port and address. An unspecified
// VIP stands for all addresses of its IP version. It maps the later farm's position to that
// of an earlier one. Of a farm with several collisions, not all pairs are found. The cost
// is that of sorting the claims.
func collisions(list []claim) map[int]int {
	found := map[int]int{}
	note := func(a, b int) {
		if a, b = min(a, b), max(a, b); a != b {
			if _, known := found[b]; !known {
				found[b] = a
			}
		}
	}
	// Claims on the same address: reach is the claim that ends last.
	slices.SortFunc(list, func(a, b claim) int {
		return cmp.Or(cmp.Compare(a.transport, b.transport), a.vip.Compare(b.vip), cmp.Compare(a.ports.First,
			b.ports.First), cmp.Compare(a.farm, b.farm))
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
		return cmp.Or(cmp.Compare(a.transport, b.transport), compareBool(a.v6, b.v6), cmp.Compare(a.ports.First,
			b.ports.First), cmp.Compare(a.farm, b.farm))
	})
	var reach [2]*claim // of single addresses, and of all addresses
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

// checkCollisions rejects two running farms that occupy the same port.
func checkCollisions(cfg *farm.Config, yield func(field.Error) bool) bool {
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
		if !yield(field.Error{Path: profile.FarmPath(f.Name), Field: "vport", Message: fmt.Sprintf("vip and vport must not be used by another running farm: %s collides with farm %s on %s", profile.Of(f).ListensOn(f), field.Show(o.Name), profile.Of(o).ListensOn(o))}) {
			return false
		}
	}
	return true
}

// checkOwn rejects running farms on an address of the appliance's own API, which would make
// it unreachable. If the API listens on all addresses and the farm on one of them, that is
// only a warning, see ownWarning.
func (r Rules) checkOwn(cfg *farm.Config, yield func(field.Error) bool) bool {
	all := r.OwnOf(&cfg.System)
	for i := range cfg.Farms {
		f := &cfg.Farms[i]
		for _, own := range all {
			if !takes(f, own) || own.Addr().IsUnspecified() && !f.VIP.IsUnspecified() {
				continue
			}
			if !yield(field.Error{Path: profile.FarmPath(f.Name), Field: "vport", Message: fmt.Sprintf("vip and vport must not be what the appliance's API listens on (%s), got %s; use another vip, or ports without %d", own, profile.Of(f).ListensOn(f), own.Port())}) {
				return false
			}
		}
	}
	return true
}

// takes reports whether the farm would receive TCP connections to own.
func takes(f *farm.Farm, own netip.AddrPort) bool {
	if f.Stopped || !f.VIP.IsValid() {
		return false
	}
	addr := own.Addr().Unmap()
	// The unspecified IPv6 address includes IPv4.
	if f.VIP != addr && !(f.VIP.IsUnspecified() && f.VIP.Is4() == addr.Is4()) && !(addr.IsUnspecified() &&
		(addr.Is6() || f.VIP.Is4())) {
		return false
	}
	return f.Takes(farm.L4TCP, own.Port())
}

// ownWarnings returns that a farm takes an address at which the appliance's API listens.
func (r Rules) ownWarnings(s *farm.System, f *farm.Farm) []field.Error {
	if f.SettingsProfile() == "" {
		return nil // which is an error
	}
	for _, own := range r.OwnOf(s) {
		if takes(f, own) {
			return []field.Error{{Path: profile.FarmPath(f.Name), Field: "vport", Message: fmt.Sprintf("vport: the appliance's API listens on port %d of every address; on %s it cannot be reached while the farm runs", own.Port(), f.VIP)}}
		}
	}
	return nil
}
