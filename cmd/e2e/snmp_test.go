package e2e_test

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/sysnet/housetest"
)

// The kernel's helper parses every message and drops those that are not SNMP.
func TestSNMPQueriesPassAFarm(t *testing.T) {
	t.Parallel()
	needs(t, "snmpd", "snmpget")
	s := housetest.Plan{Backends: 2}.Build(housetest.New(t))
	vip, _ := s.VIP(200)
	for _, b := range s.Backends {
		conf := filepath.Join(t.TempDir(), "snmpd.conf")
		if err := os.WriteFile(conf, []byte("rocommunity public\nsysName "+b.Name+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		b.Serve("snmpd", "-f", "-C", "-c", conf, "-Lf", "/dev/null", "-p", filepath.Join(t.TempDir(), "pid"), "-I", "-smux", "udp:"+b.V4+":161")
		within(t, 5*time.Second, b.Name+" answers", func() error {
			_, err := b.Try("", "snmpget", "-v1", "-cpublic", "-t1", "-r0", b.V4, sysName)
			return err
		})
	}
	installed(t, s, "--config", file(t, fmt.Sprintf(`farms:
- {name: agents, profile: l4xnat, vip: %s, vport: 161, protocol: snmp, algorithm: roundrobin, backends: [{ip: 10.10.2.11}, {ip: 10.10.2.12}]}
`, vip)))
	got := map[string]int{}
	for range 4 {
		name, err := s.Client.Try("", "snmpget", "-v1", "-cpublic", "-t2", "-r0", "-Oqv", vip, sysName)
		if err != nil {
			t.Fatal(err)
		}
		got[strings.Trim(name, "\"\n")]++
	}
	if got["b1"] != 2 || got["b2"] != 2 {
		t.Error(got)
	}
}

// sysName is the name of an agent (RFC 3418).
const sysName = "1.3.6.1.2.1.1.5.0"

// Its helper is for replies to broadcasts, which no farm gets; lookups must work with it
// assigned.
func TestNetBIOSQueriesPassAFarm(t *testing.T) {
	s := housetest.Plan{Backends: 2}.Build(housetest.New(t))
	vip, _ := s.VIP(200)
	for _, b := range s.Backends {
		b.Server(b.Name, 137)
	}
	installed(t, s, "--config", file(t, fmt.Sprintf(`farms:
- {name: names, profile: l4xnat, vip: %s, vport: 137, protocol: netbios-ns, nattype: dnat, algorithm: roundrobin, backends: [{ip: 10.10.2.11}, {ip: 10.10.2.12}]}
`, vip)))
	got := map[string]int{}
	for range 4 {
		a, err := s.Client.Ask("udp", netip.AddrPort{}, vip+":137")
		if err != nil {
			t.Fatal(err)
		}
		got[a.Server]++
		a.Close()
	}
	if got["b1"] != 2 || got["b2"] != 2 {
		t.Error(got)
	}
}
