package nftables_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel/l4test"
	"github.com/sluicelb/sluice/l4/kernel/nftables"
	"github.com/sluicelb/sluice/l4/kernel/rules"
	"github.com/sluicelb/sluice/sysnet/housetest"
	"github.com/sluicelb/sluice/sysnet/nft"
)

var (
	edits = flag.Int("edits", 300, "number of random edits")
	seed  = flag.Uint64("seed", 0, "of random edits; 0 takes another each time")
)

// After any edit the kernel has exactly the compiled rules, although only differences are
// applied.
func TestKernelMatchesCompilationAfterEveryEdit(t *testing.T) {
	run, err := nft.Find()
	if err != nil {
		t.Skip(err)
	}
	n := *edits
	if testing.Short() {
		n = 60
	}
	if *seed == 0 {
		*seed = rand.Uint64()
	}
	t.Logf("%d edits of seed %d", n, *seed)
	h := housetest.New(t)
	e := &editor{t: t, r: rand.New(rand.NewPCG(*seed, 1)), down: map[uint32]bool{}}
	o := &oracle{t: t, run: run, twin: h.Namespace("twin"), rules: map[string]string{}}
	space := h.Namespace("edited")
	log := slog.New(failOnWarning{t})
	filter := nftables.New(run, log)
	for i := range n {
		what := e.edit()
		in := e.input()
		if i%97 == 96 {
			l4test.Unseal(t, space)
			filter, what = nftables.New(run, log), what+", restart"
		}
		var problems map[uint32]string
		space.Do(func() { problems, err = filter.Carry(context.Background(), in) })
		if err != nil || len(problems) > 0 {
			t.Fatalf("edit %d, %s: %v, %v", i, what, problems, err)
		}
		want, _ := rules.Compile(in)
		if diff := o.compare(space, want); diff != "" {
			t.Fatalf("edit %d, %s: got %s, want \"\"", i, what, diff)
		}
	}
	t.Logf("%d different rules", len(o.rules))
}

// failOnWarning fails the test when the filter logs a warning, as it does when a difference
// was refused.
type failOnWarning struct{ t *testing.T }

func (c failOnWarning) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelWarn }

func (c failOnWarning) WithAttrs([]slog.Attr) slog.Handler { return c }

func (c failOnWarning) WithGroup(string) slog.Handler { return c }

func (c failOnWarning) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool { c.t.Errorf("%s: %s", r.Message, a); return true })
	return nil
}

// editor makes random valid changes to a configuration.
type editor struct {
	t     *testing.T
	r     *rand.Rand
	farms []farm.Farm
	next  uint32 // number of the next backend
	down  map[uint32]bool
}

func (e *editor) input() *rules.Input {
	weights := map[uint32]int{}
	for _, f := range e.farms {
		for _, b := range f.L4.Backends {
			weights[b.ID] = 1 + int(b.ID)%10
		}
	}
	return &rules.Input{Farms: e.farms, Usable: func(id uint32) bool { return !e.down[id] }, Weights: weights}
}

func pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

func (e *editor) edit() string {
	r := e.r
	if len(e.farms) == 0 || len(e.farms) < 6 && r.IntN(8) == 0 {
		e.add()
		return "a farm added"
	}
	i := r.IntN(len(e.farms))
	f := e.farms[i].Clone() // a change must not affect the applied farm
	l := f.L4
	what := e.change(&f, l)
	if what == "deleted" {
		e.farms = slices.Delete(slices.Clone(e.farms), i, i+1)
		return what
	}
	e.farms = slices.Clone(e.farms)
	e.farms[i] = f
	return fmt.Sprintf("farm %d %s", f.ID, what)
}

func (e *editor) add() {
	id := uint32(1)
	for slices.ContainsFunc(e.farms, func(f farm.Farm) bool { return f.ID == id }) {
		id++
	}
	l := farm.DefaultL4()
	l.ID, l.DataPath = id, farm.DataPathKernel
	l.Ports = []farm.PortRange{{First: 80, Last: 80}}
	f := farm.Farm{ID: id, Name: fmt.Sprintf("f%d", id), Profile: farm.ProfileL4, L4: l, VIP: netip.AddrFrom4([4]byte{192, 0, 2, byte(id)})}
	if e.r.IntN(3) == 0 {
		f.VIP = netip.MustParseAddr(fmt.Sprintf("2001:db8::%x", id))
	}
	for range e.r.IntN(4) {
		e.addBackend(&f)
	}
	e.farms = append(slices.Clone(e.farms), f)
}

