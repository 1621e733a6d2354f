package housetest_test

import (
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/sysnet/housetest"
)

func addr(s string) netip.AddrPort { return netip.AddrPortFrom(netip.MustParseAddr(s), 0) }

func TestClientReachesBackendThroughARuleOfTheAppliance(t *testing.T) {
	s := housetest.Plan{Sources: 2, Backends: 2, Direct: 1, Router: true}.Build(housetest.New(t))
	vip4, vip6 := s.VIP(200)
	s.Appliance.Sysctl("net.ipv4.ip_forward", "1")
	s.Appliance.Sysctl("net.ipv6.conf.all.forwarding", "1")
	s.Appliance.Feed(`table inet t { chain p { type nat hook prerouting priority dstnat
		ip daddr `+vip4+` tcp dport 80 dnat ip to 10.10.2.11:8080
		ip6 daddr `+vip6+` udp dport 80 dnat ip6 to [fd00:2::12]:8080
	}
	}`, "nft", "-f", "-")
	one := s.Backends[0].Server("b1", 8080)
	s.Backends[1].Server("b2", 8080)
	seen := s.Backends[0].Link.Capture()

	a, err := s.Client.Ask("tcp", addr("10.10.1.101"), vip4+":80")
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if a.Server != "b1" || a.From.Addr() != netip.MustParseAddr("10.10.1.101") || a.To.String() != "10.10.2.11:8080" || a.Remote.String() != vip4+":80" {
		t.Errorf("TCP: %+v", a.Seen)
	}
	if err := a.Again(strings.Repeat("x", 100_000)); err != nil {
		t.Error(err)
	}
	if got := one.Seen(); len(got) != 1 || got[0] != a.Seen {
		t.Errorf("the server saw %+v", got)
	}
	u, err := s.Client.Ask("udp", addr("fd00:1::100"), "["+vip6+"]:80")
	if err != nil {
		t.Fatal(err)
	}
	defer u.Close()
	if u.Server != "b2" || u.From.Addr() != netip.MustParseAddr("fd00:1::100") || u.To.String() != "[fd00:2::12]:8080" {
		t.Errorf("UDP: %+v", u.Seen)
	}
	if err := u.Again("again"); err != nil {
		t.Error(err)
	}
	for _, f := range seen.Stop() {
		if f.Protocol == "tcp" && !f.Outgoing && f.Dst.String() == "10.10.2.11:8080" && f.SrcMAC.String() == s.BackLink.MAC.String() {
			return
		}
	}
	t.Error("no frame of the connection was recorded")
}

func TestDirectBackendHidesTheVIPAndFarClientsAreRouted(t *testing.T) {
	s := housetest.Plan{Direct: 2, Router: true}.Build(housetest.New(t))
	vip4, vip6 := s.VIP(200)
	s.Direct[0].Server("d1", 80)
	s.Appliance.Server("appliance", 80)
	for _, vip := range []string{vip4 + ":80", "[" + vip6 + "]:80"} {
		a, err := s.Far.Ask("tcp", netip.AddrPort{}, vip)
		if err != nil {
			t.Fatal(err)
		}
		if a.Server != "appliance" {
			t.Errorf("%s is answered by %s, want %s", vip, a.Server, "appliance")
		}
		a.Close()
	}
	if a, err := s.Far.Ask("udp", netip.AddrPort{}, "10.10.1.11:80"); err != nil || a.Server != "d1" {
		t.Errorf("%+v, %v", a, err)
	}
}

func TestPlainDevicesSendCompleteChecksums(t *testing.T) {
	s := housetest.Plan{Backends: 1}.Build(housetest.New(t))
	s.BackLink.Plain()
	s.Backends[0].Link.Plain()
	s.Backends[0].Server("b1", 80)
	c := s.Backends[0].Link.Capture()
	for _, to := range []string{"10.10.2.11:80", "[fd00:2::11]:80"} {
		for _, network := range []string{"tcp", "udp"} {
			a, err := s.Appliance.Ask(network, netip.AddrPort{}, to)
			if err != nil {
				t.Fatal(err)
			}
			if err := a.Again("hello"); err != nil {
				t.Error(err)
			}
			a.Close()
		}
	}
	n := 0
	for _, f := range c.Stop() {
		if bad := f.BadChecksums(); bad != nil {
			t.Errorf("%v → %v: got %v, want nil", f.Src, f.Dst, bad)
		}
		if f.Protocol == "tcp" || f.Protocol == "udp" {
			n++
		}
	}
	if n < 12 {
		t.Errorf("only %d frames", n)
	}
}

func TestCommandsAndSysctlsBelongToTheirNamespace(t *testing.T) {
	h := housetest.New(t)
	a, b := h.Namespace("a"), h.Namespace("b")
	b.Sysctl("net.ipv4.ip_forward", "0") // a new namespace inherits the value of the machine
	a.Sysctl("net.ipv4.ip_forward", "1")
	if a.SysctlValue("net.ipv4.ip_forward") != "1" || b.SysctlValue("net.ipv4.ip_forward") != "0" {
		t.Error("a sysctl of one namespace is visible in the other")
	}
	if out := a.Run("ip", "-o", "link"); strings.Count(out, "\n") != 1 {
		t.Errorf("devices: %s", out)
	}
	here, _ := os.Readlink("/proc/self/ns/net")
	a.Serve("sleep", "60")
	cmd := a.Run("readlink", "/proc/self/ns/net")
	if strings.TrimSpace(cmd) == here {
		t.Error("a command ran outside")
	}
	if after, _ := os.Readlink("/proc/thread-self/ns/net"); after != here {
		t.Error("the test did not return to its namespace")
	}
}
