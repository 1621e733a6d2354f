package rules

import (
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/farm/fieldtest"
	"github.com/sluicelb/sluice/sysnet/neigh"
)

// Base chains are kept only if nothing that they depend on differs. Most differences come
// together, so each is tried alone.
func TestFarmDifferencesUpdateTheBaseChains(t *testing.T) {
	made := func(edit func(c *compiled)) *compiled {
		l := farm.DefaultL4()
		l.NAT = farm.NATMasquerade
		c := &compiled{from: dependencies{farm: farm.Farm{ID: 1, L4: l}}, shape: "a;", entries: []entry{{set: "ports4", key: "k"}},
			used: features{any: true, families: map[*family]bool{v4: true}}, wire: wire{fronts: []string{"front"}}}
		edit(c)
		return c
	}
	before := made(func(*compiled) {})
	if same := made(func(c *compiled) { c.from.hops = []hop{{NextHop: neigh.NextHop{Interface: "x"}}} }); !same.contributes(before) {
		t.Error("a farm that contributes the same differs")
	}
	for what, edit := range map[string]func(c *compiled){
		"a problem":       func(c *compiled) { c.problem = "none" },
		"the farm":        func(c *compiled) { c.from.farm.ID = 2 },
		"shared sets":     func(c *compiled) { c.shape = "a;b;" },
		"the table":       func(c *compiled) { c.from.farm.L4.NAT = farm.NATDirect },
		"the keys":        func(c *compiled) { c.entries[0].key = "l" },
		"one more key":    func(c *compiled) { c.entries = append(c.entries, entry{set: "ports4", key: "l"}) },
		"marks":           func(c *compiled) { c.used.marks = true },
		"a session":       func(c *compiled) { c.used.refresh = true },
		"no rewriting":    func(c *compiled) { c.used.any = false },
		"another family":  func(c *compiled) { c.used.families[v6] = true },
		"a transport":     func(c *compiled) { c.used.transports = map[farm.L4Protocol]bool{farm.L4UDP: true} },
		"a retry":         func(c *compiled) { c.used.retry(v4, farm.L4TCP) },
		"an interface":    func(c *compiled) { c.wire.fronts = []string{"front", "side"} },
		"a backend's own": func(c *compiled) { c.wire.origin(v4, "10.0.0.1", 1) },
	} {
		if made(edit).contributes(before) {
			t.Errorf("%s: it contributes the same", what)
		}
	}
}

// make only creates the set of a key.
func TestEntryEqualCoversEveryField(t *testing.T) {
	(&fieldtest.Comparison[entry]{Equal: func(a, b *entry) bool { return a.equal(*b) }, Ignored: []string{"make"}}).Check(t)
}
