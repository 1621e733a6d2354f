package firewall

import (
	"slices"
	"strings"
	"testing"
)

var (
	nat       = Packets{Protocol: "tcp"}
	nat6      = Packets{V6: true, Protocol: "tcp"}
	natUDP    = Packets{Protocol: "udp"}
	stateless = Packets{Marked: true, Protocol: "tcp"}
)

const (
	ctMark    = `{"match":{"op":"==","left":{"ct":{"key":"mark"}},"right":{"prefix":{"addr":1543503872,"len":8}}}}`
	metaMark  = `{"match":{"op":"==","left":{"&":[{"meta":{"key":"mark"}},4278190080]},"right":1543503872}}`
	accepts   = `,{"accept":null}`
	adviceCt  = `"ct mark and 0xff000000 == 0x5c000000 accept"`
	adviceMta = `"meta mark and 0xff000000 == 0x5c000000 accept"`
)

// listingOf returns a listing of chain c with rules and chain other.
func listingOf(t *testing.T, rules, other string) *listing {
	t.Helper()
	var all strings.Builder
	for name, text := range map[string]string{"c": rules, "other": other} {
		for expr := range strings.SplitSeq(text, ";") {
			if expr != "" {
				all.WriteString(`,{"rule":{"chain":"` + name + `","expr":[` + expr + `]}}`)
			}
		}
	}
	l, err := parseListing([]byte(`{"nftables":[{"metainfo":{}},{"chain":{"name":"c"}},{"chain":{"name":"other"}}` + all.String() + `]}`))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// Each kind of packet is evaluated separately: a rule for one kind does not accept
// another. The advice names the missing rules of both kinds.
func TestEachKindOfPacketNeedsItsRule(t *testing.T) {
	both := adviceCt + " and " + adviceMta
	for _, c := range []struct {
		name, policy, rules string
		need, dropped       []Packets
		advice              string
	}{
		{"nothing is accepted", "drop", "", []Packets{nat}, []Packets{nat}, both},
		{"of none", "drop", "", nil, nil, ""},
		{"nothing is dropped", "accept", "", []Packets{nat, stateless}, nil, ""},
		{"connections alone, nat", "drop", ctMark + accepts, []Packets{nat}, nil, ""},
		{"connections alone, stateless", "drop", ctMark + accepts, []Packets{stateless}, []Packets{stateless}, adviceMta},
		{"connections alone, both", "drop", ctMark + accepts, []Packets{nat, stateless}, []Packets{stateless}, adviceMta},
		{"packets alone, both", "drop", metaMark + accepts, []Packets{nat, stateless}, []Packets{nat}, adviceCt},
		{"packets alone, stateless", "drop", metaMark + accepts, []Packets{stateless}, nil, ""},
		{"both", "drop", ctMark + accepts + ";" + metaMark + accepts, []Packets{nat, nat6, natUDP, stateless}, nil, ""},
		{"the other way round", "drop", metaMark + accepts + ";" + ctMark + accepts, []Packets{nat, stateless}, nil, ""},
		{"one of them too late", "drop", ctMark + accepts + `;{"drop":null};` + metaMark + accepts, []Packets{nat, stateless}, []Packets{stateless}, adviceMta},
		{"one of two families", "drop", `{"match":{"op":"==","left":{"meta":{"key":"nfproto"}},"right":"ipv4"}},` + ctMark + accepts, []Packets{nat, nat6}, []Packets{nat6}, both},
		{"one of two protocols", "drop", `{"match":{"op":"==","left":{"meta":{"key":"l4proto"}},"right":"tcp"}},` + ctMark + accepts, []Packets{nat, natUDP}, []Packets{natUDP}, both},
		{"what was forwarded by destination", "drop", `{"match":{"op":"in","left":{"ct":{"key":"status"}},"right":"dnat"}}` + accepts, []Packets{nat, stateless}, []Packets{stateless}, adviceMta},
		{"untracked packets", "drop", `{"match":{"op":"in","left":{"ct":{"key":"state"}},"right":"untracked"}}` + accepts, []Packets{nat, stateless}, []Packets{nat}, adviceCt},
		{"old connections", "drop", `{"match":{"op":"in","left":{"ct":{"key":"state"}},"right":["established","related"]}}` + accepts, []Packets{nat}, []Packets{nat}, both},
		{"old and new connections", "drop", `{"match":{"op":"==","left":{"ct":{"key":"state"}},"right":{"set":["established","new"]}}}` + accepts, []Packets{nat}, nil, ""},
		{"a last word", "accept", `{"counter":null},{"reject":null}`, []Packets{nat}, []Packets{nat}, both},
		{"other packets are dropped", "accept", `{"match":{"op":"==","left":{"meta":{"key":"iifname"}},"right":"eth7"}},{"drop":null}`, []Packets{nat}, nil, ""},
		{"another mark", "drop", `{"match":{"op":"==","left":{"ct":{"key":"mark"}},"right":5}}` + accepts, []Packets{nat}, []Packets{nat}, both},
		{"some of the marks", "drop", `{"match":{"op":"==","left":{"ct":{"key":"mark"}},"right":1543503873}}` + accepts, []Packets{nat}, []Packets{nat}, both},
		{"more marks", "drop", `{"match":{"op":"==","left":{"ct":{"key":"mark"}},"right":{"range":[1543503872,1560281087]}}}` + accepts, []Packets{nat}, nil, ""},
		{"fewer marks", "drop", `{"match":{"op":"==","left":{"ct":{"key":"mark"}},"right":{"range":[1543503872,1560281086]}}}` + accepts, []Packets{nat}, []Packets{nat}, both},
		{"any mark", "drop", `{"match":{"op":"!=","left":{"ct":{"key":"mark"}},"right":0}}` + accepts, []Packets{nat, stateless}, []Packets{stateless}, adviceMta},
		{"all other marks", "accept", `{"match":{"op":"!=","left":{"ct":{"key":"mark"}},"right":{"prefix":{"addr":1543503872,"len":8}}}},{"drop":null}`, []Packets{nat}, nil, ""},
		{"of its owner for some", "drop", ctMark + `,{"match":{"op":"==","left":{"meta":{"key":"iifname"}},"right":"eth7"}}` + accepts, []Packets{nat}, nil, ""},
		{"dropped by its owner", "drop", ctMark + `,{"drop":null}`, []Packets{nat}, []Packets{nat}, both},
		{"in another chain", "drop", `{"jump":{"target":"other"}}`, []Packets{nat, stateless}, []Packets{stateless}, adviceMta},
		{"in one for some", "drop", `{"match":{"op":"==","left":{"meta":{"key":"iifname"}},"right":"eth7"}},{"jump":{"target":"other"}}`, []Packets{nat}, nil, ""},
		{"by a map of marks", "drop", `{"vmap":{"key":{"&":[{"ct":{"key":"mark"}},4278190080]},"data":{"set":[[1543503872,{"accept":null}]]}}}`, []Packets{nat, stateless}, []Packets{stateless}, adviceMta},
		{"of a module nobody knows", "drop", `{"xt":null}` + accepts, []Packets{nat}, []Packets{nat}, both},
		{"logged", "drop", `{"log":null},` + ctMark + accepts, []Packets{nat}, nil, ""},
	} {
		l := listingOf(t, c.rules, ctMark+accepts)
		w, dropped := l.warning(base{"inet", "f", "c", c.policy}, Need{Mark: 0x5c000000, Mask: 0xff000000, Packets: c.need})
		if dropped != (c.dropped != nil) || !slices.Equal(w.Packets, c.dropped) {
			t.Errorf("%s: dropped %v, %+v; want %+v", c.name, dropped, w.Packets, c.dropped)
		}
		noun := "rule "
		if c.advice == both {
			noun = "rules "
		}
		if want := "chain c of table inet f drops packets of farms; no other table can let them through there: its owner may add the " + noun + c.advice; dropped && w.Text != want {
			t.Errorf("%s\ngot  %s\nwant %s", c.name, w.Text, want)
		}
	}
}

// Chains of other families never see the packets.
func TestChainsSeePacketsOfTheirFamily(t *testing.T) {
	l := listingOf(t, "", "")
	for family, want := range map[string][]Packets{"ip": {nat}, "ip6": {nat6}, "inet": {nat, nat6}, "bridge": nil} {
		w, _ := l.warning(base{family, "f", "c", "drop"}, Need{Mark: 0x5c000000, Mask: 0xff000000, Packets: []Packets{nat, nat6}})
		if !slices.Equal(w.Packets, want) {
			t.Errorf("%s: %+v, want %+v", family, w.Packets, want)
		}
	}
}
