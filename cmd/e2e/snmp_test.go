package e2e_test

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/sluicelb/sluice/sysnet/housetest"
)

// snmpMessage asks for an object, or answers with an address (RFC 1157 §4).
func snmpMessage(kind byte, value ...byte) []byte {
	in := func(tag byte, inner []byte) []byte { return append([]byte{tag, byte(len(inner))}, inner...) }
	join := func(all ...[]byte) (out []byte) {
		for _, b := range all {
			out = append(out, b...)
		}
		return out
	}
	object := in(0x30, join(in(6, []byte{0x2b, 6, 1, 2, 1, 4, 20, 1, 1}), value))
	pdu := in(kind, join(in(2, []byte{0, 0, 0, 1}), in(2, []byte{0}), in(2, []byte{0}), in(0x30, object)))
	return in(0x30, join(in(2, []byte{0}), in(4, []byte("public")), pdu))
}

// The kernel's helper refuses what is no SNMP and writes its own address where
// clients name theirs; what agents say of themselves it leaves alone.
func TestSNMPAgentsAreAskedThrough(t *testing.T) {
	s := housetest.Plan{Backends: 2}.Build(housetest.New(t))
	vip, _ := s.VIP(200)
	for _, b := range s.Backends {
		c := b.ListenPacket("udp", b.V4+":161")
		own := netip.MustParseAddr(b.V4).As4()
		go func() {
			for buf := make([]byte, 2000); ; {
				_, from, err := c.ReadFrom(buf)
				if err != nil {
					return
				}
				_, _ = c.WriteTo(snmpMessage(0xa2, append([]byte{0x40, 4}, own[:]...)...), from)
			}
		}()
	}
	installed(t, s, "--config", file(t, fmt.Sprintf(`farms:
- {name: agents, profile: l4xnat, vip: %s, vport: 161, protocol: snmp, algorithm: roundrobin, backends: [{ip: 10.10.2.11}, {ip: 10.10.2.12}]}
`, vip)))
	got := map[string]int{}
	for range 4 {
		c, err := s.Client.Dial(t.Context(), "udp", vip+":161")
		if err != nil {
			t.Fatal(err)
		}
		_ = c.SetDeadline(time.Now().Add(2 * time.Second))
		_, _ = c.Write(snmpMessage(0xa0, 5, 0))
		b := make([]byte, 2000)
		n, err := c.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		got[netip.AddrFrom4([4]byte(b[n-4:n])).String()]++
		_ = c.Close()
	}
	if got[s.Backends[0].V4] != 2 || got[s.Backends[1].V4] != 2 {
		t.Error(got)
	}
}

// Its helper is for answers to broadcasts, which no farm gets; names have to be
// found with it assigned.
func TestNetBIOSNamesAreAskedForThrough(t *testing.T) {
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
