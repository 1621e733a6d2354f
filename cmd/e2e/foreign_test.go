package e2e_test

import (
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluicelb/sluice/sysnet/housetest"
)

// Rules as left by Docker, ufw and an operator: both variants of iptables, both IP versions,
// and an nft table.
const (
	dockerRules = `*filter
:INPUT ACCEPT [0:0]
:FORWARD DROP [0:0]
:OUTPUT ACCEPT [0:0]
:DOCKER - [0:0]
:DOCKER-FORWARD - [0:0]
:DOCKER-USER - [0:0]
-A FORWARD -j DOCKER-USER
-A FORWARD -j DOCKER-FORWARD
-A DOCKER ! -i docker0 -o docker0 -j DROP
-A DOCKER-FORWARD -o docker0 -j DOCKER
-A DOCKER-FORWARD -i docker0 -j ACCEPT
-A DOCKER-USER -p tcp -m tcp --dport 25 -m comment --comment "no mail" -j DROP
-A DOCKER-USER -j RETURN
COMMIT
*nat
:PREROUTING ACCEPT [0:0]
:INPUT ACCEPT [0:0]
:OUTPUT ACCEPT [0:0]
:POSTROUTING ACCEPT [0:0]
:DOCKER - [0:0]
-A PREROUTING -m addrtype --dst-type LOCAL -j DOCKER
-A DOCKER -i docker0 -j RETURN
COMMIT
`
	ufwRules = `*filter
:INPUT ACCEPT [0:0]
:FORWARD DROP [0:0]
:OUTPUT ACCEPT [0:0]
:ufw-after-logging-forward - [0:0]
:ufw-before-forward - [0:0]
:ufw-reject-forward - [0:0]
-A FORWARD -j ufw-before-forward
-A FORWARD -j ufw-after-logging-forward
-A FORWARD -j ufw-reject-forward
-A ufw-after-logging-forward -m limit --limit 3/min --limit-burst 10 -j LOG --log-prefix "[UFW BLOCK] "
-A ufw-before-forward -p tcp -m tcp --dport 25 -j DROP
COMMIT
`
	operatorRules = `table inet operator {
	set blocked {
		type ipv4_addr
		flags interval
		elements = { 203.0.113.0/24 }
	}
	chain forward {
		type filter hook forward priority filter + 5; policy accept;
		ip saddr @blocked counter drop
	}
	chain prerouting {
		type nat hook prerouting priority dstnat + 5; policy accept;
		tcp dport 2222 redirect to :22
	}
}
`
)

var (
	counted = regexp.MustCompile(`counter packets \d+ bytes \d+|\[\d+:\d+\]`)
	dated   = regexp.MustCompile(`(?m)^#.*\n`)
	// nft(8) does not show the comments of iptables.
	ourRule = regexp.MustCompile(`(?m)^.*(sluice-farms|ct mark and 0xff000000 == 0x5c000000 +counter accept).*\n`)
	ourNFT  = regexp.MustCompile(`(?ms)^table (inet|netdev) sluice \{.*?^\}\n`)
	setByUs = []string{"net.ipv4.ip_forward", "net.ipv6.conf.all.forwarding", "net.ipv4.conf.front.forwarding", "net.ipv4.conf.all.accept_redirects", "net.netfilter.nf_conntrack_acct"}
)

// rules returns the packet filter of a namespace, byte for byte except for counters and the
// time of output.
func rules(n *housetest.Namespace) string {
	var b strings.Builder
	b.WriteString(n.Run("nft", "list", "ruleset"))
	for _, program := range []string{"iptables-legacy-save", "ip6tables-legacy-save", "iptables-nft-save", "ip6tables-nft-save"} {
		out := n.Run(program)
		b.WriteString(program + "\n" + dated.ReplaceAllString(out, ""))
	}
	return counted.ReplaceAllString(b.String(), "counter")
}

// foreign returns the rules that are not ours.
func foreign(n *housetest.Namespace) string {
	return ourRule.ReplaceAllString(ourNFT.ReplaceAllString(rules(n), ""), "")
}

// differing returns the lines that are in only one of them, for messages.
func differing(want, got string) string {
	var b strings.Builder
	for sign, texts := range map[string][2]string{"- ": {want, got}, "+ ": {got, want}} {
		for line := range strings.Lines(texts[0]) {
			if !strings.Contains(texts[1], line) {
				b.WriteString(sign + line)
			}
		}
	}
	return b.String()
}

func sysctls(n *housetest.Namespace) string {
	var b strings.Builder
	for _, name := range setByUs {
		fmt.Fprintf(&b, "%s %s\n", name, n.SysctlValue(name))
	}
	return b.String()
}

