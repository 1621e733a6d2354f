package e2e_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/sysnet/housetest"
)

// Clients keep their backend when their farm moves from userspace to the kernel and back.
func TestSessionsSurviveADataPathChange(t *testing.T) {
	const clients = 30
	s := housetest.Plan{Backends: 3, Sources: clients}.Build(housetest.New(t))
	vip, _ := s.VIP(200)
	for i, b := range s.Backends {
		b.Server(fmt.Sprintf("b%d", i+1), 80)
	}
	a, _ := installed(t, s, "--config", file(t, `farms:
- {name: shop, profile: l4xnat, vip: `+vip+`, vport: 80, algorithm: roundrobin, persistence: srcip, ttl: 300, backends: [{ip: 10.10.2.11, port: 80}, {ip: 10.10.2.12, port: 80}, {ip: 10.10.2.13, port: 80}]}
`))
	turn := 0
	ask := func() []string {
		t.Helper()
		servers := make([]string, clients)
		turn += 7
		for n := range clients { // in another order each time: round robin alone must not suffice
			i := (n*7 + turn) % clients
			from := netip.AddrPortFrom(netip.MustParseAddr(fmt.Sprintf("10.10.1.%d", 100+i)), 0)
			answer, err := s.Client.Ask("tcp", from, vip+":80")
			if err != nil {
				t.Fatal(err)
			}
			answer.Close()
			servers[i] = answer.Seen.Server
		}
		return servers
	}
	first := ask()
	for _, path := range []string{"kernel", "userspace", "kernel", "auto"} {
		a.must("farm", "set", "shop", "datapath="+path)
		carrier := map[string]string{"auto": "userspace"}[path]
		if carrier == "" {
			carrier = path
		}
		if out := a.must("farm", "explain", "shop"); !strings.Contains(out, carrier) {
			t.Errorf("datapath %s: %s", path, out)
		}
		if now := ask(); fmt.Sprint(now) != fmt.Sprint(first) {
			t.Errorf("datapath %s: the clients went to\n%v, they were at\n%v", path, now, first)
		}
	}
	// Earlier sessions of the engine do not return.
	a.must("farm", "set", "shop", "datapath=kernel")
	a.must("session", "flush", "shop")
	a.must("farm", "set", "shop", "datapath=userspace")
	if out := a.must("session", "list", "shop"); strings.Contains(out, "10.10.1.") {
		t.Errorf("flushed sessions exist again:\n%s", out)
	}
	// A restart and a rename change nothing.
	first = ask()
	for _, path := range []string{"userspace", "kernel"} {
		a.must("farm", "set", "shop", "datapath="+path)
		a.must("farm", "restart", "shop")
		if now := ask(); fmt.Sprint(now) != fmt.Sprint(first) {
			t.Errorf("restarted in datapath %s: the clients went to\n%v, they were at\n%v", path, now, first)
		}
		a.must("farm", "stop", "shop")
		a.must("farm", "set", "shop", "newfarmname=store")
		a.must("farm", "set", "store", "newfarmname=shop")
		a.must("farm", "start", "shop")
		if now := ask(); fmt.Sprint(now) != fmt.Sprint(first) {
			t.Errorf("renamed in datapath %s: the clients went to\n%v, they were at\n%v", path, now, first)
		}
	}
}
