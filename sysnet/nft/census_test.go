package nft_test

import (
	"maps"
	"os/exec"
	"testing"

	"github.com/sluicelb/sluice/sysnet/nft"
	"github.com/sluicelb/sluice/sysnet/sysnettest"
)

func TestTableContentsAreCounted(t *testing.T) {
	if !sysnettest.Inside(t) {
		return
	}
	run := runner(t)
	table := nft.Table{Family: "inet", Name: "sluice"}
	id := func(name string) nft.ID { return nft.ID{Table: table, Name: name} }
	if rules, err := nft.CountRules(table); err != nil || len(rules) != 0 {
		t.Errorf("without a table: %v, %v", rules, err)
	}
	if n, err := nft.CountElements(id("flat")); err != nil || n != -1 {
		t.Errorf("without a set: %d, %v", n, err)
	}
	many := map[string]nft.Element{}
	for i := range 5000 {
		many[nft.Mark(uint32(i))] = nft.Element{}
	}
	want := &nft.Ruleset{
		Sets: map[nft.ID]*nft.Set{
			id("flat"):   {Type: "mark", Elements: many},
			id("ranges"): {Type: "ipv4_addr . inet_service", Options: "flags interval; ", Elements: map[string]nft.Element{"10.0.0.1 . 1-9": {}, "10.0.0.1 . 20-29": {}}},
			id("ports"):  {Type: "inet_service", Options: "flags interval; ", Elements: map[string]nft.Element{"1-9": {}, "11": {}, "20-65535": {}}},
			id("none"):   {Type: "mark"},
		},
		Chains: map[nft.ID]*nft.Chain{id("a"): {Rules: []string{"accept", "tcp dport { 1, 2 } drop"}}, id("b"): {}},
	}
	before, err := nft.Generation()
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Apply(t.Context(), nft.Load(nil, want, nil)); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("nft", "add table inet foreign; add chain inet foreign a; add rule inet foreign a accept").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if after, err := nft.Generation(); err != nil || after-before != 2 || run.Applied() != 1 {
		t.Errorf("%d changes, %d of ours, %v", after-before, run.Applied(), err)
	}
	rules, err := nft.CountRules(table)
	if err != nil || !maps.Equal(rules, map[string]int{"a": 2, "b": 0}) {
		t.Errorf("rules: %v, %v", rules, err)
	}
	for name, want := range map[string]int{"flat": 5000, "ranges": 2, "ports": 3, "none": 0} {
		if n, err := nft.CountElements(id(name)); err != nil || n != want {
			t.Errorf("%s has %d elements, %v; want %d", name, n, err, want)
		}
	}
}
