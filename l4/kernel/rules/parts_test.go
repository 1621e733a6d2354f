package rules_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel/l4test"
	"github.com/sluicelb/sluice/l4/kernel/rules"
	"github.com/sluicelb/sluice/sysnet/neigh"
	"github.com/sluicelb/sluice/sysnet/nft"
)

// The rules of successive inputs, and their differences, equal a compilation from scratch.
func TestIncrementalRulesEqualAFullCompilation(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	w := newWorld(seed)
	var compiler rules.Compiler
	have, _ := compiler.Compile(&rules.Input{})
	refused := 0
	for i := range 600 {
		w.change()
		in := w.input()
		got, gotProblems := compiler.Compile(in)
		want, wantProblems := rules.Compile(in)
		if a, b := text(got.Whole()), text(want); a != b {
			t.Fatalf("change %d: the rules are\n%s\nwant\n%s", i, a, b)
		}
		if !maps.Equal(gotProblems, wantProblems) {
			t.Fatalf("change %d: problems %v, want %v", i, gotProblems, wantProblems)
		}
		refused += len(wantProblems)
		batch, ok := nft.DiffParts(have, got)
		whole, wholeOK := nft.Diff(have.Whole(), got.Whole())
		if ok != wholeOK || ok && batch.Text() != whole.Text() {
			t.Fatalf("change %d: the difference is %v\n%s\nwant %v\n%s", i, ok, batch.Text(), wholeOK, whole.Text())
		}
		if i%5 > 0 { // otherwise the change was only checked, or was refused
			have = got
		}
	}
	if refused == 0 {
		t.Error("no farm had the address of another one")
	}
}

// world makes random changes to farms and their surroundings.
type world struct {
	r                  *rand.Rand
	farms, transparent []farm.Farm
	wire               hops
	down, cut, flushed map[uint32]bool
	weights            map[uint32]int
	next               uint32
	deaf               bool // without a wire
}

func newWorld(seed uint64) *world {
	return &world{r: rand.New(rand.NewPCG(seed, 1)), wire: hops{of: map[netip.Addr]neigh.NextHop{}, devices: []string{"front"}},
		down: map[uint32]bool{}, cut: map[uint32]bool{}, flushed: map[uint32]bool{}, weights: map[uint32]int{}}
}

func (w *world) input() *rules.Input {
	down := maps.Clone(w.down)
	in := &rules.Input{Farms: slices.Clone(w.farms), Transparent: w.transparent, Usable: func(id uint32) bool { return !down[id] },
		Cut: maps.Clone(w.cut), Flushed: maps.Clone(w.flushed), Weights: maps.Clone(w.weights)}
	if !w.deaf {
		in.Wire = hops{maps.Clone(w.wire.of), slices.Clone(w.wire.devices)}
	}
	return in
}

func pick[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }

func (w *world) change() {
	switch n := w.r.IntN(20); {
	case n < 4 && len(w.farms) < 12 || len(w.farms) == 0:
		w.farms = slices.Insert(w.farms, w.r.IntN(len(w.farms)+1), w.farm(w.freeID()))
	case n < 6:
		at := w.r.IntN(len(w.farms))
		w.farms = slices.Delete(w.farms, at, at+1)
	case n < 7:
		w.r.Shuffle(len(w.farms), func(i, j int) { w.farms[i], w.farms[j] = w.farms[j], w.farms[i] })
	case n < 8:
		w.deaf = !w.deaf
	case n < 9:
		w.wire.devices = pick(w.r, []string{"front"}, []string{"front", "side"}, nil)
	case n < 10:
		w.hop(w.address())
	case n < 11:
		w.transparent = nil
		for range w.r.IntN(3) {
			w.transparent = append(w.transparent, w.farm(200))
		}
	case n < 16:
		f := &w.farms[w.r.IntN(len(w.farms))]
		id := f.L4.Backends[w.r.IntN(len(f.L4.Backends))].ID
		switch w.r.IntN(4) {
		case 0:
			w.flushed[f.ID] = !w.flushed[f.ID]
		case 1:
			w.down[id] = !w.down[id]
		case 2:
			w.cut[id] = !w.cut[id]
		default:
			if w.weights[id] = w.r.IntN(9); w.weights[id] == 8 {
				delete(w.weights, id)
			}
		}
	default:
		f := &w.farms[w.r.IntN(len(w.farms))]
		if w.r.IntN(3) == 0 {
			*f = w.farm(f.ID)
			return
		}
		l := *f.L4
		l.Backends = slices.Clone(l.Backends)
		b := &l.Backends[w.r.IntN(len(l.Backends))]
		b.Weight, b.Priority, b.Mark = uint8(w.r.IntN(5)), uint8(w.r.IntN(3)), uint32(w.r.IntN(3))
		b.Maintenance = pick(w.r, "", farm.MaintenanceDrain, farm.MaintenanceCut)
		b.Port = pick[uint16](w.r, 0, 8080)
		f.L4, f.Stopped = &l, w.r.IntN(6) == 0
	}
}

