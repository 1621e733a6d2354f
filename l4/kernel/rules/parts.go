package rules

import (
	"math"
	"net/netip"
	"slices"
	"sync"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/sysnet/claim"
	"github.com/sluicelb/sluice/sysnet/neigh"
	"github.com/sluicelb/sluice/sysnet/nft"
)

// base is the number of the part with the base chains. The other parts have the numbers of
// their farms.
const base = math.MaxUint32

// Compiler compiles successive inputs. A farm whose input did not change keeps its part, so
// the cost of a change depends little on the number of other farms. Farms of an input must
// not be modified afterwards. The zero value is ready to use. It is safe for concurrent use.
type Compiler struct {
	mu    sync.Mutex
	farms map[uint32]*compiled
	last  *nft.Parts
	base  *common
	// recorded reports that last holds records of farms that are not carried.
	recorded bool
}

// compiled is the result of compiling one farm alone.
type compiled struct {
	from dependencies
	// part has the rules, nil if there is a problem.
	part    *nft.Part
	problem string
	entries []entry
	used    features
	wire    wire
	// shape names the sets of the part without an owner.
	shape string
}

// Compile returns the rules that carry the farms of in. Farms that cannot be carried are
// left out; problems holds the reasons by farm ID. The result depends only on the input.
func (k *Compiler) Compile(in *Input) (rules *nft.Parts, problems map[uint32]string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	farms, list := make(map[uint32]*compiled, len(in.Farms)), make([]*compiled, 0, len(in.Farms))
	for i := range in.Farms {
		f := &in.Farms[i]
		one := k.farms[f.ID]
		if one == nil || !one.from.same(in, f) {
			if !f.InKernel() {
				continue
			}
			one = compileOne(in, f)
		}
		farms[f.ID] = one
		list = append(list, one)
	}
	problems = map[uint32]string{}
	fits := k.base != nil && k.base.fits(in, list)
	if fits && slices.Equal(k.base.farms, list) && len(in.Recorded) == 0 && !k.recorded {
		return k.last, problems
	}
	if !fits {
		k.base = together(in, list, problems)
	}
	parts := make(map[uint32]*nft.Part, len(list)+1)
	for _, one := range list {
		f := &one.from.farm
		if one.problem == "" && problems[f.ID] == "" {
			parts[f.ID] = one.part
		} else if p := recordOf(in, f); p != nil {
			parts[f.ID] = p
		}
	}
	for i := range in.Recorded {
		f := &in.Recorded[i]
		if p := recordOf(in, f); p != nil && f.InKernel() {
			parts[f.ID] = p
		}
	}
	parts[base] = k.base.sealed(parts)
	if len(problems) > 0 {
		k.base = nil
	} else {
		k.base.farms = list
	}
	k.farms, k.last, k.recorded = farms, nft.Join(k.last, parts), len(in.Recorded) > 0
	return k.last, problems
}

// compileOne compiles a farm without the others.
func compileOne(in *Input, f *farm.Farm) *compiled {
	one := &compiled{from: dependenciesOf(in, f)}
	c := &compiler{in: one.from.input(), rules: &nft.Ruleset{}}
	home := Home(f.L4.NAT)
	if f.Stopped {
		home = Inet()
		c.keepSessions(f)
	} else if err := c.farm(f); err != nil {
		one.problem = err.Error()
		return one
	}
	c.remember(f, home)
	one.part, one.entries, one.used, one.wire = nft.NewPart(c.rules), c.entries, c.used, c.wire
	for _, id := range one.part.SharedSets() {
		one.shape += id.String() + ";"
	}
	return one
}

// dependencies is everything that the rules of one farm depend on. The lists follow its
// backends.
type dependencies struct {
	farm    farm.Farm
	own     claim.Slot
	flushed bool
	usable  []bool
	cut     []bool
	weights []int // only with leastconn; -1 is unknown
	// Only in packet modes.
	wired   bool
	devices []string
	hops    []hop
}

// hop is the result of Wire.NextHop.
type hop struct {
	neigh.NextHop
	known bool
}

func dependenciesOf(in *Input, f *farm.Farm) dependencies {
	d := dependencies{farm: *f, own: claim.Own(), flushed: in.Flushed[f.ID]}
	for i := range f.L4.Backends {
		d.cut = append(d.cut, in.Cut[f.L4.Backends[i].ID])
	}
	if f.Stopped {
		return d
	}
	if d.wired = wired(in, f); d.wired {
		d.devices = in.Wire.Devices(f.VIP.Unmap())
	}
	for i := range f.L4.Backends {
		b := &f.L4.Backends[i]
		d.usable = append(d.usable, in.usable(b))
		if f.L4.Algorithm == farm.L4LeastConn {
			d.weights = append(d.weights, weightOf(in, b.ID))
		}
		if d.wired {
			d.hops = append(d.hops, hopOf(in, b))
		}
	}
	return d
}

func weightOf(in *Input, backend uint32) int {
	if w, known := in.Weights[backend]; known {
		return w
	}
	return -1
}

// wired reports whether the rules of a farm depend on the wire, which is known.
func wired(in *Input, f *farm.Farm) bool { return in.Wire != nil && Home(f.L4.NAT) == Netdev() }

func hopOf(in *Input, b *farm.Backend) (h hop) {
	h.NextHop, h.known = in.Wire.NextHop(b.Addr.Unmap())
	return h
}

// same reports whether the farm has these dependencies in an input.
func (d *dependencies) same(in *Input, f *farm.Farm) bool {
	if !d.farm.Same(f) || d.own != claim.Own() || d.flushed != in.Flushed[f.ID] {
		return false
	}
	for i := range f.L4.Backends {
		if d.cut[i] != in.Cut[f.L4.Backends[i].ID] {
			return false
		}
	}
	if f.Stopped {
		return true
	}
	if d.wired != wired(in, f) || d.wired && !slices.Equal(d.devices, in.Wire.Devices(f.VIP.Unmap())) {
		return false
	}
	for i := range f.L4.Backends {
		b := &f.L4.Backends[i]
		if d.usable[i] != in.usable(b) || d.weights != nil && d.weights[i] != weightOf(in, b.ID) ||
			d.wired && d.hops[i] != hopOf(in, b) {
			return false
		}
	}
	return true
}

// input returns an input with the dependencies only, so that the rules of a farm cannot
// depend on anything else.
func (d *dependencies) input() *Input {
	in := &Input{Weights: map[uint32]int{}, Cut: map[uint32]bool{}, Flushed: map[uint32]bool{d.farm.ID: d.flushed}}
	usable := map[uint32]bool{}
	for i, cut := range d.cut {
		in.Cut[d.farm.L4.Backends[i].ID] = cut
	}
	for i := range d.usable {
		id := d.farm.L4.Backends[i].ID
		usable[id] = d.usable[i]
		if d.weights != nil && d.weights[i] >= 0 {
			in.Weights[id] = d.weights[i]
		}
	}
	in.Usable = func(id uint32) bool { return usable[id] }
	if d.wired {
		in.Wire = d
	}
	return in
}

// NextHop implements Wire.
func (d *dependencies) NextHop(addr netip.Addr) (neigh.NextHop, bool) {
	for i := range d.hops {
		if d.farm.L4.Backends[i].Addr.Unmap() == addr {
			return d.hops[i].NextHop, d.hops[i].known
		}
	}
	return neigh.NextHop{}, false
}

// Devices implements Wire. It is called with the farm's VIP only.
func (d *dependencies) Devices(netip.Addr) []string { return slices.Clone(d.devices) }
