package rules

import (
	"fmt"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/sysnet/nft"
)

// set adds an element to a map or set of the table.
func (g *compiledFarm) set(name, kind, data, options, key string, e nft.Element) {
	e.Owner = g.farm.ID
	g.rules.SetOf(inetID(name), func() *nft.Set { return &nft.Set{Type: kind, Data: data, Options: options} }).Elements[key] = e
}

// fixed is the size of sets by mark: every backend fits. For a set of fixed size with keys
// of four bytes the kernel uses a faster table than for a growing one.
const fixed = "size 65536; "

// target adds the map elements of a backend's mark.
func (g *compiledFarm) target(s *State, persist *persistence) {
	mark, digit := MarkText(s.ID), g.family.digit
	address := s.Addr.Unmap().String()
	if port := s.Port; port != 0 && g.l4.Protocol != farm.L4All {
		g.used.rewritePorts(g.l4.Protocol.Transports())
		g.set("target"+digit, "mark", g.family.address+" . inet_service", fixed, mark, nft.Element{Value: fmt.Sprintf("%s . %d", address, port)})
	} else {
		g.set("address"+digit, "mark", g.family.address, fixed, mark, nft.Element{Value: address})
	}
	if g.l4.Protocol == farm.L4SANE {
		g.set("data"+digit, "mark", g.family.address, fixed, mark, nft.Element{Value: address})
	}
	if g.l4.NAT == farm.NATMasquerade {
		g.source(s, mark)
	}
	if m := s.Mark; m != 0 || g.l4.Mark != 0 {
		if m == 0 {
			m = g.l4.Mark
		}
		g.used.marks = true
		g.set("marks", "mark", "mark", fixed, mark, nft.Element{Value: nft.Mark(m)})
	}
	if persist != nil {
		g.used.refresh = true
		g.set("refresh", "mark", "verdict", fixed, mark, nft.Element{Value: "goto " + refreshChain(g.farm.ID)})
	}
	g.set("opened", "mark", "", fixed+"counter; ", mark, nft.Element{State: "counter"})
	for _, way := range []string{"original", "reply"} {
		g.set("traffic", "mark . ct_dir", "", "size 131072; counter; ", mark+" . "+way, nft.Element{State: "counter"})
	}
}

// rewritePorts records the transports whose ports are rewritten.
func (f *features) rewritePorts(transports []farm.L4Protocol) {
	if f.transports == nil {
		f.transports = map[farm.L4Protocol]bool{}
	}
	for _, t := range transports {
		f.transports[t] = true
	}
}

// source chooses the source address the backend sees: its own setting, the farm's, or the
// kernel's choice.
func (g *compiledFarm) source(s *State, mark string) {
	source := s.Source
	if !source.IsValid() {
		source = g.l4.Source
	}
	if source.IsValid() && source.Unmap().Is4() == (g.family == v4) {
		g.set("from"+g.family.digit, "mark", g.family.address, fixed, mark, nft.Element{Value: source.Unmap().String()})
		return
	}
	g.set("masqueraded", "mark", "", fixed, mark, nft.Element{})
}
