package firewall

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
)

var web = Listener{Network: "tcp", Addr: netip.MustParseAddrPort("192.0.2.1:80")}

// Each of ten chains jumps sixteen times to the next. Every chain is evaluated once.
func TestSharedChainsAreWalkedOnce(t *testing.T) {
	chains := map[string][]stepper{}
	visits := 0
	for level := range 10 {
		for range 16 {
			chains[fmt.Sprint(level)] = append(chains[fmt.Sprint(level)], func(Listener) []step {
				if visits++; visits > 10*16 {
					return []step{{fit: always, fate: drop}} // stops a runaway walk
				}
				return []step{{perhaps, jump, fmt.Sprint(level + 1)}}
			})
		}
	}
	chains["10"] = []stepper{}
	if !drops(chains, "0", true, web) || visits != 10*16 {
		t.Errorf("%d rules were read", visits)
	}
}

func FuzzChainsAreWalkedToAnEnd(f *testing.F) {
	f.Add("-P INPUT DROP\n-A INPUT ! -i lo -p tcp -m multiport --dports 80,1:2 -j a\n-A a -g a\n-A a -d 10.0.0.0/8 -m state --state NEW -j INPUT",
		`{"nftables":[{"chain":{"name":"in"}},{"rule":{"chain":"in","expr":[{"match":{"op":"==","left":{"payload":{"protocol":"tcp","field":"dport"}},"right":{"set":[80,{"range":[1,2]}]}}},{"jump":{"target":"in"}}]}},{"rule":{"chain":"in","expr":[{"vmap":{"key":{"ct":{"key":"state"}},"data":{"set":[["new",{"drop":null}]]}}}]}}]}`)
	f.Add("-A INPUT -j", `{"nftables":[{"rule":{"chain":"in","expr":[{"match":{"left":{"payload":{"field":"daddr"}},"right":{"prefix":{"addr":"::","len":-9}}}},{"vmap":[]}]}}]}`)
	f.Fuzz(func(_ *testing.T, saved, listed string) {
		chains, _ := savedChains(strings.Split(saved, "\n"))
		drops(chains, input, true, web)
		if l, err := parseListing([]byte(listed)); err == nil {
			drops(l.chains(), "in", true, web)
		}
	})
}

// On machines without /etc/protocols, listings contain numbers.
func TestProtocolsMatchByNameAndNumber(t *testing.T) {
	dns := Listener{Network: "udp", Addr: netip.MustParseAddrPort("192.0.2.1:53")}
	for text, want := range map[string]struct{ tcp, udp fit }{
		"tcp": {always, never}, "6": {always, never}, "udp": {never, always}, "17": {never, always},
		"all": {always, always}, "0": {always, always}, "icmp": {never, never}, "1": {never, never},
	} {
		if tcp, udp := web.protocol(text), dns.protocol(text); tcp != want.tcp || udp != want.udp {
			t.Errorf("%s fits tcp %v and udp %v, want %v and %v", text, tcp, udp, want.tcp, want.udp)
		}
	}
}
