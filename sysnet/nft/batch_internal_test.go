package nft

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// changing returns a ruleset before and after an edit of every kind.
func changing() (have, want *Ruleset) {
	inet, netdev := Table{"inet", "sluice"}, Table{"netdev", "sluice"}
	id := func(name string) ID { return ID{inet, name} }
	learned := &Set{Type: "ipv4_addr", Data: "mark", Learned: true, Options: "flags timeout; ", Elements: map[string]Element{"10.0.0.9": {Value: "1"}}, Owner: 1}
	kept := &Chain{Rules: []string{"accept"}, Owner: 1}
	have = &Ruleset{
		Sets: map[ID]*Set{
			id("learned"): learned,
			id("ports"):   {Type: "inet_service", Data: "verdict", Elements: map[string]Element{"80": {Value: "goto farm1", Owner: 1}, "81": {Value: "goto farm2", Owner: 2}, "82": {Value: "goto farm2", Owner: 2}}},
			id("old"):     {Type: "mark", Owner: 2, Elements: map[string]Element{"1": {}}},
			{netdev, "x"}: {Type: "mark"},
		},
		Chains:  map[ID]*Chain{id("farm1"): kept, id("farm2"): {Rules: []string{"drop"}, Owner: 2}, id("farm4"): {Rules: []string{"drop"}, Owner: 4}},
		Helpers: map[ID]*Helper{id("ftp2"): {Text: `type "ftp" protocol tcp;`, Owner: 2}, id("sip1"): {Text: `type "sip" protocol udp;`, Owner: 1}},
	}
	want = &Ruleset{
		Sets: map[ID]*Set{
			id("learned"):              {Type: "ipv4_addr", Data: "mark", Learned: true, Options: "flags timeout; ", Elements: map[string]Element{}, Owner: 1},
			id("ports"):                {Type: "inet_service", Data: "verdict", Elements: map[string]Element{"80": {Value: "goto farm1", Owner: 1}, "82": {Value: "goto farm3", Owner: 3}, "83": {State: "counter", Value: "goto farm3", Owner: 3}}},
			id("new"):                  {Type: "mark", Options: "size 5; ", Owner: 3, Elements: map[string]Element{"7": {State: "counter packets 0 bytes 0"}, "8": {}}},
			{Table{"ip", "more"}, "y"}: {Type: "mark", Learned: true, Owner: 5},
		},
		Chains: map[ID]*Chain{id("farm1"): kept, id("farm3"): {Hook: "type nat hook input priority 0;", Rules: []string{"ct mark 1", "accept"}, Owner: 3},
			id("farm4"): {Rules: []string{"accept"}, Owner: 4}},
		Helpers: map[ID]*Helper{id("sip1"): {Text: `type "sip" protocol udp;`, Owner: 1}, id("tftp3"): {Text: `type "tftp" protocol udp;`, Owner: 3}},
	}
	return have, want
}

