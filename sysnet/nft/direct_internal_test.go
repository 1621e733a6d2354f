package nft

import (
	"errors"
	"strings"
	"testing"
)

// directRules are rules that the encoder understands.
var directRules = []string{
	"tcp flags & syn == 0 goto refuse",
	"ct mark set numgen inc mod 2 map { 0 : 0x5c000001, 1 : 0x5c000002 }",
	"ct mark set jhash ip saddr . th sport mod 2 seed 0x5c map { 0 : 0x5c000001, 1 : 0x5c000002 }",
	"ct mark set symhash mod 2 map @slots",
	"ct mark { 0x5c000001, 0x5c000002 } goto known7",
	"ct mark != @full goto try7",
	"ct mark set ip saddr map @session7 update @session7 { ip saddr timeout 60s : ct mark }",
	"meta mark set jhash ip6 saddr . th sport mod 1543503872 seed 0x5c",
	"ct mark @opened meta mark vmap @open",
}

// The encoder leaves text that it does not understand to nft.
func TestPartialRulesAreNotEncoded(t *testing.T) {
	id := ID{Table{"inet", "sluice"}, "farm7"}
	for _, rule := range directRules {
		words := strings.Fields(rule)
		if err := new(encoder).addRule(id, rule); err != nil {
			t.Errorf("%s: %v", rule, err)
		}
		for i := range words {
			for _, odd := range []string{
				strings.Join(words[:i], " ") + " {",
				strings.Join(append(append([]string{}, words[:i]...), "nonsense"), " "),
				strings.Join(append(append(append([]string{}, words[:i]...), "nonsense"), words[i+1:]...), " "),
				strings.Join(append(append([]string{}, words[:i]...), words[i+1:]...), " "),
			} {
				e := new(encoder)
				if err := e.addRule(id, odd); err != nil && !errors.Is(err, errIndirect) {
					t.Errorf("%s: %v", odd, err)
				} else if err == nil && (strings.Contains(odd, "{") != strings.Contains(odd, "}") || strings.HasSuffix(odd, " nonsense") && words[max(i, 1)-1] != "goto") {
					t.Errorf("%s: accepted", odd)
				}
			}
		}
	}
}

func TestUnknownValuesAreLeftToNFT(t *testing.T) {
	id, mark := ID{Table{"inet", "sluice"}, "s"}, &Set{Type: "mark"}
	ports := &Set{Type: "ipv4_addr . inet_service", Options: "flags interval; "}
	for _, c := range []struct {
		s   *Set
		key string
		e   Element
	}{
		{mark, "nonsense", Element{}}, {mark, "0x100000000", Element{}}, {mark, "1 . 2", Element{}}, {mark, "1", Element{State: "counter"}},
		{mark, "1", Element{State: "counter packets 1 bytes 2"}}, {mark, "1", Element{State: "timeout 60s expires 5s"}}, {mark, "1", Element{State: "timeout x"}},
		{mark, "1", Element{State: "ct count over x"}},
		{&Set{Type: "inet_service"}, "80-90", Element{}}, {ports, "fd00::1 . 80-90", Element{}}, {ports, "10.0.0.1 . http-90", Element{}},
		{&Set{Type: "inet_service", Options: "flags interval; "}, "80-90", Element{}},
		{&Set{Type: "mark", Data: "verdict"}, "1", Element{Value: "jump farm7"}}, {&Set{Type: "mark", Data: "inet_service"}, "1", Element{Value: "1-2"}},
		{&Set{Type: "ifname"}, "eth0", Element{}},
	} {
		if err := new(encoder).addElements(id, c.s, map[string]Element{c.key: c.e}); !errors.Is(err, errIndirect) {
			t.Errorf("%s of %v %v: %v", c.key, c.s, c.e, err)
		}
	}
	many := map[string]Element{}
	for i := range 20_000 {
		many[Mark(uint32(i))] = Element{}
	}
	b := &Batch{}
	if b.elements("add", id, mark, many); b.Direct() {
		t.Error("a large batch is sent as one message")
	}
}
