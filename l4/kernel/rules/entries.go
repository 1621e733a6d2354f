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
	span     *span // of a range
}

// span is a port range of an address and protocol.
type span struct {
	farm.PortRange
	of   string
	name string // of the farm
}

// Transports returns the transport protocols to match, as nft names them, or none for a farm
// that takes all.
func Transports(p farm.L4Protocol) []farm.L4Protocol {
	if p == farm.L4All {
		return nil
	}
	return p.Transports()
}

// entries returns the keys of the farm.
func (g *compiledFarm) entries() ([]entry, error) {
	var out []entry
	everywhere := g.farm.VIP.IsUnspecified()
	address := g.farm.VIP.Unmap().String() + " . "
	kind, sets := g.family.address+" . ", [3]string{"ports", "ranges", "all"}
	if everywhere { // every address of this machine
		address, kind, sets = "", "", [3]string{"localports", "localranges", "localall"}
	}
	add := func(set, key, kind, options string, s *span) {
		out = append(out, entry{set + g.family.digit, key, func() *nft.Set { return &nft.Set{Type: kind, Data: "verdict", Options: options} }, s})
	}
	protocols := Transports(g.l4.Protocol)
	if protocols == nil {
		if everywhere {
			return nil, fmt.Errorf("all ports of all addresses of this machine cannot be taken: they would include its own")
		}
		add(sets[2], g.farm.VIP.Unmap().String(), g.family.address, "", nil)
		return out, nil
	}
	ports := g.l4.Ports
	if len(ports) == 0 {
		ports = []farm.PortRange{{First: 1, Last: 65535}}
	}
	for _, protocol := range protocols {
		for _, p := range ports {
			if p.First == p.Last {
				add(sets[0], fmt.Sprintf("%s%s . %d", address, protocol, p.First), kind+"inet_proto . inet_service", "", nil)
				continue
			}
			key := address + string(protocol)
			add(sets[1], fmt.Sprintf("%s . %d-%d", key, p.First, p.Last), kind+"inet_proto . inet_service", "flags interval; ", &span{p, key, g.farm.Name})
		}
	}
	return out, nil
}

// occupied holds the keys of farms, by table and set, and their port ranges.
type occupied struct {
	keys  map[nft.ID]map[string]uint32 // the farm with a key
	spans map[string][]*span           // by address and protocol
}

// take adds the keys of a farm, or returns an error and adds nothing. The kernel refuses
// overlapping keys, and of two farms with the same key only one would get packets. Farms
// of packet modes get packets before others, so they must not have the keys of those
// either.
func (o *occupied) take(home nft.Table, owner uint32, list []entry) error {
	for _, e := range list {
		if e.span != nil {
			for _, s := range o.spans[e.span.of] {
				if e.span.First <= s.Last && s.First <= e.span.Last {
					return fmt.Errorf("its ports %s overlap those of farm %q", e.span.PortRange, s.name)
				}
			}
		}
		for _, t := range []nft.Table{Inet(), home} {
			if other, taken := o.keys[nft.ID{Table: t, Name: e.set}][e.key]; taken {
				return fmt.Errorf("its address is taken: farm %d has %s", other, e.key)
			}
		}
	}
	for _, e := range list {
		id := nft.ID{Table: home, Name: e.set}
		if o.keys[id] == nil {
			o.keys[id] = map[string]uint32{}
		}
		o.keys[id][e.key] = owner
		if e.span != nil {
			o.spans[e.span.of] = append(o.spans[e.span.of], e.span)
		}
	}
	return nil
}
