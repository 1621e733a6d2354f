package rules

import (
	"fmt"
	"slices"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/sysnet/claim"
	"github.com/sluicelb/sluice/sysnet/neigh"
	"github.com/sluicelb/sluice/sysnet/nft"
)

// Netdev returns the table of farms whose packets are taken at the arrival interface, before
// the kernel's own processing: dsr and stateless_dnat.
//
//	ingress of every interface ─► farmN: flow known? session? else choice: mark of a backend
//	                                  └─► backendM: remember the flow ─► wireM: MAC, interface, gone
//	later fragments, known by their number ───────────────────────────────┘
//
// Flows are elements of the farm's map that expire automatically, so changes of other
// backends do not affect a flow. With stateless_dnat the destination is rewritten in backendM
// and wireM, and replies are recognised on arrival, see returns.
func Netdev() nft.Table { return nft.Table{Family: "netdev", Name: claim.Own().Table()} }

func netdevID(name string) nft.ID { return nft.ID{Table: Netdev(), Name: name} }

// Home returns the table of farms of a NAT type.
func Home(n farm.NATType) nft.Table {
	if n == farm.NATDirect || n == farm.NATStateless {
		return Netdev()
	}
	return Inet()
}

// maxFlows limits the flows of one farm. For additional flows a backend is chosen for every
// packet, which gives the same result with hash algorithms.
const maxFlows = 1 << 20

// packets compiles a farm of packet modes.
func (c *compiler) packets(f *farm.Farm) error {
	p, err := c.packetFarm(f)
	if err != nil {
		return err
	}
	entries, err := p.entries()
	if err != nil {
		return err
	}
	sessions, err := p.packetSessions()
	if err != nil {
		return err
	}
	p.add(entries, sessions)
	c.entries = entries
	return nil
}

// packetFarm is a farm of packet modes during compilation.
type packetFarm struct {
	compiledFarm
	devices []string
	hops    map[uint32]neigh.NextHop // of reachable backends
}

func (c *compiler) packetFarm(f *farm.Farm) (*packetFarm, error) {
	if c.in.Wire == nil {
		return nil, fmt.Errorf("nattype %s needs to know neighbours, which is not possible here", f.L4.NAT)
	}
	if f.VIP.IsUnspecified() {
		return nil, fmt.Errorf("nattype %s needs an address of its own as VIP", f.L4.NAT)
	}
	p := &packetFarm{hops: map[uint32]neigh.NextHop{}, devices: c.in.Wire.Devices(f.VIP.Unmap())}
	if len(p.devices) == 0 {
		return nil, fmt.Errorf("no interface has the address %s, or none is Ethernet", f.VIP)
	}
	within := *c.in
	within.Usable = func(id uint32) bool {
		_, reached := p.hops[id]
		return reached && (c.in.Usable == nil || c.in.Usable(id))
	}
	for i := range f.L4.Backends {
		b := &f.L4.Backends[i]
		if Unreached(c.in.Wire, f.L4.NAT, b) == "" {
			p.hops[b.ID], _ = c.in.Wire.NextHop(b.Addr.Unmap())
		}
	}
	p.compiledFarm = compiledFarm{compiler: c, farm: f, l4: f.L4, family: familyOf(f.VIP), states: within.States(f.L4)}
	return p, nil
}

// add adds the farm to the rules.
func (p *packetFarm) add(entries []entry, sessions *packetSessions) {
	p.wire.use(p)
	chain := p.chain(farmChain(p.farm.ID))
	chain.Rules = p.farmRules(sessions)
	for _, e := range entries {
		p.rules.SetOf(netdevID(e.set), e.make).Elements[e.key] = nft.Element{Value: "goto " + farmChain(p.farm.ID), Owner: p.farm.ID}
	}
	for i := range p.states {
		switch s := &p.states[i]; {
		case s.Known:
			p.backend(s, sessions)
		case p.keeps(s):
			p.kept(s)
		}
	}
}

// keeps reports whether connections of TCP and SCTP to a backend stay there although it gets
// no new ones: it is down, which their ends notice.
func (p *packetFarm) keeps(s *State) bool {
	_, reached := p.hops[s.ID]
	return reached && s.Down && s.Maintenance != farm.MaintenanceCut && !p.in.Cut[s.ID] &&
		slices.ContainsFunc(p.l4.Protocol.Transports(), func(t farm.L4Protocol) bool { return withinConnection[t] != "" })
}

func (p *packetFarm) chain(name string) *nft.Chain {
	return p.rules.ChainOf(netdevID(name), func() *nft.Chain { return &nft.Chain{Owner: p.farm.ID} })
}

// netdevSet adds an element to a set of the table.
func (p *packetFarm) netdevSet(name, kind, data, options, key string, e nft.Element) {
	e.Owner = p.farm.ID
	p.rules.SetOf(netdevID(name), func() *nft.Set { return &nft.Set{Type: kind, Data: data, Options: options} }).Elements[key] = e
}
