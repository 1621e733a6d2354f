package rules_test

import (
	"maps"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel/l4test"
	"github.com/sluicelb/sluice/l4/kernel/rules"
)

// Base chains and conflicts follow the change of one farm, and so they do after it is undone.
func TestSharedRulesFollowEachFarm(t *testing.T) {
	on := func(port uint16, id uint32, edit func(f *farm.Farm)) farm.Farm {
		return l4test.Example(func(f *farm.Farm) {
			f.ID, f.Name, f.L4.Ports = id, "farm", []farm.PortRange{{First: port, Last: port}}
			for i := range f.L4.Backends {
				f.L4.Backends[i].ID = id*10 + uint32(i)
			}
			if edit != nil {
				edit(f)
			}
		})
	}
	two := func(edit func(f *farm.Farm)) *rules.Input {
		return &rules.Input{Wire: onWire(), Farms: []farm.Farm{on(80, 1, nil), on(81, 2, edit)}}
	}
	plain := two(nil)
	cases := map[string]*rules.Input{
		"the address of another farm": two(func(f *farm.Farm) { f.L4.Ports[0] = farm.PortRange{First: 80, Last: 80} }),
		"ports of another farm":       two(func(f *farm.Farm) { f.L4.Ports[0] = farm.PortRange{First: 79, Last: 81} }),
		"another protocol":            two(func(f *farm.Farm) { f.L4.Protocol = farm.L4UDP }),
		"marks":                       two(func(f *farm.Farm) { f.L4.Mark = 5 }),
		"sessions":                    two(func(f *farm.Farm) { f.L4.Persist, f.L4.TTL = farm.L4PersistSrc, 60 }),
		"limits":                      two(func(f *farm.Farm) { f.L4.Backends[0].ConnLimit = 5 }),
		"the other table":             two(func(f *farm.Farm) { f.L4.NAT = farm.NATDirect }),
		"both tables":                 two(func(f *farm.Farm) { f.L4.NAT = farm.NATStateless }),
		"the other family":            two(l4test.Six),
		"a stop":                      two(func(f *farm.Farm) { f.Stopped = true }),
		"a farm that cannot be":       two(func(f *farm.Farm) { f.L4.Algorithm = "nonsense" }),
		"no masquerading": {Wire: onWire(), Farms: []farm.Farm{
			on(80, 1, func(f *farm.Farm) { f.L4.NAT = farm.NATTarget }),
			on(81, 2, func(f *farm.Farm) { f.L4.NAT = farm.NATTarget })}},
		"no farm":                    {},
		"one farm":                   {Farms: plain.Farms[:1]},
		"another order":              {Farms: []farm.Farm{plain.Farms[1], plain.Farms[0]}, Wire: onWire()},
		"a weight":                   two(func(f *farm.Farm) { f.L4.Backends[0].Weight = 9 }),
		"transparent farms":          {Farms: plain.Farms, Wire: onWire(), Transparent: []farm.Farm{on(90, 9, nil)}},
		"connections in their grace": {Farms: []farm.Farm{l4test.Stopped(plain.Farms[0]), l4test.Stopped(plain.Farms[1])}, Hold: true},
		"no grace":                   {Farms: []farm.Farm{l4test.Stopped(plain.Farms[0]), l4test.Stopped(plain.Farms[1])}},
	}
	var k rules.Compiler
	compile := func(what string, in *rules.Input) {
		t.Helper()
		got, gotProblems := k.Compile(in)
		want, wantProblems := rules.Compile(in)
		if a, b := text(got.Whole()), text(want); a != b || !maps.Equal(gotProblems, wantProblems) {
			t.Errorf("%s: problems %v, and the rules\n%s\nwant %v\n%s", what, gotProblems, a, wantProblems, b)
		}
	}
	for name, in := range cases {
		for other, next := range cases {
			compile("plain", plain)
			compile(name, in)
			compile(name+", then "+other, next)
		}
	}
}
