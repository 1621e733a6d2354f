package firewall_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/sysnet/firewall"
	"github.com/sluicelb/sluice/sysnet/sysnettest"
)

// blocked returns the sentences about a farm with these backends, after Keep.
func blocked(t *testing.T, all ...firewall.Destination) []string {
	t.Helper()
	keep(t, need)
	said, err := firewall.Blocked(map[uint32][]firewall.Destination{7: all}, 0x5c000000, 0xff000000)
	if err != nil {
		t.Fatal(err)
	}
	return said[7]
}

func to(protocol, at string, marked bool) firewall.Destination {
	return firewall.Destination{Marked: marked, Protocol: protocol, Addr: netip.MustParseAddrPort(at)}
}

var (
	natTo       = to("tcp", "10.0.0.1:8080", false)
	statelessTo = to("tcp", "10.0.0.1:8080", true)
)

func TestRulesThatDropPacketsToABackendAreNamed(t *testing.T) {
	if !sysnettest.Inside(t) {
		return
	}
	sysnettest.Need(t, "nft")
	const ours = "ct mark and 0xff000000 == 0x5c000000 accept"
	for _, c := range []struct {
		policy, rules  string
		nat, stateless bool // dropped
	}{
		{"accept", "", false, false},
		{"accept", "tcp dport 8080 drop", true, true},
		{"accept", "tcp dport 8080 reject", true, true},
		{"accept", "tcp dport { 22, 8000-8100 } drop", true, true},
		{"accept", "th dport 8080 drop", true, true},
		{"accept", "tcp dport 80 drop; udp dport 8080 drop", false, false},
		{"accept", "ip daddr 10.0.0.0/24 drop", true, true},
		{"accept", "ip daddr 10.0.0.1 tcp dport 8080 counter drop", true, true},
		{"accept", "ip daddr 10.0.1.0/24 drop; ip6 daddr ::/0 drop", false, false},
		{"accept", "ct state established,related accept; tcp dport 8080 drop", true, true},
		{"accept", "ct state new tcp dport 8080 drop", true, false},
		{"accept", "ct state untracked tcp dport 8080 drop", false, true},
		{"accept", "ct status dnat accept; tcp dport 8080 drop", false, true},
		{"accept", "jump more", true, true},
		{"accept", "tcp dport vmap { 80 : accept, 8080 : drop }", true, true},
		{"accept", ours + "; tcp dport 8080 drop", false, true},
		{"accept", "tcp dport 8080 drop; " + ours, true, true},
		{"accept", "ip saddr 198.51.100.0/24 tcp dport 8080 drop", false, false},
		{"accept", "iifname eth0 tcp dport 8080 drop", false, false},
		{"accept", "tcp dport 8080 accept; tcp dport 8080 drop", false, false},
		{"drop", "tcp dport 8080 drop; " + ours, true, false}, // Keep reports stateless_dnat
		{"drop", "tcp dport 8080 drop", false, false},         // Keep reports both
	} {
		sysnettest.Run(t, `table inet own {
 chain more { tcp dport 8080 drop; }
 chain out { type filter hook forward priority 0; policy `+c.policy+`; `+c.rules+`; }
}`, "nft", "-f", "-")
		for kind, of := range map[string]struct {
			to      firewall.Destination
			dropped bool
		}{"ct": {natTo, c.nat}, "meta": {statelessTo, c.stateless}} {
			want := []string(nil)
			if of.dropped {
				want = []string{`inet own out drops its packets to 10.0.0.1:8080 (tcp): a rule such as "` + kind + ` mark and 0xff000000 == 0x5c000000 accept" is missing before the rule that drops them`}
			}
			if got := blocked(t, of.to); !slices.Equal(got, want) {
				t.Errorf("policy %s, %s: %s: got %q, want %q", c.policy, c.rules, kind, got, want)
			}
		}
		sysnettest.Run(t, "", "nft", "flush", "ruleset")
	}
}

