package firewall_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/sysnet/firewall"
	"github.com/sluicelb/sluice/sysnet/sysnettest"
)

// dropped returns the sentences for a farm with these listeners ("tcp/192.0.2.1:80").
func dropped(t *testing.T, keys ...string) []string {
	t.Helper()
	var all []firewall.Listener
	for _, key := range keys {
		network, at, _ := strings.Cut(key, "/")
		all = append(all, firewall.Listener{Network: network, Addr: netip.MustParseAddrPort(at)})
	}
	said, err := firewall.Dropped(map[uint32][]firewall.Listener{7: all})
	if err != nil {
		t.Fatal(err)
	}
	return said[7]
}

const (
	farm8080 = "tcp/192.0.2.1:8080"
	missing  = `inet filter input drops it: a rule such as "tcp dport 8080 accept" is missing`
)

func TestDroppingChainsAreNamedWithTheMissingRule(t *testing.T) {
	if !sysnettest.Inside(t) {
		return
	}
	sysnettest.Need(t, "nft")
	for _, c := range []struct {
		rules   string
		dropped bool
	}{
		{"tcp dport 22 accept", true},
		{"tcp dport 22 accept; tcp dport 8080 accept", false},
		{"tcp dport { 80, 8080 } accept", false},
		{"tcp dport { 80, 8000-8079 } accept", true},
		{"tcp dport 8000-8100 accept", false},
		{"udp dport 8080 accept", true},
		{"th dport 8080 accept", false},
		{"tcp dport != 22 accept", false},
		{"udp dport != 22 accept", true},
		{"iif lo accept", true},
		{"iifname != lo accept", false},
		{"iifname eth0 accept", false},
		{"ct state established accept", true},
		{"ct state established,related accept", true},
		{"ct state != established accept", false},
		{"ct state { new, established } accept", false},
		{"ct state vmap { established : accept, related : accept, invalid : drop }", true},
		{"ct state vmap { established : accept, new : accept }", false},
		{"tcp dport vmap { 22 : accept, 8000-9000 : jump more }", true},
		{"tcp dport vmap { 22 : accept, 8080 : accept }", false},
		{"ip saddr 198.51.100.0/24 accept", false},
		{"ip daddr 192.0.2.0/24 accept", false},
		{"ip daddr 203.0.113.0/24 accept", true},
		{"ip daddr 192.0.2.1-192.0.2.9 accept", false},
		{"ip6 daddr 2001:db8::1 accept", true},
		{"meta l4proto { tcp, udp } accept", false},
		{"ip protocol icmp accept; icmp type echo-request accept; meta l4proto ipv6-icmp accept", true},
		{"meta nfproto ipv6 accept", true},
		{"meta nfproto ipv4 counter log accept", false},
		{"meta mark 5 accept", false},
		{"meta mark set 5", true},
		{"tcp dport @some accept", false},
		{"tcp dport 8080 limit rate 5/second accept", false},
		{"meta pkttype multicast accept; fib daddr type broadcast accept", true},
		{"fib daddr type local accept", false},
		{"ip daddr . tcp dport { 192.0.2.1 . 8080 } accept", false},
		{"ct status dnat accept", true},
		{"jump more", true},
		{"jump open", false},
		{"goto open", false},
		{"goto more; accept", true},
		{"ip saddr 198.51.100.1 goto more; accept", false},
		{"jump hop; accept", false},
		{"jump hop", true},
		{"jump ends; tcp dport 8080 accept", true},
		{"ip saddr 198.51.100.1 jump ends; tcp dport 8080 accept", false},
		{"tcp dport 8080 drop; accept", true},
		{"ip saddr 198.51.100.1 drop; accept", false},
		{"tcp dport 8080 reject with tcp reset; accept", true},
		{"tcp dport 8080 return; accept", true},
		{"", true},
	} {
		sysnettest.Run(t, `table inet filter {
 set some { type inet_service; elements = { 1 }; }
 chain more { tcp dport 22 accept; return; }
 chain open { ip daddr 192.0.2.1 tcp dport 8080 accept; }
 chain ends { drop; }
 chain hop { goto more; }
 chain input { type filter hook input priority 0; policy drop; `+c.rules+`; }
}`, "nft", "-f", "-")
		want := []string(nil)
		if c.dropped {
			want = []string{missing}
		}
		if got := dropped(t, farm8080); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", c.rules, got, want)
		}
		sysnettest.Run(t, "", "nft", "flush", "ruleset")
	}
}

