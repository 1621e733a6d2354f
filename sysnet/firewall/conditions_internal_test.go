package firewall

import (
	"encoding/json"
	"errors"
	"net/netip"
	"testing"
)

func at(addr string) Listener { return Listener{Network: "tcp", Addr: netip.MustParseAddrPort(addr)} }

func TestConditionsEvaluateToThreeValues(t *testing.T) {
	one, all, six, all6, here := at("192.0.2.1:80"), at("0.0.0.0:80"), at("[2001:db8::1]:80"), at("[::]:80"), at("127.0.0.1:80")
	nat, raw := one, at("192.0.2.1:0")
	nat.path, raw.path = rewritten, untracked
	for _, c := range []struct {
		what string
		got  fit
		want fit
	}{
		{"its address", one.inside("192.0.2.1"), always}, {"another", one.inside("192.0.2.2"), never}, {"of all one", all.inside("192.0.2.1"), perhaps},
		{"of the other family", one.inside("2001:db8::1"), never}, {"of all of the other", all.inside("2001:db8::1"), never},
		{"its network", one.inside("192.0.2.0/24"), always}, {"another network", one.inside("192.0.3.0/24"), never}, {"of all a network", all.inside("192.0.2.0/24"), perhaps},
		{"of all6 a network of IPv4", all6.inside("192.0.2.0/24"), never}, {"of all6 a network", all6.inside("2001:db8::/32"), perhaps},
		{"any of IPv4", one.inside("0.0.0.0/0"), always}, {"any of IPv4 for all", all.inside("0.0.0.0/0"), always}, {"any of IPv4 for IPv6", six.inside("0.0.0.0/0"), never},
		{"any of IPv6", six.inside("::/0"), always}, {"any of IPv6 for IPv4", one.inside("::/0"), never}, {"no address", one.inside("somewhere"), perhaps},
		{"first of a range", one.within(one.Addr.Addr(), netip.MustParseAddr("192.0.2.9")), always}, {"last of one", one.within(netip.MustParseAddr("192.0.2.0"), one.Addr.Addr()), always},
		{"before one", one.within(netip.MustParseAddr("192.0.2.2"), netip.MustParseAddr("192.0.2.9")), never}, {"after one", one.within(netip.MustParseAddr("192.0.1.0"), netip.MustParseAddr("192.0.2.0")), never},
		{"by lo", one.comesBy("lo"), never}, {"by eth0", one.comesBy("eth0"), perhaps}, {"by any", one.comesBy("eth+"), perhaps}, {"by all", here.comesBy("*"), perhaps},
		{"loopback by lo", here.comesBy("lo"), always}, {"loopback by eth0", here.comesBy("eth0"), never},
		{"a new client", one.newClient("NEW"), always}, {"an old one", one.newClient("established"), never}, {"one that is related", one.newClient("RELATED"), never},
		{"an invalid one", one.newClient("invalid"), never}, {"one nobody tracks", one.newClient("untracked"), perhaps},
		{"to here", one.destination("LOCAL"), always}, {"to elsewhere", one.destination("unicast"), never}, {"to many", one.destination("MULTICAST"), never}, {"nowhere known", one.destination("nat"), perhaps},
		{"of nat, a new client", nat.newClient("NEW"), always}, {"of nat, one nobody tracks", nat.newClient("UNTRACKED"), never}, {"of nat, rewritten", nat.newClient("DNAT"), always},
		{"of stateless_dnat, a new client", raw.newClient("NEW"), never}, {"of stateless_dnat, untracked", raw.newClient("UNTRACKED"), always}, {"of stateless_dnat, rewritten", raw.newClient("DNAT"), never},
		{"a listener, rewritten", one.newClient("DNAT"), never}, {"of nat, to here", nat.destination("LOCAL"), never}, {"of nat, to elsewhere", nat.destination("unicast"), always},
		{"the port of the client", raw.port(0, 80), perhaps}, {"SCTP by number", Listener{Network: "sctp"}.protocol("132"), always},
		{"its port", one.savedPort("80"), always}, {"the one before", one.savedPort("79"), never}, {"the one after", one.savedPort("81"), never},
		{"up to it", one.savedPort("1:80"), always}, {"from it on", one.savedPort("80:99"), always}, {"up to before", one.savedPort("1:79"), never}, {"from after", one.savedPort("81:99"), never},
		{"a named port", one.savedPort("http"), perhaps}, {"to a named one", one.savedPort("1:http"), perhaps}, {"no port", one.savedPort("65536"), perhaps},
		{"the last port", at("192.0.2.1:65535").savedPort("65535"), always},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v, want %v", c.what, c.got, c.want)
		}
	}
}

