package e2e_test

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/sysnet/housetest"
)

// In a userspace farm with nattype dnat backends see the client's address. Their route to
// clients is the appliance, so replies reach the engine.
func TestBackendsOfUserspaceFarmsSeeTheClientsAddress(t *testing.T) {
	needs(t, "nft")
	s := housetest.Plan{Clients: 2, Backends: 2}.Build(housetest.New(t))
	vip4, vip6 := s.VIP(200)
	for _, b := range s.Backends {
		b.Server(b.Name, 80)
	}
	before := rules(s.Appliance) + s.Appliance.Run("ip", "rule", "show") + s.Appliance.Run("ip", "-6", "rule", "show")
	a, _ := installed(t, s)
	for name, at := range map[string][]string{"four": {vip4, s.Backends[0].V4, s.Backends[1].V4}, "six": {vip6, s.Backends[0].V6, s.Backends[1].V6}} {
		a.must("farm", "create", name, "--profile", "l4xnat", "vip="+at[0], "vport=80", "nattype=dnat", "datapath=userspace", "algorithm=roundrobin")
		for _, ip := range at[1:] {
			a.must("backend", "create", name, "ip="+ip, "port=80")
		}
	}
	ask := func(c *housetest.Namespace, vip string) (*housetest.Answer, error) {
		return c.AskWithin(time.Second, "tcp", netip.AddrPort{}, net.JoinHostPort(vip, "80"))
	}
	sees := func(when string) {
		t.Helper()
		for _, vip := range []string{vip4, vip6} {
			for _, c := range s.Clients {
				within(t, 5*time.Second, when+", a client is seen through "+vip, func() error {
					answer, err := ask(c, vip)
					if err != nil {
						return err
					}
					defer answer.Close()
					if answer.From.Addr() != answer.Local.Addr() {
						t.Errorf("%s: the client is %s, the backend saw %s", when, answer.Local, answer.From)
					}
					return answer.Again(strings.Repeat("x", 100_000))
				})
			}
		}
	}
	sees("created")
	if out := a.must("system", "kernel"); !strings.Contains(out, "rule 5190 IPv4") || !strings.Contains(out, "rule 5190 IPv6") {
		t.Errorf("system kernel:\n%s", out)
	}
	a.kill("netd")
	a.kill("engine")
	sees("after netd and the engine were killed")
	a.must("farm", "delete", "four")
	a.must("farm", "delete", "six")
	within(t, 5*time.Second, "nothing is left", func() error {
		if got := rules(s.Appliance) + s.Appliance.Run("ip", "rule", "show") + s.Appliance.Run("ip", "-6", "rule", "show"); got != before {
			return fmt.Errorf("there is more:\n%s", differing(before, got))
		}
		return nil
	})
}

// Backends that refuse one client or lose its packets stay available to others.
func TestABackendMayRefuseOneClientOfATransparentFarm(t *testing.T) {
	needs(t, "nft")
	s := housetest.Plan{Clients: 2, Backends: 1}.Build(housetest.New(t))
	vip, _ := s.VIP(200)
	b := s.Backends[0]
	b.Server(b.Name, 80)
	b.Run("nft", "add table ip guard")
	b.Run("nft", "add chain ip guard in { type filter hook input priority 0; }")
	b.Run("nft", "add rule ip guard in ip saddr 10.10.1.2 tcp dport 80 reject with tcp reset")
	b.Run("nft", "add rule ip guard in ip saddr 10.10.1.2 tcp dport 81 drop")
	a, _ := installed(t, s)
	for _, port := range []string{"80", "81"} {
		if port == "81" {
			b.Server(b.Name, 81)
		}
		name := "on" + port
		a.must("farm", "create", name, "--profile", "l4xnat", "vip="+vip, "vport="+port, "nattype=dnat", "datapath=userspace", "contimeout=1")
		a.must("backend", "create", name, "ip="+b.V4, "port="+port)
		ask := func(c *housetest.Namespace, most time.Duration) error {
			answer, err := c.AskWithin(most, "tcp", netip.AddrPort{}, net.JoinHostPort(vip, port))
			if err == nil {
				answer.Close()
			}
			return err
		}
		within(t, 5*time.Second, "who is let in is served", func() error { return ask(s.Clients[1], time.Second) })
		for range 3 {
			if err := ask(s.Clients[0], 3*time.Second); err == nil {
				t.Fatalf("port %s: the client the backend refuses is served", port)
			}
			if err := ask(s.Clients[1], time.Second); err != nil {
				t.Errorf("port %s: after the other client was rejected: %v", port, err)
			}
		}
	}
}
