package e2e_test

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/sysnet/housetest"
	"github.com/sluicelb/sluice/sysnet/sysnettest"
)

// kernelFarm returns a configuration with one farm carried by the kernel.
func kernelFarm(vip string) string {
	return `farms:
- {name: web, profile: l4xnat, vip: ` + vip + `, vport: 80, protocol: tcp, nattype: dnat, algorithm: roundrobin, persistence: ip, backends: [{ip: 10.10.2.11, port: 8080}, {ip: 10.10.2.12, port: 8080}]}
`
}

func TestKernelFarmsOutliveTheirRolesAndAreReconciled(t *testing.T) {
	s := housetest.Plan{Backends: 2, Sources: 10}.Build(housetest.New(t))
	s.Client.Route("default via " + housetest.ApplianceFront4)
	vip, _ := s.VIP(200)
	for i, b := range s.Backends {
		b.Server([]string{"b1", "b2"}[i], 8080)
	}
	a, key := installed(t, s, "--config", file(t, kernelFarm(vip)))
	from := func(n int) netip.AddrPort {
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 10, 1, byte(100 + n)}), 0)
	}
	first := map[int]string{}
	serves := func(when string) {
		t.Helper()
		for i := range 4 {
			got, err := s.Client.Ask("tcp", from(i), vip+":80")
			if err != nil {
				t.Fatalf("%s: %v", when, err)
			}
			got.Close()
			if first[i] == "" {
				first[i] = got.Server
			}
			if got.Server != first[i] || got.From.Addr() != from(i).Addr() {
				t.Errorf("%s: client %d was at %s, is at %s", when, i, first[i], got.Seen)
			}
		}
	}
	serves("at first")
	open, err := s.Client.Ask("tcp", from(5), vip+":80")
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	rules := func() string { return s.Appliance.Run("nft", "list", "chain", "inet", "sluice", "farm1") }
	before := rules()
	for _, role := range []string{"engine", "mgmt", "netd", "progd"} {
		a.kill(role)
		serves(role + " killed")
		if err := open.Again("still here"); err != nil {
			t.Errorf("%s killed: %v", role, err)
		}
	}
	// The table is emptied while netd is down: the next netd repairs it.
	s.Appliance.Run("nft", "flush", "chain", "inet", "sluice", "farm1")
	a.kill("netd")
	sysnettest.Eventually(t, func() (string, bool) { got := rules(); return got, got == before })
	serves("repaired")

	// The new netd reports them as soon as mgmt has connected.
	sysnettest.Eventually(t, func() (string, bool) {
		code, text := a.rest(key, http.MethodGet, "/farms/web/sessions", nil)
		return fmt.Sprintf("sessions: %d %s", code, text), code == http.StatusOK && strings.Contains(text, "10.10.1.100")
	})
	if out := a.must("farm", "explain", "web"); !strings.Contains(out, "numgen inc mod 2") {
		t.Errorf("explained: %s", out)
	}
	a.must("farm", "delete", "web")
	if out := s.Appliance.Run("nft", "list", "tables"); strings.Contains(out, "sluice") {
		t.Errorf("left after deletion: %s", out)
	}
	if _, err := s.Client.AskWithin(2*time.Second, "tcp", from(0), vip+":80"); err == nil {
		t.Error("a deleted farm answers")
	}
}
