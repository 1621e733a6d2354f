package iptables

import (
	"flag"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel/l4test"
	"github.com/sluicelb/sluice/l4/kernel/rules"
	"github.com/sluicelb/sluice/sysnet/iptables"
)

var update = flag.Bool("update", false, "write the golden files")

// ruleLines returns the result of a compilation, one rule per line, with its owner.
func ruleLines(in *rules.Input) string {
	scripts, problems := compile(in)
	var b strings.Builder
	for family, s := range scripts {
		all := slices.SortedFunc(slices.Values(s.Tables), func(a, b *iptables.Table) int { return strings.Compare(a.Name, b.Name) })
		for _, t := range all { // tables are filled in any order, some not at all
			if len(t.Chains) == 0 && len(t.Hooks) == 0 {
				continue
			}
			fmt.Fprintf(&b, "IPv%d %s\n", 4+2*family, t.Name)
			hooks := []string{}
			for _, h := range t.Hooks {
				hooks = append(hooks, h.From+" leads to "+h.To)
			}
			slices.Sort(hooks)
			for _, h := range hooks {
				fmt.Fprintf(&b, "    %s\n", h)
			}
			for _, c := range t.Chains {
				fmt.Fprintf(&b, "  %s of %d\n", c.Name, c.Owner)
				for _, r := range c.Rules {
					fmt.Fprintf(&b, "    %s\n", r)
				}
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(problems)) {
		fmt.Fprintf(&b, "farm %d: %s\n", id, problems[id])
	}
	return b.String()
}

// The chains of each configuration are in testdata; -update writes them.
func TestConfigurationsCompileToTheirChains(t *testing.T) {
	one := func(edit func(f *farm.Farm)) *rules.Input {
		return &rules.Input{Farms: []farm.Farm{l4test.Example(edit)}}
	}
	second := func(edit func(f *farm.Farm)) farm.Farm {
		f := l4test.Example(edit)
		f.ID, f.L4.ID, f.Name = 8, 13, "second"
		f.L4.Backends = slices.Clone(f.L4.Backends)
		for i := range f.L4.Backends {
			f.L4.Backends[i].ID += 100
		}
		return f
	}
	limit := func(n uint32) func(f *farm.Farm) { return func(f *farm.Farm) { f.L4.Logs, f.L4.LogLimit = true, n } }
	many := func(f *farm.Farm) {
		l := f.L4
		l.Algorithm, l.NAT, l.Backends = farm.L4RoundRobin, farm.NATTarget, nil
		for i := range byte(18) {
			addr := netip.AddrFrom4([4]byte{10, 0, 0, i + 1})
			l.Backends = append(l.Backends, farm.Backend{ID: uint32(i) + 1, Host: addr.String(), Addr: addr, Port: 8080})
		}
	}
	for name, in := range map[string]*rules.Input{
		"masquerade": one(func(f *farm.Farm) {
			f.L4.Ports = append(f.L4.Ports, farm.PortRange{First: 1000, Last: 2000})
			f.L4.Mark, f.L4.Backends[1].Mark, f.L4.Backends[0].Source, f.L4.Backends[1].Port = 5, 6, netip.MustParseAddr("10.0.0.9"), 0
		}),
		"dnat6": one(func(f *farm.Farm) {
			l4test.Six(f)
			f.L4.NAT, f.L4.Protocol, f.L4.Algorithm = farm.NATTarget, farm.L4UDP, farm.L4HashFlow
		}),
		"sources": {Farms: []farm.Farm{l4test.Example(func(f *farm.Farm) { f.L4.Source = netip.MustParseAddr("10.0.0.8") }),
			second(func(f *farm.Farm) { l4test.Six(f); f.L4.Source = netip.MustParseAddr("10.0.0.8") })}},
		"all":        one(func(f *farm.Farm) { f.L4.Protocol, f.L4.Ports = farm.L4All, nil }),
		"every port": one(func(f *farm.Farm) { f.L4.Ports = nil }),
		"everywhere": one(func(f *farm.Farm) { f.VIP = netip.IPv4Unspecified() }),
		"persistent": one(func(f *farm.Farm) {
			f.L4.Persist, f.L4.TTL = farm.L4PersistSrc, 90
			f.L4.Backends[1].Maintenance = farm.MaintenanceDrain
		}),
		"remembering": {Farms: []farm.Farm{l4test.Example(func(f *farm.Farm) {
			f.Stopped, f.L4.Persist = true, farm.L4PersistSrc
			f.L4.Backends[1].Maintenance = farm.MaintenanceCut
		}), second(func(f *farm.Farm) { f.Stopped = true })}},
		"userspace": one(func(f *farm.Farm) { f.L4.DataPath = farm.DataPathUserspace }),
		"flushed":   {Farms: []farm.Farm{l4test.Example(nil), second(nil)}, Flushed: map[uint32]bool{8: true}},
		"recorded": {Farms: []farm.Farm{second(func(f *farm.Farm) { l4test.Six(f); f.Stopped = true }), l4test.Example(func(f *farm.Farm) { l4test.Six(f); f.L4.MaxConnections = 1 })},
			Recorded: []farm.Farm{l4test.Example(func(f *farm.Farm) { f.ID = 9 }),
				l4test.Example(func(f *farm.Farm) { f.ID, f.L4.DataPath = 10, farm.DataPathUserspace })},
			Flushed: map[uint32]bool{7: true, 8: true, 9: true, 10: true}},
		"helpers":        {Farms: []farm.Farm{l4test.Example(func(f *farm.Farm) { f.L4.Protocol = farm.L4FTP }), second(func(f *farm.Farm) { f.L4.Protocol = farm.L4H323 })}},
		"logged":         one(limit(0)),
		"logged seldom":  one(limit(2)),
		"logged much":    one(limit(20_000)),
		"many":           one(many),
		"as many as fit": one(func(f *farm.Farm) { many(f); f.L4.Backends = f.L4.Backends[:16] }),
		"none chosen":    {Farms: []farm.Farm{l4test.Example(nil)}, Usable: func(uint32) bool { return false }},
		"half refused":   {Farms: []farm.Farm{l4test.Example(func(f *farm.Farm) { f.L4.MaxConnections = 1 }), second(nil)}},
	} {
		path := "testdata/" + strings.ReplaceAll(name, " ", "-") + ".golden"
		got := ruleLines(in)
		if *update {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil || string(want) != got {
			t.Errorf("%s: %v\ngot\n%s\nwant\n%s", name, err, got, want)
		}
	}
}

func TestSessionsAreUnsupported(t *testing.T) {
	p, f, ctx := New(nil, l4test.Quiet), l4test.Example(nil), t.Context()
	_, learned := p.Learned(ctx, &f)
	_, found, find := p.Find(ctx, &f, "10.0.0.1")
	forgot, forget := p.Forget(ctx, &f, "10.0.0.1")
	for what, err := range map[string]error{"list": learned, "find": find, "learn": p.Learn(ctx, &f), "forget": forget, "forget all": p.ForgetAll(ctx, &f)} {
		if err != errSessions {
			t.Errorf("%s: %v", what, err)
		}
	}
	if found || forgot {
		t.Errorf("found %v, forgot %v", found, forgot)
	}
	if w := p.Warnings(&f); w != nil {
		t.Errorf("a farm without persistence: %q", w)
	}
}