func TestEveryChainAndEveryMissingRuleIsNamed(t *testing.T) {
	if !sysnettest.Inside(t) {
		return
	}
	sysnettest.Need(t, "nft")
	sysnettest.Run(t, `table inet filter {
 chain input { type filter hook input priority 0; policy drop; tcp dport { 80, 90 } accept; }
}
table ip own {
 chain in { type filter hook input priority 5; iif lo accept; tcp dport 80 accept; reject; }
}
table ip6 other { chain in { type filter hook input priority 5; policy drop; }; }
table ip sluice { chain in { type filter hook input priority 5; policy drop; }; }
table ip passed { chain in { type filter hook forward priority 5; policy drop; }; }`, "nft", "-f", "-")
	want := []string{
		`inet filter input drops it: rules such as "tcp dport 81-83 accept", "tcp dport 85 accept", "udp dport 80 accept" are missing`,
		`ip own in drops it: rules such as "tcp dport 81-83 accept", "tcp dport 85 accept", "tcp dport 90 accept", "udp dport 80 accept" are missing`,
	}
	if got := dropped(t, "tcp/192.0.2.1:83", "tcp/192.0.2.1:82", "tcp/192.0.2.1:80", "tcp/192.0.2.1:81", "tcp/192.0.2.1:85", "tcp/192.0.2.1:90", "udp/192.0.2.1:80"); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := dropped(t, "tcp/[2001:db8::1]:80"); len(got) != 1 || !strings.HasPrefix(got[0], "ip6 other in ") {
		t.Errorf("of IPv6: %q", got)
	}
	// Clients of loopback addresses are on this machine.
	if got := dropped(t, "tcp/127.0.0.1:81"); len(got) != 1 || !strings.HasPrefix(got[0], "inet filter input ") {
		t.Errorf("of loopback: %q", got)
	}
	if got := dropped(t); got != nil {
		t.Errorf("of no farm: %q", got)
	}
}

func TestIptablesChainsAreRead(t *testing.T) {
	if !sysnettest.Inside(t) {
		return
	}
	programs(t)
	for _, kind := range kinds {
		for _, c := range []struct {
			rules   string
			dropped bool
		}{
			{"-A INPUT -i lo -j ACCEPT\n-A INPUT -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT\n-A INPUT -p tcp -m tcp --dport 22 -j ACCEPT", true},
			{"-A INPUT -p tcp -m tcp --dport 8080 -j ACCEPT", false},
			{"-A INPUT -p tcp -m tcp --dport 8000:8079 -j ACCEPT", true},
			{"-A INPUT -p tcp -m multiport --dports 80,8000:8100 -j ACCEPT", false},
			{"-A INPUT -p tcp -m multiport --dports 80,443 -j ACCEPT", true},
			{"-A INPUT -p tcp -m tcp ! --dport 22 -j ACCEPT", false},
			{"-A INPUT -p udp -m udp --dport 8080 -j ACCEPT", true},
			{"-A INPUT ! -i lo -j ACCEPT", false},
			{"-A INPUT -s 198.51.100.0/24 -j ACCEPT", false},
			{"-A INPUT -d 203.0.113.0/24 -j ACCEPT", true},
			{"-A INPUT -d 192.0.2.0/24 -m comment --comment \"a -j b\" -j ACCEPT", false},
			{"-A INPUT -m conntrack --ctstate NEW -j ACCEPT", false},
			{"-A INPUT -m mark --mark 0x1 -j ACCEPT", false},
			{"-A INPUT -m addrtype --dst-type MULTICAST -j ACCEPT", true},
			{"-A INPUT -j LOG\n-A INPUT -p tcp -g more\n-A INPUT -j ACCEPT", true},
			{"-A INPUT -s 198.51.100.1 -j more\n-A INPUT -j REJECT", true},
			{"-A INPUT -j NFQUEUE", false},
		} {
			restore := "*filter\n:INPUT DROP [0:0]\n:more - [0:0]\n-A more -p tcp -m tcp --dport 22 -j ACCEPT\n" + c.rules + "\nCOMMIT\n"
			sysnettest.Run(t, restore, "iptables-"+kind+"-restore")
			want := []string(nil)
			if c.dropped {
				want = []string{"ip filter INPUT (iptables-" + kind + `) drops it: a rule such as "-I INPUT -p tcp --dport 8080 -j ACCEPT" is missing`}
			}
			if got := dropped(t, farm8080); !slices.Equal(got, want) {
				t.Errorf("%s: %s: got %q, want %q", kind, c.rules, got, want)
			}
		}
		sysnettest.Run(t, "*filter\n:INPUT ACCEPT [0:0]\nCOMMIT\n", "iptables-"+kind+"-restore")
	}
}