func (w *world) freeID() uint32 {
	id := uint32(1)
	for slices.ContainsFunc(w.farms, func(f farm.Farm) bool { return f.ID == id }) {
		id++
	}
	return id
}

// address returns one of few, so that farms share backends.
func (w *world) address() netip.Addr {
	return netip.MustParseAddr(pick(w.r, "10.0.0.1", "10.0.0.2", "10.0.0.3", "fd00::1", "fd00::2"))
}

func (w *world) hop(addr netip.Addr) {
	if w.r.IntN(4) == 0 {
		delete(w.wire.of, addr)
		return
	}
	w.wire.of[addr] = neigh.NextHop{Addr: addr, MAC: neigh.MAC{2, 0, 0, 0, 0, byte(1 + w.r.IntN(3))}, Interface: pick(w.r, "front", "back"), Own: neigh.MAC{2, 0, 0, 0, 1, 1}}
}

// farm returns a random farm. Few addresses and ports make some conflict.
func (w *world) farm(id uint32) farm.Farm {
	r, six := w.r, w.r.IntN(3) == 0
	return l4test.Example(func(f *farm.Farm) {
		f.ID, f.Name, f.L4.ID = id, fmt.Sprint("farm", id), id
		f.VIP = netip.AddrFrom4([4]byte{192, 0, 2, byte(r.IntN(5))})
		if six {
			f.VIP = netip.MustParseAddr(fmt.Sprintf("2001:db8::%d", 1+r.IntN(5)))
		} else if r.IntN(12) == 0 {
			f.VIP = netip.IPv4Unspecified()
		}
		l := f.L4
		l.NAT = pick(r, farm.NATTypes()...)
		l.Algorithm = pick(r, farm.L4Algorithms()...)
		l.Protocol = pick(r, farm.L4Protocols()...)
		if r.IntN(2) == 0 {
			l.Persist, l.TTL = pick(r, farm.L4Persistences()...), 60
		}
		if port := uint16(80 + r.IntN(3)); l.Protocol == farm.L4All {
			l.Ports = nil
		} else if l.Ports = []farm.PortRange{{First: port, Last: port}}; r.IntN(3) == 0 {
			l.Ports = append(l.Ports, farm.PortRange{First: uint16(8000 + r.IntN(20)), Last: uint16(8020 + r.IntN(5))})
		}
		l.Logs, l.MaxConnections, l.Mark = r.IntN(8) == 0, uint32(r.IntN(2)*100), uint32(r.IntN(2)*5)
		l.Backends = nil
		for range 1 + r.IntN(3) {
			w.next++
			b := farm.Backend{ID: w.next, Addr: w.address(), Port: pick[uint16](r, 0, 8080), ConnLimit: pick[uint32](r, 0, 0, 10)}
			for b.Addr.Is4() == six {
				b.Addr = w.address()
			}
			b.Host = b.Addr.String()
			w.hop(b.Addr)
			l.Backends = append(l.Backends, b)
		}
	})
}

// A change is checked and then made: its rules are compiled once.
func TestAnEqualInputIsNotCompiledAgain(t *testing.T) {
	nat := l4test.Example(nil)
	relay := l4test.Example(func(f *farm.Farm) { f.ID, f.L4.DataPath = 9, farm.DataPathUserspace })
	var c rules.Compiler
	before, _ := c.Compile(&rules.Input{Farms: []farm.Farm{nat, relay}})
	if again, _ := c.Compile(&rules.Input{Farms: []farm.Farm{nat, relay}}); again != before {
		t.Error("it is compiled again")
	}
	other := l4test.Example(func(f *farm.Farm) { f.ID, f.L4.Ports[0].First = 8, 70 })
	for name, in := range map[string]*rules.Input{
		"no farm":     {},
		"one more":    {Farms: []farm.Farm{nat, other}},
		"a record":    {Farms: []farm.Farm{nat}, Recorded: []farm.Farm{other}, Flushed: map[uint32]bool{other.ID: true}},
		"flushed":     {Farms: []farm.Farm{nat}, Flushed: map[uint32]bool{nat.ID: true}},
		"transparent": {Farms: []farm.Farm{nat}, Transparent: []farm.Farm{other}},
		"unusable":    {Farms: []farm.Farm{nat}, Usable: func(uint32) bool { return false }},
		"stopped":     {Farms: []farm.Farm{l4test.Stopped(nat)}, Hold: true},
	} {
		changed, _ := c.Compile(in)
		if want, _ := rules.Compile(in); !sameText(changed, want) || changed == before {
			t.Errorf("%s: not the rules of a whole compilation", name)
		}
		back, _ := c.Compile(&rules.Input{Farms: []farm.Farm{nat}})
		if !sameText(back, before.Whole()) {
			t.Errorf("%s, and back: not the rules of before", name)
		}
	}
}

func sameText(parts *nft.Parts, want *nft.Ruleset) bool { return text(parts.Whole()) == text(want) }