func TestDiffTurnsOneRulesetIntoAnother(t *testing.T) {
	have, want := changing()
	const lines = `0 add table ip more
3 add ct helper inet sluice tftp3 { type "tftp" protocol udp; }
3 add set inet sluice new { type mark; size 5; }
5 add set ip more y { type mark; }
2 flush chain inet sluice farm2
4 flush chain inet sluice farm4
3 add chain inet sluice farm3 { type nat hook input priority 0; }
0 delete element inet sluice ports {
2   81,
2   82,
0 }
0 add element inet sluice new {
0   7 counter packets 0 bytes 0,
0   8,
0 }
0 add element inet sluice ports {
3   82 : goto farm3,
3   83 counter : goto farm3,
0 }
3 add rule inet sluice farm3 ct mark 1
3 add rule inet sluice farm3 accept
4 add rule inet sluice farm4 accept
2 delete set inet sluice old
0 delete set netdev sluice x
2 delete chain inet sluice farm2
2 delete ct helper inet sluice ftp2
0 delete table netdev sluice
`
	owned := func(b *Batch) string {
		var out strings.Builder
		for i, line := range b.lines {
			fmt.Fprintf(&out, "%d %s\n", b.Owner(i+1), line)
		}
		return out.String()
	}
	b, ok := Diff(have, want)
	if got := owned(b); !ok || got != lines {
		t.Errorf("%v\ngot\n%s\nwant\n%s", ok, got, lines)
	}
	if b.Text() == "" || (&Batch{}).Text() != "" || b.Empty() || b.Owner(0) != 0 || b.Owner(len(b.lines)+1) != 0 {
		t.Error("an empty batch has lines, or unknown lines have owners")
	}
	if b, ok := Diff(want, want); !ok || !b.Empty() {
		t.Errorf("an equal ruleset yields %s", b.Text())
	}
	// Elements of learned sets and counters of the others are carried over.
	id := func(name string) ID { return ID{Table{"inet", "sluice"}, name} }
	want.Chains, want.Helpers = nil, nil
	delete(want.Sets, ID{Table{"ip", "more"}, "y"})
	loaded := owned(Load([]Table{{"inet", "sluice"}, {"ip", "gone"}}, want, Carried{
		id("learned"): {"10.0.0.1": {State: "timeout 9s", Value: "2"}},
		id("new"):     {"7": {State: "counter packets 3 bytes 4"}, "9": {State: "counter packets 1 bytes 1"}},
	}))
	const load = `0 add table inet sluice
0 delete table inet sluice
0 add table ip gone
0 delete table ip gone
0 add table inet sluice
0 add map inet sluice ports { type inet_service : verdict; }
1 add map inet sluice learned { type ipv4_addr : mark; flags timeout; }
3 add set inet sluice new { type mark; size 5; }
0 add element inet sluice learned {
1   10.0.0.1 timeout 9s : 2,
0 }
0 add element inet sluice new {
0   7 counter packets 3 bytes 4,
0   8,
0 }
0 add element inet sluice ports {
1   80 : goto farm1,
3   82 : goto farm3,
3   83 counter : goto farm3,
0 }
`
	if loaded != load {
		t.Errorf("got\n%s\nwant\n%s", loaded, load)
	}
	if got := want.OwnedElements(3); got != "set inet sluice new { type mark; size 5; }\nmap inet sluice ports { type inet_service : verdict; }\n  82 : goto farm3\n  83 counter : goto farm3\n" {
		t.Errorf("of owner 3:\n%s", got)
	}
	if got := have.OwnedChains(2); !slices.Equal(got, []ID{id("farm2")}) {
		t.Errorf("chains of owner 2: %v", got)
	}
}

func TestChangedDefinitionNeedsARebuild(t *testing.T) {
	for name, change := range map[string]func(*Ruleset){
		"type":    func(r *Ruleset) { r.Sets[ID{Table{"inet", "sluice"}, "ports"}].Type = "mark" },
		"data":    func(r *Ruleset) { r.Sets[ID{Table{"inet", "sluice"}, "ports"}].Data = "mark" },
		"options": func(r *Ruleset) { r.Sets[ID{Table{"inet", "sluice"}, "ports"}].Options = "size 1; " },
		"learned": func(r *Ruleset) { r.Sets[ID{Table{"inet", "sluice"}, "ports"}].Learned = true },
		"hook":    func(r *Ruleset) { r.Chains[ID{Table{"inet", "sluice"}, "farm4"}].Hook = "type nat hook input;" },
		"helper":  func(r *Ruleset) { r.Helpers[ID{Table{"inet", "sluice"}, "sip1"}].Text = `type "sip" protocol tcp;` },
	} {
		have, want := changing()
		change(want)
		if b, ok := Diff(have, want); ok || b != nil {
			t.Errorf("another %s: %v", name, b)
		}
	}
}