// Foreign rules remain the same byte for byte, even if they would drop the farms' packets.
// This is true while kernel farms come and go, and after netd and the whole appliance are
// killed.
func TestForeignRulesAreNeverTouched(t *testing.T) {
	t.Parallel()
	notUnderRace(t)
	needs(t, "nft", "iptables-nft-restore", "ip6tables-nft-restore", "iptables-legacy-restore", "ip6tables-legacy-restore")
	s := housetest.Plan{Backends: 2}.Build(housetest.New(t))
	vip4, vip6 := s.VIP(200)
	for _, b := range s.Backends {
		b.Server(b.Name, 80)
	}
	s.Appliance.Feed(operatorRules, "nft", "-f", "-")
	for _, family := range []string{"iptables-", "ip6tables-"} {
		s.Appliance.Feed(dockerRules, family+"nft-restore")
		s.Appliance.Feed(ufwRules, family+"legacy-restore")
	}
	root := identity{name: "root"}
	data := dataDir(t, root)
	begin := func() *appliance { return startIn(t, root, data, surroundings{space: s.Appliance}) }
	a := begin()
	wantRules, wantSysctls := rules(s.Appliance), sysctls(s.Appliance)

	same := func(when string) {
		t.Helper()
		if got := foreign(s.Appliance); got != wantRules {
			t.Errorf("%s, foreign rules differ in\n%s", when, differing(wantRules, got))
		}
	}
	passes := func(when, vip string) {
		t.Helper()
		within(t, 10*time.Second, when+", the farm at "+vip+" answers", func() error {
			a, err := s.Client.AskWithin(time.Second, "tcp", netip.AddrPort{}, net.JoinHostPort(vip, "80"))
			if err == nil {
				a.Close()
			}
			return err
		})
	}
	serves := func(when string) {
		t.Helper()
		passes(when, vip4)
		passes(when, vip6)
		same(when)
	}
	gone := func(when string) {
		t.Helper()
		within(t, 10*time.Second, when+" nothing of ours is left", func() error {
			if got := rules(s.Appliance); got != wantRules {
				return fmt.Errorf("rules differ in\n%s", differing(wantRules, got))
			}
			if got := sysctls(s.Appliance); got != wantSysctls {
				return fmt.Errorf("sysctls were\n%s\nand are\n%s", wantSysctls, got)
			}
			return nil
		})
	}
	create := func() {
		a.must("farm", "create", "four", "--profile", "l4xnat", "vip="+vip4, "vport=80", "datapath=kernel")
		a.must("backend", "create", "four", "ip="+s.Backends[0].V4, "port=80")
		a.must("farm", "create", "six", "--profile", "l4xnat", "vip="+vip6, "vport=80", "datapath=kernel", "nattype=dnat")
		a.must("backend", "create", "six", "ip="+s.Backends[0].V6, "port=80")
	}

	create()
	serves("created")
	if got := s.Appliance.Run("iptables-nft", "-S", "DOCKER-USER"); !strings.Contains(got, "sluice-farms") {
		t.Errorf("no rule of ours in DOCKER-USER:\n%s", got)
	}
	a.must("backend", "create", "four", "ip="+s.Backends[1].V4, "port=80")
	serves("changed")

	old := a.kill("netd")
	within(t, 5*time.Second, "netd is back", func() error {
		if a.pid("netd") == old || a.pid("netd") == 0 {
			return fmt.Errorf("not yet")
		}
		return nil
	})
	serves("after netd was killed")

	_ = a.cmd.Process.Signal(syscall.SIGKILL)
	<-a.done
	passes("while the appliance is dead", vip4)
	a = begin()
	serves("after the appliance was killed and started")
	if out := a.must("system", "kernel"); !strings.Contains(out, "net/ipv4/ip_forward") || !strings.Contains(out, "1, was 0") || !strings.Contains(out, "sluice-farms") || !strings.Contains(out, vip4) {
		t.Errorf("system kernel:\n%s", out)
	}

	a.must("farm", "stop", "four")
	passes("one farm stopped", vip6)
	same("one farm stopped")
	a.must("farm", "delete", "four")
	a.must("farm", "delete", "six")
	gone("deleted,")

	create()
	serves("created again")
	_ = a.cmd.Process.Signal(syscall.SIGKILL)
	<-a.done
	alone := func(args ...string) string { // no appliance executes the command
		c := a.command(append([]string{"--data", a.data}, args...)...)
		return s.Appliance.Run(c.Path, c.Args[1:]...)
	}
	if out := alone("system", "kernel"); !strings.Contains(out, "table") || !strings.Contains(out, "1, was 0") {
		t.Errorf("system kernel of an appliance that is dead:\n%s", out)
	}
	alone("system", "clean")
	gone("cleaned while nothing runs,")

	a = begin()
	serves("started after that")
	if out, code := a.run("system", "clean"); code == 0 || !strings.Contains(out, "the appliance runs") {
		t.Errorf("clean while the appliance runs: %d, %s", code, out)
	}
	serves("after a refused clean")
}
