package e2e_test

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gopacket/gopacket/layers"

	"github.com/sluicelb/sluice/sysnet/housetest"
)

// narrow is the MTU of the router's link to the clients beyond it.
const narrow = 1280

// narrowSite returns a site with clients behind a router, and one farm for each NAT type and
// IP version, by port.
func narrowSite(t *testing.T, protocol string) (s *housetest.Site, farms map[string]netip.AddrPort) {
	s = housetest.Plan{Backends: 2, Direct: 2, Router: true}.Build(housetest.New(t))
	vip4, vip6 := s.VIP(200)
	yaml := "farms:\n"
	farms = map[string]netip.AddrPort{}
	for i, kind := range []struct{ name, nat, ports string }{
		{"nat", "nat", "1000"}, {"dnat", "dnat", "1010"}, {"dsr", "dsr", "1020"}, {"stateless", "stateless_dnat", "1030"}, {"several", "stateless_dnat", "1040,1050"},
	} {
		for j, vip := range []string{vip4, vip6} {
			machines, to := s.Backends, fmt.Sprintf(", port: %d", 8080+i) // replies of stateless_dnat are distinguished by it
			if kind.nat == "dsr" {                                        // the port is the client's
				machines, to = s.Direct, ""
			}
			var backends []string
			for _, m := range machines {
				backends = append(backends, fmt.Sprintf("{ip: %q%s}", []string{m.V4, m.V6}[j], to))
			}
			name := fmt.Sprintf("%s%d", kind.name, 4+2*j)
			yaml += fmt.Sprintf("- {name: %s, profile: l4xnat, vip: %q, vport: %q, protocol: %s, nattype: %s, datapath: kernel, algorithm: roundrobin, backends: [%s]}\n",
				name, vip, kind.ports, protocol, kind.nat, strings.Join(backends, ", "))
			farms[name] = netip.AddrPortFrom(netip.MustParseAddr(vip), uint16(1000+10*i))
		}
	}
	installed(t, s, "--config", file(t, yaml))
	return s, farms
}

// narrowed sets the MTU of a machine's route to the clients beyond the router, so that it
// sends ICMP errors for larger packets.
func narrowed(n *housetest.Namespace, way4, way6 string) {
	for _, way := range []string{"route replace 10.10.3.0/24 " + way4, "-6 route replace fd00:3::/64 " + way6} {
		n.Run("ip", strings.Fields(way+" mtu lock "+fmt.Sprint(narrow))...)
	}
}

func TestPathMTUIsFoundInEveryMode(t *testing.T) {
	notUnderRace(t)
	s, farms := narrowSite(t, "tcp")
	narrowed(s.Router, "dev beyond", "dev beyond metric 256") // replaces the automatic one
	largeThings(t, s, farms)
}

func TestPathMTUOfTheAppliancesOwnWayIsFound(t *testing.T) {
	notUnderRace(t)
	s, farms := narrowSite(t, "tcp")
	narrowed(s.Appliance, "via 10.10.1.254", "via fd00:1::fe")
	for _, d := range s.Direct { // they reply without the appliance
		narrowed(d.Namespace, "via 10.10.1.254", "via fd00:1::fe")
	}
	// With several ports the source port of a reply is rewritten before its route is known,
	// which is a limitation.
	delete(farms, "several4")
	delete(farms, "several6")
	largeThings(t, s, farms)
}

// largeThings makes clients download data in packets larger than their path allows.
func largeThings(t *testing.T, s *housetest.Site, farms map[string]netip.AddrPort) {
	t.Helper()
	for i := range 2 {
		s.Backends[i].Server(s.Backends[i].Name, 8080, 8081, 8083, 8084)
		s.Direct[i].Server(s.Direct[i].Name, 1020)
	}
	captures := map[string]*housetest.Capture{"b": s.Backends[0].Link.Capture(), "d": s.Direct[0].Link.Capture()}
	for name, to := range farms {
		for range 4 { // both backends
			a, err := s.Far.Ask("tcp", netip.AddrPort{}, to.String())
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if err := a.Again(strings.Repeat("much ", 20_000)); err != nil {
				t.Errorf("%s by %s: data larger than the path MTU is lost: %v", name, a.Server, err)
			}
			a.Close()
		}
		// The kernel caches path MTUs by client: the next one must discover it.
		for _, m := range append(s.Backends, s.Direct...) {
			m.Run("ip", "route", "flush", "cache")
			m.Run("ip", "-6", "route", "flush", "cache")
		}
	}
	for where, c := range captures {
		knows := where == "d" && s.Direct[0].Run("ip", "route", "show", "10.10.3.0/24") != "" // by its own routes
		told := map[string]bool{"icmp": knows, "icmp6": knows}

		for _, f := range c.Stop() {
			if f.Outgoing || f.Protocol != "icmp" && f.Protocol != "icmp6" {
				continue
			}
			if tooBig(&f) {
				told[f.Protocol] = true
			}
			if bad := f.BadChecksums(); bad != nil {
				t.Errorf("%s: an ICMP message from %v: got %v, want nil", where, f.Src, bad)
			}
		}
		if !told["icmp"] || !told["icmp6"] {
			t.Errorf("%s1 got ICMP errors by %v", where, told)
		}
	}
}

func tooBig(f *housetest.Frame) bool {
	if l, ok := f.Packet.Layer(layers.LayerTypeICMPv4).(*layers.ICMPv4); ok {
		return l.TypeCode == layers.CreateICMPv4TypeCode(layers.ICMPv4TypeDestinationUnreachable, layers.ICMPv4CodeFragmentationNeeded)
	}
	l, ok := f.Packet.Layer(layers.LayerTypeICMPv6).(*layers.ICMPv6)
	return ok && l.TypeCode.Type() == layers.ICMPv6TypePacketTooBig
}

func TestRefusedDatagramsAreReportedInEveryMode(t *testing.T) {
	notUnderRace(t)
	s, farms := narrowSite(t, "udp") // nothing listens on the backends
	for name, to := range farms {
		began := time.Now()
		_, err := s.Far.Ask("udp", netip.AddrPort{}, to.String())
		if !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("%s: the client has %v", name, err)
		}
		t.Logf("%s: told after %v", name, time.Since(began))
	}
}
