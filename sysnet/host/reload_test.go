package host_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/sysnet/host"
	"github.com/sluicelb/sluice/sysnet/sysnettest"
)

// A reload of a firewall deletes our rules, and packets of farms are dropped until they are
// back: not for the 15 seconds between two complete checks.
func TestRulesAreRestoredAfterAFirewallReload(t *testing.T) {
	if !sysnettest.Inside(t) {
		return
	}
	sysnettest.Need(t, "iptables-legacy", "ip6tables-legacy")
	h := host.New(machine(t), quiet)
	nat, dnat := l4(farm.NATMasquerade, "192.0.2.1"), l4(farm.NATTarget, "2001:db8::1")
	nat.L4.Protocol, nat.L4.Ports = farm.L4TCPUDP, []farm.PortRange{{First: 80, Last: 90}}
	dnat.ID, dnat.L4.Protocol = 8, farm.L4SCTP
	h.Prepare(t.Context(), []farm.Farm{nat, dnat})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); h.Run(ctx) }()
	defer func() { cancel(); <-done; h.Close() }()
	soon := func(what string, is func() bool) {
		t.Helper()
		for end := time.Now().Add(10 * time.Second); !is(); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%s: not after 10 s", what)
			}
		}
	}
	const saved = `*filter
:INPUT ACCEPT [0:0]
:FORWARD DROP [0:0]
:OUTPUT ACCEPT [0:0]
-A FORWARD -p tcp --dport 22 -j ACCEPT
COMMIT
`
	time.Sleep(time.Second) // the first check has seen the own rules
	for _, kind := range []string{"nft", "legacy"} {
		for _, program := range []string{"iptables-" + kind, "ip6tables-" + kind} {
			sysnettest.Run(t, saved, program+"-restore")
			soon(program, func() bool {
				return strings.Contains(sysnettest.Run(t, "", program, "-S", "FORWARD"), "sluice-farms")
			})
		}
	}
	strict := func(policy string) {
		chain := "type filter hook forward priority 0; policy " + policy + ";"
		sysnettest.Run(t, "table inet strict {\n chain forward { "+chain+" }\n}", "nft", "-f", "-")
	}
	for _, f := range []*farm.Farm{&nat, &dnat} {
		strict("drop")
		soon("the warning", func() bool { return len(h.Warnings(f)) == 1 })
		strict("accept")
		soon("no warning", func() bool { return len(h.Warnings(f)) == 0 })
	}
	if b, err := os.ReadFile("/proc/sys/net/ipv4/ip_forward"); err != nil || string(b) != "1\n" {
		t.Errorf("forwarding: %q, %v", b, err)
	}
}

// Programs that manage the network delete routing rules of others when they restart.
func TestRoutingRulesAreRestoredAfterAFlush(t *testing.T) {
	if !sysnettest.Inside(t) {
		return
	}
	h := host.New(machine(t), quiet)
	var farms []farm.Farm
	for i, vip := range []string{"192.0.2.1", "2001:db8::1"} {
		f := l4(farm.NATTarget, vip)
		f.ID, f.L4.DataPath, f.L4.Ports = uint32(i+1), farm.DataPathUserspace, []farm.PortRange{{First: 80, Last: 80}}
		farms = append(farms, f)
	}
	h.Prepare(t.Context(), farms)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); h.Run(ctx) }()
	defer func() { cancel(); <-done; h.Close() }()
	for _, family := range []string{"-4", "-6"} {
		there := func() bool { return strings.Contains(sysnettest.IP(t, family+" rule show"), "5190:") }
		if !there() {
			t.Fatalf("%s: no rule", family)
		}
		sysnettest.IP(t, family+" rule delete priority 5190")
		for end := time.Now().Add(10 * time.Second); !there(); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%s: the rule is not back after 10 s", family)
			}
		}
	}
}