// A condition that is not understood evaluates to perhaps.
func TestUnknownExpressionsEvaluateToPerhaps(t *testing.T) {
	daddr, dport := `{"payload":{"protocol":"ip","field":"daddr"}}`, `{"payload":{"protocol":"tcp","field":"dport"}}`
	for _, c := range []struct {
		op, left, right string
		want            fit
	}{
		{"==", dport, `80`, always}, {"==", dport, `{"range":[80,90]}`, always}, {"==", dport, `{"range":[1,79]}`, never}, {"==", dport, `{"range":[80]}`, perhaps},
		{"==", dport, `"http"`, perhaps}, {"==", dport, `-1`, perhaps}, {"==", dport, `{"range":[1,"http"]}`, perhaps}, {"==", dport, `{"range":[-1,90]}`, perhaps}, {"==", dport, `{"range":[1,-90]}`, perhaps},
		{"==", dport, `{"range":[0,90]}`, always}, {"==", dport, `{"range":[0,0]}`, never}, {"==", dport, `{"range":["http",90]}`, perhaps},
		{"==", dport, `{"elem":{"val":80}}`, always}, {"==", dport, `{"elem":{"val":81}}`, never}, {"==", dport, `{"set":[81,{"elem":{"val":80}}]}`, always}, {"==", dport, `[]`, perhaps},
		{"!=", dport, `80`, never}, {"!=", dport, `81`, always}, {"!=", dport, `"http"`, perhaps}, {"in", dport, `80`, always}, {"<", dport, `80`, perhaps},
		{"==", daddr, `"192.0.2.1"`, always}, {"==", daddr, `{"range":["192.0.2.0","192.0.2.9"]}`, always}, {"==", daddr, `{"range":["192.0.2.2","192.0.2.9"]}`, never},
		{"==", daddr, `{"range":["here","192.0.2.9"]}`, perhaps}, {"==", daddr, `{"range":["192.0.2.0","there"]}`, perhaps}, {"==", daddr, `{"range":[1,2]}`, perhaps},
		{"==", daddr, `{"prefix":{"addr":"192.0.2.0","len":24}}`, always}, {"==", daddr, `{"prefix":{"addr":"192.0.3.0","len":24}}`, never}, {"==", daddr, `{"prefix":{"addr":"here","len":24}}`, perhaps},
		{"==", daddr, `"@some"`, perhaps}, {"==", daddr, `7`, perhaps},
		{"==", `{"payload":{"protocol":"ip6","field":"daddr"}}`, `"2001:db8::1"`, never}, {"!=", `{"payload":{"protocol":"udp","field":"dport"}}`, `80`, never},
		{"!=", `{"payload":{"protocol":"icmp","field":"type"}}`, `"echo-request"`, never}, {"==", `{"payload":{"protocol":"ether","field":"saddr"}}`, `"02:00:00:00:00:01"`, perhaps},
		{"==", `{"meta":{"key":"nfproto"}}`, `"ipv4"`, always}, {"==", `{"meta":{"key":"protocol"}}`, `"ip"`, always}, {"==", `{"meta":{"key":"protocol"}}`, `"ip6"`, never}, {"==", `{"meta":{"key":"nfproto"}}`, `"ipv6"`, never},
		{"==", `{"meta":{"key":"protocol"}}`, `"arp"`, perhaps}, {"==", `{"meta":{"key":"mark"}}`, `7`, perhaps}, {"==", `{"meta":{"key":"skuid"}}`, `"root"`, perhaps},
		{"==", `{"meta":{"key":"pkttype"}}`, `"host"`, always}, {"==", `{"meta":{"key":"pkttype"}}`, `"unicast"`, always}, {"==", `{"meta":{"key":"pkttype"}}`, `"broadcast"`, never},
		{"==", `{"meta":{"key":"iif"}}`, `"lo"`, never}, {"==", `{"meta":{"key":"iifname"}}`, `"lo"`, never}, {"==", `{"meta":{"key":"l4proto"}}`, `"tcp"`, always},
		{"==", `{"payload":{"protocol":"ip","field":"protocol"}}`, `"udp"`, never}, {"==", `{"payload":{"protocol":"ip6","field":"nexthdr"}}`, `"tcp"`, never},
		{"in", `{"ct":{"key":"state"}}`, `["established","new"]`, always}, {"in", `{"ct":{"key":"status"}}`, `"dnat"`, never}, {"in", `{"ct":{"key":"status"}}`, `"snat"`, perhaps}, {"==", `{"ct":{"key":"mark"}}`, `"dnat"`, perhaps},
		{"==", `{"fib":{"result":"type","flags":["daddr"]}}`, `"local"`, always}, {"==", `{"fib":{"result":"type","flags":["saddr"]}}`, `"local"`, perhaps},
		{"==", `{"fib":{"result":"type","flags":["daddr","iif"]}}`, `"local"`, perhaps}, {"==", `{"fib":{"result":"oif","flags":["daddr"]}}`, `"local"`, perhaps},
		{"==", `7`, `7`, perhaps},
	} {
		var left, right any
		if err := errors.Join(json.Unmarshal([]byte(c.left), &left), json.Unmarshal([]byte(c.right), &right)); err != nil {
			t.Fatal(err)
		}
		if got := web.match(c.op, left, right); got != c.want {
			t.Errorf("%s %s %s: %v, want %v", c.left, c.op, c.right, got, c.want)
		}
	}
}

