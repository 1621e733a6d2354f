package rules

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/sluicelb/sluice/core/farm"
)

// Plain refuses what could bring foreign text into rules: zones of addresses,
// and words that are none of the model's. Farms come from mgmt, which may be in
// other hands.
func Plain(f *farm.Farm) error {
	l := f.L4
	known := slices.Contains(farm.L4Protocols(), l.Protocol) && slices.Contains(farm.NATTypes(), l.NAT) && slices.Contains(farm.L4Algorithms(), l.Algorithm) &&
		(l.Persist == farm.L4PersistNone || slices.Contains(farm.L4Persistences(), l.Persist))
	if !known {
		return fmt.Errorf("protocol %q, nattype %q, algorithm %q or persistence %q is not known here", l.Protocol, l.NAT, l.Algorithm, l.Persist)
	}
	list := []netip.Addr{f.VIP, f.L4.Source}
	for i := range f.L4.Backends {
		list = append(list, f.L4.Backends[i].Addr, f.L4.Backends[i].Source)
	}
	for _, a := range list {
		if a.Zone() != "" {
			return fmt.Errorf("address %q: the kernel carries addresses without a zone", a)
		}
	}
	return nil
}