func TestUfwWithoutARuleForAFarmIsNamed(t *testing.T) {
	if !sysnettest.Inside(t) {
		return
	}
	programs(t)
	load(t, "nft", "ufwinput")
	for key, want := range map[string]string{farm8080: "ip filter INPUT (iptables-nft)", "tcp/[2001:db8::1]:8080": "ip6 filter INPUT (ip6tables-nft)"} {
		if got := dropped(t, key); !slices.Equal(got, []string{want + ` drops it: a rule such as "ufw allow 8080/tcp" is missing`}) {
			t.Errorf("closed: %q", got)
		}
	}
	if got := dropped(t, "tcp/192.0.2.1:22"); got != nil {
		t.Errorf("open: %q", got)
	}
	sysnettest.Run(t, "", "iptables-nft", "-A", "ufw-user-input", "-p", "tcp", "--dport", "8080", "-j", "ACCEPT")
	if got := dropped(t, farm8080); got != nil {
		t.Errorf("allowed: %q", got)
	}
}

func TestFirewalldWithoutARuleForAFarmIsNamed(t *testing.T) {
	if !sysnettest.Inside(t) {
		return
	}
	sysnettest.Need(t, "nft")
	sysnettest.Run(t, `table inet firewalld {
 chain filter_IN_public_allow { tcp dport 22 accept; ip6 daddr fe80::/64 udp dport 546 accept; }
 chain filter_IN_public_deny { }
 chain filter_IN_public { jump filter_IN_public_deny; jump filter_IN_public_allow; meta l4proto { icmp, ipv6-icmp } accept; reject with icmpx admin-prohibited; }
 chain filter_INPUT_ZONES { iifname "eth0" goto filter_IN_public; goto filter_IN_public; }
 chain filter_INPUT { type filter hook input priority 10; policy accept; ct state { established, related } accept; ct status dnat accept; iifname "lo" accept; ct state invalid drop; jump filter_INPUT_ZONES; reject with icmpx admin-prohibited; }
}`, "nft", "-f", "-")
	if got := dropped(t, farm8080); !slices.Equal(got, []string{`inet firewalld filter_INPUT drops it: a rule such as "firewall-cmd --add-port=8080/tcp" is missing`}) {
		t.Errorf("closed: %q", got)
	}
	sysnettest.Run(t, "add rule inet firewalld filter_IN_public_allow tcp dport 8080 accept", "nft", "-f", "-")
	if got := dropped(t, farm8080); got != nil {
		t.Errorf("allowed: %q", got)
	}
}