func (e *editor) addBackend(f *farm.Farm) {
	e.next++
	b := farm.Backend{ID: e.next%farm.MaxBackendID + 1, Port: uint16(e.r.IntN(3) * 8000)}
	b.Addr = netip.AddrFrom4([4]byte{10, 0, byte(b.ID >> 8), byte(b.ID)})
	if f.VIP.Is6() {
		b.Addr = netip.MustParseAddr(fmt.Sprintf("fd00::%x", b.ID))
	}
	f.L4.Backends = append(f.L4.Backends, b)
}

// change changes one property of a farm.
func (e *editor) change(f *farm.Farm, l *farm.L4) string {
	r := e.r
	if len(l.Backends) > 0 && r.IntN(2) == 0 {
		return e.changeBackend(f, l, r.IntN(len(l.Backends)))
	}
	switch r.IntN(14) {
	case 0:
		return "deleted"
	case 1:
		f.Stopped = !f.Stopped
		return "stopped or started"
	case 2:
		l.Algorithm = pick(r, farm.L4Algorithms())
		return "algorithm " + string(l.Algorithm)
	case 3:
		l.Persist = pick(r, append(farm.L4Persistences(), farm.L4PersistNone))
		for i := range l.Backends {
			l.Backends[i].Sessions = nil
		}
		return "persistence " + string(l.Persist)
	case 4:
		l.TTL = farm.Seconds(1 + r.IntN(1000))
		return "ttl"
	case 5:
		l.NAT = pick(r, []farm.NATType{farm.NATMasquerade, farm.NATTarget})
		return string(l.NAT)
	case 6:
		l.Protocol, l.Ports = pick(r, farm.L4Protocols()), []farm.PortRange{{First: 80, Last: 80}}
		if l.Protocol == farm.L4All {
			l.Ports = nil
		}
		return "protocol " + string(l.Protocol)
	case 7:
		if l.Protocol != farm.L4All {
			l.Ports = nil
			for p := uint16(1); len(l.Ports) < 1+r.IntN(3); {
				first := p + uint16(r.IntN(100))
				last := first + uint16(r.IntN(2)*r.IntN(50))
				l.Ports, p = append(l.Ports, farm.PortRange{First: first, Last: last}), last+1
			}
		}
		return "ports " + l.PortsText()
	case 8:
		l.Logs, l.LogLimit, l.LogPrefix = !l.Logs, uint32(r.IntN(3)), pick(r, []string{"", "a b: ", "x\"y"})
		return "logs"
	case 9:
		l.MaxConnections = uint32(r.IntN(2) * r.IntN(100))
		return "connections"
	case 10:
		l.Source = netip.Addr{}
		if r.IntN(2) == 0 && f.VIP.Is4() {
			l.Source = netip.AddrFrom4([4]byte{10, 9, 9, byte(1 + r.IntN(3))})
		}
		return "source"
	case 11:
		l.Mark = uint32(r.IntN(3))
		return "mark"
	case 12:
		f.Name += "x"
		f.Name = f.Name[max(0, len(f.Name)-20):]
		return "renamed"
	}
	e.addBackend(f)
	return "backend added"
}

func (e *editor) changeBackend(f *farm.Farm, l *farm.L4, i int) string {
	r, b := e.r, &l.Backends[i]
	switch r.IntN(10) {
	case 0:
		l.Backends = slices.Delete(l.Backends, i, i+1)
		return "backend deleted"
	case 1:
		b.Weight = uint8(r.IntN(10))
		return "weight"
	case 2:
		b.Priority = uint8(r.IntN(4))
		return "priority"
	case 3:
		b.ConnLimit = uint32(r.IntN(2) * r.IntN(100))
		return "limit"
	case 4:
		b.Maintenance = pick(r, []farm.Maintenance{"", farm.MaintenanceDrain, farm.MaintenanceCut})
		return "maintenance " + string(b.Maintenance)
	case 5:
		b.Mark = uint32(r.IntN(3))
		return "backend mark"
	case 6:
		b.Port = uint16(r.IntN(3) * 1000)
		return "backend port"
	case 7:
		if b.Sessions = nil; l.Persist == farm.L4PersistSrc && f.VIP.Is4() {
			b.Sessions = []string{fmt.Sprintf("198.51.%d.%d", b.ID>>8, b.ID&255)}
		}
		return "static sessions"
	}
	e.down[b.ID] = !e.down[b.ID]
	return "backend down or up"
}

