package firewall_test

import (
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicelb/sluice/sysnet/firewall"
	"github.com/sluicelb/sluice/sysnet/sysnettest"
)

var need = needs(firewall.Packets{Protocol: "tcp"}, firewall.Packets{V6: true, Protocol: "tcp"})

func needs(packets ...firewall.Packets) firewall.Need {
	return firewall.Need{Mark: 0x5c000000, Mask: 0xff000000, Packets: packets}
}

// kinds are the variants of iptables.
var kinds = []string{"nft", "legacy"}

func programs(t *testing.T) {
	t.Helper()
	sysnettest.Need(t, "nft", "iptables-nft", "ip6tables-nft", "iptables-legacy", "ip6tables-legacy")
}

func load(t *testing.T, kind, name string) {
	t.Helper()
	for family, file := range map[string]string{"iptables-": name + ".rules", "ip6tables-": name + "6.rules"} {
		b, err := os.ReadFile("testdata/" + file)
		if err != nil {
			t.Fatal(err)
		}
		sysnettest.Run(t, string(b), family+kind+"-restore")
	}
}

// foreign returns all foreign rules as text.
func foreign(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString(sysnettest.Run(t, "", "nft", "list", "ruleset"))
	for _, program := range []string{"iptables-legacy-save", "ip6tables-legacy-save"} {
		for _, l := range strings.Split(sysnettest.Run(t, "", program), "\n") {
			if !strings.HasPrefix(l, "#") { // the time of printing
				b.WriteString(l + "\n")
			}
		}
	}
	return b.String()
}

func keep(t *testing.T, n firewall.Need) []firewall.Warning {
	t.Helper()
	var f firewall.Firewall
	warnings, err := f.Keep(n)
	if err != nil {
		t.Fatal(err)
	}
	return warnings
}

