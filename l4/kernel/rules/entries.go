package rules

import (
	"fmt"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/sysnet/nft"
)

// entry is a key by which packets find their farm.
type entry struct {
	set, key string
	make     func() *nft.Set
}

// span is a port range in use.
type span struct {
	farm.PortRange
	name string
}

// Transports returns the transport protocols to match, as nft names them, or none for a farm
// that takes all.
func Transports(p farm.L4Protocol) []farm.L4Protocol {
	if p == farm.L4All {
		return nil
	}
	return p.Transports()
}

// entries returns the keys of the farm. The kernel refuses overlapping keys, and of two
// farms with the same key only one would get packets. So duplicates are refused here, before
// anything is added.
func (g *compiledFarm) entries() ([]entry, error) {
	var out []entry
	everywhere := g.farm.VIP.IsUnspecified()
	address := g.farm.VIP.Unmap().String() + " . "
	kind, sets := g.family.address+" . ", [3]string{"ports", "ranges", "all"}
	if everywhere { // every address of this machine
		address, kind, sets = "", "", [3]string{"localports", "localranges", "localall"}
	}
	add := func(set, key, kind, options string) error {
		set += g.family.digit
		if s := g.compiler.rules.Sets[inetID(set)]; s != nil {
			if other, taken := s.Elements[key]; taken {
				return fmt.Errorf("its address is taken: farm %d has %s", other.Owner, key)
			}
		}
		out = append(out, entry{set, key, func() *nft.Set { return &nft.Set{Type: kind, Data: "verdict", Options: options} }})
		return nil
	}
	protocols := Transports(g.l4.Protocol)
	if protocols == nil {
		if everywhere {
			return nil, fmt.Errorf("all ports of all addresses of this machine cannot be taken: they would include its own")
		}
		return out, add(sets[2], g.farm.VIP.Unmap().String(), g.family.address, "")
	}
	ports := g.l4.Ports
	if len(ports) == 0 {
		ports = []farm.PortRange{{First: 1, Last: 65535}}
	}
	for _, protocol := range protocols {
		for _, p := range ports {
			if p.First == p.Last {
				if err := add(sets[0], fmt.Sprintf("%s%s . %d", address, protocol, p.First), kind+"inet_proto . inet_service", ""); err != nil {
					return nil, err
				}
				continue
			}
			key := address + string(protocol)
			for _, s := range g.ports[key] {
				if p.First <= s.Last && s.First <= p.Last {
					return nil, fmt.Errorf("its ports %s overlap those of farm %q", p, s.name)
				}
			}
			if err := add(sets[1], fmt.Sprintf("%s . %d-%d", key, p.First, p.Last), kind+"inet_proto . inet_service", "flags interval; "); err != nil {
				return nil, err
			}
		}
	}
	for _, protocol := range protocols {
		for _, p := range ports {
			if p.First != p.Last {
				key := address + string(protocol)
				g.ports[key] = append(g.ports[key], span{p, g.farm.Name})
			}
		}
	}
	return out, nil
}
