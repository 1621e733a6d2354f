package rules

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/sysnet/nft"
)

// Compile returns the rules that carry the farms of in. Farms that cannot be carried are
// left out; problems holds the reasons by farm ID. The result depends only on the input.
func Compile(in *Input) (rules *nft.Ruleset, problems map[uint32]string) {
	parts, problems := new(Compiler).Compile(in)
	return parts.Whole(), problems
}

// Seal returns the set that identifies the rules, or false without rules.
func Seal(compiled *nft.Parts) (nft.ID, bool) {
	common := compiled.Part(base)
	if common == nil {
		return nft.ID{}, false
	}
	for id := range common.Sets {
		if strings.HasPrefix(id.Name, sealPrefix) {
			return id, true
		}
	}
	return nft.ID{}, false
}

// compiler holds the state of the compilation of a farm, or of the base chains.
type compiler struct {
	in      *Input
	rules   *nft.Ruleset
	used    features
	wire    wire
	entries []entry         // of the farm
	sets    map[nft.ID]bool // that exist, for the base chains
}

// features lists parts of the base chains that only some farms need.
type features struct {
	any, marks, refresh bool
	families            map[*family]bool
	// transports holds the protocols of farms that rewrite ports.
	transports map[farm.L4Protocol]bool
	// retries are the families and protocols of farms that may drop a first packet.
	retries map[*family]map[farm.L4Protocol]bool
}

// merge adds the requirements of another farm.
func (f *features) merge(o *features) {
	f.any, f.marks, f.refresh = f.any || o.any, f.marks || o.marks, f.refresh || o.refresh
	f.families, f.transports = union(f.families, o.families), union(f.transports, o.transports)
	for of, list := range o.retries {
		if f.retries == nil {
			f.retries = map[*family]map[farm.L4Protocol]bool{}
		}
		f.retries[of] = union(f.retries[of], list)
	}
}

// union adds the members of more to a set, which is made if it is nil.
func union[K comparable](set, more map[K]bool) map[K]bool {
	if set == nil && len(more) > 0 {
		set = map[K]bool{}
	}
	for k := range more {
		set[k] = true
	}
	return set
}

// byNAT holds a compile function for each NAT type. Each checks everything before it adds
// anything, so that a farm with a problem adds nothing.
var byNAT = map[farm.NATType]func(*compiler, *farm.Farm) error{
	farm.NATMasquerade: (*compiler).rewriting,
	farm.NATTarget:     (*compiler).rewriting,
	farm.NATDirect:     (*compiler).packets,
	farm.NATStateless:  (*compiler).packets,
}

func (c *compiler) farm(f *farm.Farm) error {
	if err := Plain(f); err != nil {
		return err
	}
	carry := byNAT[f.L4.NAT]
	if carry == nil {
		return fmt.Errorf("nattype %s is not carried by this kernel path", f.L4.NAT)
	}
	return carry(c, f)
}

// rewriting compiles a farm whose addresses are rewritten by connection tracking: nat and
// dnat.
func (c *compiler) rewriting(f *farm.Farm) error {
	g := &compiledFarm{compiler: c, farm: f, l4: f.L4, family: familyOf(f.VIP), states: c.in.States(f.L4)}
	entries, err := g.entries()
	if err != nil {
		return err
	}
	persist, err := g.persistence()
	if err != nil {
		return err
	}
	c.used.any = true
	if c.used.families == nil {
		c.used.families = map[*family]bool{}
	}
	c.used.families[g.family] = true
	c.entries = entries
	g.chain(farmChain(f.ID)).Rules = append(c.midStream(f), g.body(persist)...)
	for _, e := range entries {
		set := c.rules.SetOf(inetID(e.set), e.make)
		set.Elements[e.key] = nft.Element{Value: "goto " + farmChain(f.ID), Owner: f.ID}
	}
	for i := range g.states {
		s := &g.states[i]
		if s.Known {
			g.target(s, persist)
		}
		if s.ConnLimit > 0 {
			g.limit(MarkText(s.ID), s.ConnLimit)
		}
	}
	return nil
}

// compiledFarm is a farm being compiled.
type compiledFarm struct {
	*compiler
	farm   *farm.Farm
	l4     *farm.L4
	family *family
	states []State
}

// chain returns a chain of the farm.
func (g *compiledFarm) chain(name string) *nft.Chain {
	return g.rules.ChainOf(inetID(name), func() *nft.Chain { return &nft.Chain{Owner: g.farm.ID} })
}

// chosen returns the backends new clients may get, in configured order.
func (g *compiledFarm) chosen() []*State {
	var out []*State
	for i := range g.states {
		if g.states[i].Chosen {
			out = append(out, &g.states[i])
		}
	}
	return out
}

// withSpares returns the backends new clients may get if others are full. Those of algorithm
// prio are in the order in which they are used.
func (g *compiledFarm) withSpares() []*State {
	out := g.chosen()
	for i := range g.states {
		if g.states[i].Spare {
			out = append(out, &g.states[i])
		}
	}
	if g.l4.Algorithm == farm.L4Priority {
		slices.SortStableFunc(out, func(a, b *State) int { return cmp.Compare(a.EffectivePriority(), b.EffectivePriority()) })
	}
	return out
}

// limited reports whether some backend has a connection limit.
func (g *compiledFarm) limited() bool {
	return slices.ContainsFunc(g.states, func(s State) bool { return s.Known && s.ConnLimit > 0 })
}

// Plain refuses farms that could insert foreign text into rules: address zones, and words
// outside the model. Farms come from mgmt, which may be compromised.
func Plain(f *farm.Farm) error {
	l := f.L4
	known := slices.Contains(farm.L4Protocols(), l.Protocol) && slices.Contains(farm.NATTypes(), l.NAT) && slices.Contains(farm.L4Algorithms(), l.Algorithm) &&
		(l.Persist == farm.L4PersistNone || slices.Contains(farm.L4Persistences(), l.Persist))
	if !known {
		return fmt.Errorf("protocol %q, nattype %q, algorithm %q or persistence %q is not known here", l.Protocol, l.NAT, l.Algorithm, l.Persist)
	}
	if err := unzoned(f.VIP, l.Source); err != nil {
		return err
	}
	for i := range l.Backends {
		if err := unzoned(l.Backends[i].Addr, l.Backends[i].Source); err != nil {
			return err
		}
	}
	return nil
}

func unzoned(list ...netip.Addr) error {
	for _, a := range list {
		if a.Zone() != "" {
			return fmt.Errorf("address %q: the kernel carries addresses without a zone", a)
		}
	}
	return nil
}

// midStream refuses TCP packets that do not begin a connection.
const midStream = "tcp flags & syn == 0 goto refuse"

// midStream returns the rule for farms that refuse such packets now.
func (c *compiler) midStream(f *farm.Farm) []string {
	if !c.in.Flushed[f.ID] {
		return nil
	}
	return []string{midStream}
}