func TestRulesOfIptablesThatDropPacketsToABackendAreNamed(t *testing.T) {
	if !sysnettest.Inside(t) {
		return
	}
	programs(t)
	for _, kind := range kinds {
		for rules, dropped := range map[string]bool{
			"-A FORWARD -p tcp -m tcp --dport 8080 -j DROP":                                       true,
			"-A FORWARD -d 10.0.0.1/32 -j REJECT":                                                 true,
			"-A FORWARD -p tcp -m multiport --dports 80,8080 -j DROP":                             true,
			"-A FORWARD -p tcp -m tcp --dport 80 -j DROP":                                         false,
			"-A FORWARD -s 198.51.100.0/24 -p tcp -m tcp --dport 8080 -j DROP":                    false,
			"-A FORWARD -m conntrack --ctstate DNAT -j ACCEPT\n-A FORWARD -p tcp -j DROP":         false,
			"-A FORWARD -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT\n-A FORWARD -j DROP": false, // Keep opens it
		} {
			sysnettest.Run(t, "*filter\n:FORWARD ACCEPT [0:0]\n"+rules+"\nCOMMIT\n", "iptables-"+kind+"-restore")
			want := []string(nil)
			if dropped {
				want = []string{"ip filter FORWARD (iptables-" + kind + `) drops its packets to 10.0.0.1:8080 (tcp): a rule such as "-I FORWARD -m connmark --mark 0x5c000000/0xff000000 -j ACCEPT" is missing before the rule that drops them`}
			}
			if got := blocked(t, natTo); !slices.Equal(got, want) {
				t.Errorf("%s: %s: got %q, want %q", kind, rules, got, want)
			}
		}
		sysnettest.Run(t, "*filter\n:FORWARD ACCEPT [0:0]\nCOMMIT\n", "iptables-"+kind+"-restore")
	}
}

func TestTheOtherBackendsAreCounted(t *testing.T) {
	if !sysnettest.Inside(t) {
		return
	}
	sysnettest.Need(t, "nft")
	sysnettest.Run(t, "table ip own { chain out { type filter hook forward priority 0; ip daddr 10.0.0.0/24 drop; }; }", "nft", "-f", "-")
	for n, want := range []string{"", "to 10.0.0.1 (udp):", "to 10.0.0.1 (udp) and to another backend or protocol:", "to 10.0.0.1 (udp) and to 2 other backends or protocols:"} {
		all := []firewall.Destination{to("tcp", "10.0.1.1:80", false), to("tcp", "[2001:db8::1]:80", false), to("udp", "10.0.0.1:0", false), to("tcp", "10.0.0.2:80", false), to("tcp", "10.0.0.3:80", false)}
		got := strings.Join(blocked(t, all[:2+n]...), "; ")
		if (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%d backends: %q, want %q", n, got, want)
		}
	}
	if said, err := firewall.Blocked(nil, 0x5c000000, 0xff000000); said != nil || err != nil {
		t.Errorf("without farms: %v, %v", said, err)
	}
}

// Rules that drop packets before the input hook are evaluated as well.
func TestRulesAtPreroutingThatDropClientsAreNamed(t *testing.T) {
	if !sysnettest.Inside(t) {
		return
	}
	sysnettest.Need(t, "nft")
	for rule, drops := range map[string]bool{"tcp dport 8080 drop": true, "ip daddr 192.0.2.1 drop": true, "tcp dport 80 drop": false, "ip saddr 198.51.100.1 drop": false} {
		sysnettest.Run(t, "table inet own { chain early { type filter hook prerouting priority -300; "+rule+"; }; }", "nft", "-f", "-")
		want := []string(nil)
		if drops {
			want = []string{`inet own early drops it: a rule such as "tcp dport 8080 accept" is missing`}
		}
		if got := dropped(t, farm8080); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", rule, got, want)
		}
		sysnettest.Run(t, "", "nft", "flush", "ruleset")
	}
}