func rules(t *testing.T) []firewall.Rule {
	t.Helper()
	var f firewall.Firewall
	all, err := f.List()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestForeignRulesAreByteIdenticalAfterwards(t *testing.T) {
	t.Parallel()
	if !sysnettest.Inside(t) {
		return
	}
	programs(t)
	for _, kind := range kinds {
		for _, name := range []string{"docker", "ufw"} {
			load(t, kind, name)
			sysnettest.Run(t, "table inet other {\n chain forward { type filter hook forward priority 10; policy accept; tcp dport 22 counter drop; }\n}", "nft", "-f", "-")
			before := foreign(t)
			for range 2 { // the second call changes nothing
				if w := keep(t, need); len(w) != 0 {
					t.Errorf("%s %s: warnings %v", kind, name, w)
				}
				if got := rules(t); len(got) != 2 {
					t.Errorf("%s %s: %+v, want one rule for each family", kind, name, got)
				}
			}
			keep(t, needs(append([]firewall.Packets{{Marked: true, Protocol: "udp"}, {Marked: true, V6: true, Protocol: "udp"}}, need.Packets...)...))
			if got := rules(t); len(got) != 4 {
				t.Errorf("%s %s: %+v, want two rules for each family", kind, name, got)
			}
			keep(t, needs(need.Packets[0]))
			if got := rules(t); len(got) != 1 || !strings.HasPrefix(got[0].Table, "iptables-"+kind) {
				t.Errorf("%s %s: %+v, want one rule of IPv4", kind, name, got)
			}
			keep(t, firewall.Need{})
			if after := foreign(t); after != before {
				t.Errorf("%s %s\nbefore:\n%s\nafter:\n%s", kind, name, before, after)
			}
			for _, program := range []string{"iptables-" + kind, "ip6tables-" + kind} {
				sysnettest.Run(t, "", program, "-F")
				sysnettest.Run(t, "", program, "-X")
			}
		}
		sysnettest.Run(t, "", "nft", "flush", "ruleset")
	}
}

func TestReadingCreatesNoTables(t *testing.T) {
	if !sysnettest.Inside(t) {
		return
	}
	programs(t)
	keep(t, need)
	if out := sysnettest.Run(t, "", "nft", "list", "ruleset"); out != "" {
		t.Errorf("nft has %s, want \"\"", out)
	}
	for _, name := range []string{"/proc/net/ip_tables_names", "/proc/net/ip6_tables_names"} {
		if b, err := os.ReadFile(name); err == nil && len(b) != 0 {
			t.Errorf("%s: %s", name, b)
		}
	}
}

func TestMovedOrDuplicateRulesAreRepaired(t *testing.T) {
	if !sysnettest.Inside(t) {
		return
	}
	programs(t)
	for _, kind := range kinds {
		load(t, kind, "ufw")
		keep(t, need)
		right := foreign(t)
		program := "iptables-" + kind
		spec := strings.Fields("-m connmark --mark 0x5c000000/0xff000000 -m comment --comment sluice-farms -j ACCEPT")
		// A duplicate, a rule with another mark, and a rule after the drop rule.
		sysnettest.Run(t, "", program, append([]string{"-A", "FORWARD"}, spec...)...)
		sysnettest.Run(t, "", program, "-I", "FORWARD", "-m", "connmark", "--mark", "7", "-m", "comment", "--comment", "sluice-farms", "-j", "ACCEPT")
		keep(t, need)
		if got := foreign(t); got != right {
			t.Errorf("%s\nwant:\n%s\ngot:\n%s", kind, right, got)
		}
		sysnettest.Run(t, "", program, append([]string{"-D", "FORWARD"}, spec...)...)
		sysnettest.Run(t, "", program, append([]string{"-A", "FORWARD"}, spec...)...)
		keep(t, need)
		if got := foreign(t); got != right {
			t.Errorf("%s, after a rule that drops\nwant:\n%s\ngot:\n%s", kind, right, got)
		}
		keep(t, firewall.Need{})
		for _, p := range []string{"iptables-" + kind, "ip6tables-" + kind} {
			for _, args := range [][]string{{"-F"}, {"-X"}, {"-P", "FORWARD", "ACCEPT"}, {"-P", "INPUT", "ACCEPT"}} {
				sysnettest.Run(t, "", p, args...)
			}
		}
	}
}

// A router between two namespaces drops by firewall. Only packets of the farm pass, and
// only while Keep needs them.
func TestPacketsOfFarmsPassAndNoOthers(t *testing.T) {
	t.Parallel()
	if !sysnettest.Inside(t) {
		return
	}
	programs(t)
	client := sysnettest.Peer(t, "c0", "c1", []string{"192.0.2.1/24", "2001:db8:1::1/64"}, []string{"192.0.2.2/24", "203.0.113.66/32", "2001:db8:1::2/64"})
	server := sysnettest.Peer(t, "s0", "s1", []string{"198.51.100.1/24", "2001:db8:2::1/64"}, []string{"198.51.100.2/24", "2001:db8:2::2/64"})
	for peer, via := range map[string][2]string{client: {"192.0.2.1", "2001:db8:1::1"}, server: {"198.51.100.1", "2001:db8:2::1"}} {
		sysnettest.IP(t, "-n "+peer+" route add default via "+via[0])
		sysnettest.IP(t, "-n "+peer+" route add default via "+via[1])
	}
	sysnettest.IP(t, "route add 203.0.113.66/32 dev c0")
	for _, name := range []string{"ipv4/ip_forward", "ipv6/conf/all/forwarding"} {
		if err := os.WriteFile("/proc/sys/net/"+name, []byte("1"), 0); err != nil {
			t.Fatal(err)
		}
	}
	sysnettest.Run(t, "table inet sluice {\n chain p { type filter hook prerouting priority -150; tcp dport 80 ct mark set 0x5c000001; }\n}", "nft", "-f", "-")
	for _, port := range []string{"80", "81"} {
		serve(t, server, port)
	}
	v4, v6, stranger := "198.51.100.2", "2001:db8:2::2", "203.0.113.66"
	for _, kind := range kinds {
		for _, name := range []string{"docker", "ufw"} {
			load(t, kind, name)
			expect := func(when string, farm bool) {
				t.Helper()
				var all sync.WaitGroup
				try := func(what, source, to, port string, want bool) {
					all.Go(func() {
						patience := "0.4"
						if want {
							patience = "4"
						}
						if got := reaches(client, source, to, port, patience); got != want {
							t.Errorf("%s %s, %s: %s at %s passes: got %v, want %v", kind, name, when, what, to, got, want)
						}
					})
				}
				for _, to := range []string{v4, v6} {
					try("the farm", "", to, "80", farm)
					try("what is of no farm", "", to, "81", false)
				}
				try("who is refused by name", stranger, v4, "80", false)
				all.Wait()
			}
			expect("before", false)
			keep(t, need)
			expect("kept", true)
			keep(t, firewall.Need{})
			expect("after", false)
			for _, p := range []string{"iptables-" + kind, "ip6tables-" + kind} {
				for _, args := range [][]string{{"-F"}, {"-X"}, {"-P", "FORWARD", "ACCEPT"}, {"-P", "INPUT", "ACCEPT"}} {
					sysnettest.Run(t, "", p, args...)
				}
			}
		}
	}
}

// serve accepts connections in the namespace until the test ends.
func serve(t *testing.T, peer, port string) {
	t.Helper()
	sysnettest.Need(t, "socat")
	cmd := exec.Command("ip", "netns", "exec", peer, "socat", "TCP6-LISTEN:"+port+",ipv6only=0,fork,reuseaddr", "SYSTEM:true")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	sysnettest.Eventually(t, func() (string, bool) {
		return "nobody listens on port " + port, exec.Command("ip", "netns", "exec", peer, "socat", "-u", "OPEN:/dev/null", "TCP4:127.0.0.1:"+port).Run() == nil
	})
}

// reaches attempts one connection, for at most patience seconds.
func reaches(peer, source, to, port, patience string) bool {
	address := "TCP:" + net.JoinHostPort(to, port) + ",connect-timeout=" + patience
	if source != "" {
		address += ",bind=" + source
	}
	cmd := exec.Command("timeout", "5", "ip", "netns", "exec", peer, "socat", "-u", "OPEN:/dev/null", address)
	cmd.WaitDelay = time.Second
	return cmd.Run() == nil
}

func TestNativeTablesAreReportedAndKept(t *testing.T) {
	if !sysnettest.Inside(t) {
		return
	}
	programs(t)
	for name, c := range map[string]struct {
		rules string
		warns bool
	}{
		"dropping":    {"table inet f {\n chain c { type filter hook forward priority 0; policy drop; ct state established accept; }\n}", true},
		"last word":   {"table ip f {\n chain c { type filter hook forward priority 0; ct state established accept; counter log reject; }\n}", true},
		"of IPv6":     {"table ip6 f {\n chain c { type filter hook forward priority 0; policy drop; }\n}", true},
		"firewalld":   {"table inet f {\n chain c { type filter hook forward priority 0; ct status dnat accept; reject; }\n}", false},
		"opened":      {"table inet f {\n chain c { type filter hook forward priority 0; policy drop; ct mark and 0xff000000 == 0x5c000000 accept; }\n}", false},
		"one address": {"table inet f {\n chain c { type filter hook forward priority 0; ip saddr 192.0.2.1 drop; }\n}", false},
		"ours":        {"table inet sluice {\n chain c { type filter hook forward priority 0; policy drop; }\n}", false},
		"elsewhere":   {"table inet f {\n chain c { type filter hook input priority 0; policy drop; }\n}", false},
	} {
		sysnettest.Run(t, c.rules, "nft", "-f", "-")
		before := foreign(t)
		w := keep(t, need)
		if len(w) > 0 != c.warns || c.warns && !strings.Contains(w[0].Text, "ct mark and 0xff000000 == 0x5c000000 accept") {
			t.Errorf("%s: %v", name, w)
		}
		for family, n := range map[string]firewall.Need{"ip": needs(need.Packets[0]), "ip6": needs(need.Packets[1])} {
			meant := c.warns && !strings.HasPrefix(c.rules, "table ip") || c.warns && strings.HasPrefix(c.rules, "table "+family+" ")
			if w := keep(t, n); len(w) > 0 != meant {
				t.Errorf("%s, for farms of %s: %v", name, family, w)
			}
		}
		if w := keep(t, firewall.Need{}); len(w) != 0 {
			t.Errorf("%s, without farms: %v", name, w)
		}
		if after := foreign(t); after != before {
			t.Errorf("%s: it was touched:\n%s", name, after)
		}
		sysnettest.Run(t, "", "nft", "flush", "ruleset")
	}
}