// oracle checks whether a namespace has a ruleset. It compares nft's list with the wanted
// elements, and with nft's list of each rule after loading it into an empty table elsewhere.
type oracle struct {
	t     *testing.T
	run   *nft.Runner
	twin  *housetest.Namespace
	rules map[string]string // JSON of a rule, by its text
}

// listing is the output of nft -j for a table.
type listing struct {
	chains map[string][]string // JSON of the rules
	sets   map[string]json.RawMessage
	others int
}

func (o *oracle) list(in *housetest.Namespace) *listing {
	o.t.Helper()
	l := &listing{chains: map[string][]string{}, sets: map[string]json.RawMessage{}}
	if in.Run("nft", "list", "tables") == "" {
		return l
	}
	var doc struct {
		Objects []map[string]json.RawMessage `json:"nftables"`
	}
	text := in.Run("nft", "-j", "list", "ruleset")
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		o.t.Fatal(err)
	}
	for _, object := range doc.Objects {
		for kind, raw := range object {
			var n struct {
				Name, Chain string
				Expr        json.RawMessage
			}
			if err := json.Unmarshal(raw, &n); err != nil {
				o.t.Fatal(err)
			}
			switch kind {
			case "chain":
				if l.chains[n.Name] == nil {
					l.chains[n.Name] = []string{}
				}
			case "rule":
				l.chains[n.Chain] = append(l.chains[n.Chain], string(n.Expr))
			case "set", "map":
				l.sets[n.Name] = raw
			case "ct helper":
				l.others++
			}
		}
	}
	return l
}

// learn records how nft lists new rules.
func (o *oracle) learn(want *nft.Ruleset) {
	o.t.Helper()
	known := true
	for _, c := range want.Chains {
		for _, r := range c.Rules {
			known = known && o.rules[r] != ""
		}
	}
	if known {
		return
	}
	o.twin.Do(func() {
		if err := o.run.Apply(context.Background(), nft.Load(rules.Tables(), want, nil)); err != nil {
			o.t.Fatal(err)
		}
	})
	there := o.list(o.twin)
	for id, c := range want.Chains {
		if len(there.chains[id.Name]) != len(c.Rules) {
			o.t.Fatalf("chain %s: %d rules for %d", id.Name, len(there.chains[id.Name]), len(c.Rules))
		}
		for i, r := range c.Rules {
			o.rules[r] = there.chains[id.Name][i]
		}
	}
}

// compare returns the differences from want.
func (o *oracle) compare(in *housetest.Namespace, want *nft.Ruleset) string {
	o.t.Helper()
	o.learn(want)
	there := o.list(in)
	if len(there.chains) != len(want.Chains) || len(there.sets) != len(want.Sets) || there.others != len(want.Helpers) {
		return fmt.Sprintf("%d chains, %d sets, %d helpers for %d, %d, %d", len(there.chains), len(there.sets), there.others,
			len(want.Chains), len(want.Sets), len(want.Helpers))
	}
	for id, c := range want.Chains {
		got := there.chains[id.Name]
		for i, r := range c.Rules {
			if i >= len(got) || got[i] != o.rules[r] {
				return fmt.Sprintf("chain %s, rule %d: %s is not there: %s", id.Name, i, r, got)
			}
		}
		if len(got) != len(c.Rules) {
			return fmt.Sprintf("chain %s: %d rules, want %d", id.Name, len(got), len(c.Rules))
		}
	}
	for id, s := range want.Sets {
		entries, err := nft.ParseElements([]byte(`{"nftables":[{"set":`+string(there.sets[id.Name])+`}]}`), s)
		if err != nil {
			return err.Error()
		}
		got, wanted := map[string]string{}, map[string]string{}
		for _, e := range entries {
			got[e.Key] = e.Value
		}
		for key, e := range s.Elements {
			wanted[key] = e.Value
		}
		if !s.Learned && !maps.Equal(got, wanted) {
			return fmt.Sprintf("set %s: %v, want %v", id.Name, got, wanted)
		}
	}
	return ""
}
