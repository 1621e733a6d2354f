package nft

import "testing"

// Sets of all owners come first, and rules with anonymous sets before elements and other rules.
func TestLargeTransactionsAreOrdered(t *testing.T) {
	table := Table{"netdev", "sluice"}
	id := func(name string) ID { return ID{table, name} }
	farmRules := []string{"meta mark set numgen inc mod 2 map { 0 : 1, 1 : 2 }", "update @a7 { ip saddr timeout 9s : meta mark }", "goto refuse"}
	have := &Ruleset{Chains: map[ID]*Chain{
		id("farm9"): {Rules: []string{"accept"}, Owner: 9},
		id("lists"): {Rules: []string{"accept"}, Owner: 9},
	}}
	want := &Ruleset{
		Sets: map[ID]*Set{
			id("a7"):     {Type: "ipv4_addr", Data: "mark", Learned: true, Options: "flags timeout; ", Owner: 7},
			id("open7"):  {Type: "mark", Data: "verdict", Owner: 7, Elements: map[string]Element{"1": {Value: "goto backend1", Owner: 7}}},
			id("shared"): {Type: "mark"},
		},
		Chains: map[ID]*Chain{
			id("backend1"): {Rules: []string{"meta mark @shared", `log prefix "{"`, "update @a7 { ip saddr : meta mark }"}, Owner: 7},
			id("farm7"):    {Rules: farmRules, Owner: 7},
			id("farm9"):    {Rules: []string{"drop"}, Owner: 9},
			id("lists"):    {Rules: []string{"meta l4proto != { tcp, udp } goto plain7", "vmap { 1 : jump farm9, 2 : goto absent }"}, Owner: 9},
			id("plain7"):   {Rules: []string{"accept"}, Owner: 7},
			id("refuse"):   {Rules: []string{"drop"}},
		},
	}
	const order = `add set netdev sluice shared { type mark; }
add map netdev sluice a7 { type ipv4_addr : mark; flags timeout; }
add map netdev sluice open7 { type mark : verdict; }
add chain netdev sluice farm7
add chain netdev sluice plain7
add chain netdev sluice refuse
flush chain netdev sluice farm9
flush chain netdev sluice lists
add rule netdev sluice farm7 meta mark set numgen inc mod 2 map { 0 : 1, 1 : 2 }
add rule netdev sluice farm7 update @a7 { ip saddr timeout 9s : meta mark }
add rule netdev sluice farm7 goto refuse
add rule netdev sluice lists meta l4proto != { tcp, udp } goto plain7
add rule netdev sluice lists vmap { 1 : jump farm9, 2 : goto absent }
add chain netdev sluice backend1
add element netdev sluice open7 {
  1 : goto backend1,
}
add rule netdev sluice backend1 meta mark @shared
add rule netdev sluice backend1 log prefix "{"
add rule netdev sluice backend1 update @a7 { ip saddr : meta mark }
add rule netdev sluice farm9 drop
add rule netdev sluice plain7 accept
add rule netdev sluice refuse drop
`
	b, ok := Diff(have, want)
	if got := b.Text(); !ok || got != order {
		t.Errorf("%v\ngot\n%s\nwant\n%s", ok, got, order)
	}
}