// nft rules with unknown verdicts may accept packets.
func TestUnknownVerdictsMayAccept(t *testing.T) {
	for rule, drop := range map[string]bool{
		`{"drop":null}`: true, `{"counter":null},{"log":{}},{"mangle":{}},{"notrack":null},{"reject":null}`: true, `{"accept":null}`: false, `{"queue":{}}`: false,
		`{"limit":{}},{"accept":null}`: false, `{"limit":{}},{"drop":null}`: true, `{"jump":{"target":"nowhere"}}`: false, `{"jump":{"target":"drops"}}`: true, `{"goto":{"target":"drops"}}`: true,
		`{"goto":{"target":"returns"}},{"accept":null}`: true, `{"jump":{"target":"returns"}}`: true, `{"jump":7}`: false, `{"return":null}`: true, `{"xt":null}`: false,
		`{"vmap":{"key":{"ct":{"key":"state"}},"data":"@named"}}`:                                                                       false,
		`{"vmap":{"key":{"ct":{"key":"state"}},"data":{"set":[["new"]]}}}`:                                                              false,
		`{"vmap":{"key":{"ct":{"key":"state"}},"data":{"set":[["established",{"accept":null}]]}}}`:                                      true,
		`{"vmap":{"key":{"ct":{"key":"state"}},"data":{"set":[["new",{"drop":null}],["new",{"accept":null}]]}}}`:                        true,
		`{"vmap":{"key":{"ct":{"key":"state"}},"data":{"set":[["untracked",{"accept":null}],["new",{"drop":null}]]}}}`:                  false,
		`{"vmap":{"key":{"ct":{"key":"state"}},"data":{"set":[["untracked",{"jump":{"target":"drops"}}],["new",{"drop":null}]]}}}`:      true,
		`{"match":{"op":"==","left":{"payload":{"protocol":"tcp","field":"dport"}},"right":81}},{"accept":null}`:                        true,
		`{"match":{"op":"==","left":{"payload":{"protocol":"tcp","field":"dport"}},"right":80}},{"counter":{}},{"jump":{"target":"x"}}`: false,
	} {
		l, err := parseListing([]byte(`{"nftables":[{"chain":{"name":"in"}},{"rule":{"chain":"in","expr":[` + rule + `]}},{"rule":{"chain":"in","expr":[{"drop":null}]}},
			{"chain":{"name":"drops"}},{"rule":{"chain":"drops","expr":[{"drop":null}]}},{"chain":{"name":"returns"}}]}`))
		if err != nil {
			t.Fatal(err)
		}
		if got := drops(l.chains(), "in", true, web); got != drop {
			t.Errorf("%s: drops %v, want %v", rule, got, drop)
		}
	}
}

func TestIncompleteIptablesLinesAreParsed(t *testing.T) {
	for rules, drop := range map[string]bool{
		"": true, "-A INPUT": true, "-A INPUT -p tcp": true, "-A INPUT -j": true, "-A": true, "-P": true, "-P OUTPUT": true, "-N": true, "-N INPUT": true,
		"-A INPUT -j ACCEPT": false, "-A INPUT -f -j ACCEPT": false, "-A INPUT -f -j DROP": true, "-A INPUT ! -p udp -j ACCEPT": false, "-A INPUT ! -p tcp -j ACCEPT": true,
		"-A INPUT -m tcp --tcp-flags SYN,ACK SYN -j ACCEPT": false, "-A INPUT -m recent --rcheck -j ACCEPT": false, "-A INPUT -m state --state NEW -j ACCEPT": false,
		"-A INPUT -m state --state ESTABLISHED -j ACCEPT": true, "-A INPUT -m addrtype --dst-type LOCAL -j ACCEPT": false, "-A INPUT -j x": false,
		"-N x\n-A INPUT -j x": true, "-N x\n-A INPUT -g x\n-A INPUT -j ACCEPT": true, "-N x\n-A x -j RETURN\n-A INPUT -j x\n-A INPUT -j ACCEPT": false,
		"-N x\n-A x -j ACCEPT\n-A INPUT -p udp -j x\n": true, "-A INPUT -p tcp -m tcp --dport 80 -m comment --comment x -j DROP\n-A INPUT -j ACCEPT": true,
		"-A INPUT -j LOG --log-prefix \"x \"\n-A INPUT -j ACCEPT": false, "-A INPUT -j REJECT --reject-with x\n-A INPUT -j ACCEPT": true,
	} {
		chains, policies := savedChains(append([]string{"-P INPUT DROP"}, splitLines(rules)...))
		if got := drops(chains, input, policies[input] == "DROP", web); got != drop || policies[input] != "DROP" {
			t.Errorf("%q: drops %v, policies %v", rules, got, policies)
		}
	}
}
