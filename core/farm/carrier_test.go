package farm_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
)

// ports returns the range from one to n.
func ports(n uint16) []farm.PortRange { return []farm.PortRange{{First: 1, Last: n}} }

func TestEveryL4FarmHasACarrierAndAReason(t *testing.T) {
	none, v6 := uint16(0), netip.MustParseAddr("2001:db8::1")
	for _, c := range []struct {
		l    farm.L4
		path farm.DataPath
		why  string
	}{
		{farm.L4{}, farm.DataPathUserspace, "protocol tcp with nattype nat on port 80 can be served"},
		{farm.L4{DataPath: farm.DataPathUserspace}, farm.DataPathUserspace, "datapath says so"},
		{farm.L4{DataPath: farm.DataPathKernel}, farm.DataPathKernel, "datapath says so"},
		{farm.L4{NAT: farm.NATTarget}, farm.DataPathKernel, "costs least in the kernel"},
		{farm.L4{NAT: farm.NATTarget, DataPath: farm.DataPathUserspace}, farm.DataPathUserspace, "datapath says so"},
		{farm.L4{NAT: farm.NATTarget, DataPath: farm.DataPathUserspace, Protocol: farm.L4UDP}, farm.DataPathKernel, "nattype dnat with protocol udp"},
		{farm.L4{NAT: farm.NATTarget, DataPath: farm.DataPathUserspace, Mark: 7}, farm.DataPathKernel, "and a mark"},
		{farm.L4{NAT: farm.NATTarget, DataPath: farm.DataPathUserspace, Backends: []farm.Backend{{Mark: 7}}}, farm.DataPathKernel, "and a mark"},
		{farm.L4{Mark: 7}, farm.DataPathUserspace, "served completely"},
		{farm.L4{NAT: farm.NATDirect}, farm.DataPathKernel, "nattype dsr works on packets"},
		{farm.L4{Protocol: farm.L4SCTP}, farm.DataPathKernel, "protocol sctp is carried"},
		{farm.L4{Protocol: farm.L4UDP, Ports: ports(32)}, farm.DataPathUserspace, "on port 1:32"},
		{farm.L4{Ports: ports(33)}, farm.DataPathKernel, "33 virtual ports are more than the 32 sockets"},
		{farm.L4{Protocol: farm.L4TCPUDP, Ports: ports(16)}, farm.DataPathUserspace, "on port 1:16"},
		{farm.L4{Protocol: farm.L4TCPUDP, Ports: ports(17)}, farm.DataPathKernel, "17 virtual ports are more than the 16 that"},
		{farm.L4{Ports: []farm.PortRange{}}, farm.DataPathKernel, "all ports"},
		{farm.L4{Persist: farm.L4PersistMAC}, farm.DataPathKernel, "srcmac needs packets"},
		{farm.L4{DataPath: farm.DataPathKernel, ProxyIn: farm.ProxyInOff, ProxyOut: farm.ProxyOutOff}, farm.DataPathKernel, "datapath says so"},
		{farm.L4{DataPath: farm.DataPathKernel, ProxyIn: farm.ProxyInOptional}, farm.DataPathUserspace, "PROXY"},
		{farm.L4{DataPath: farm.DataPathKernel, ProxyOut: farm.ProxyOutV1}, farm.DataPathUserspace, "PROXY"},
		{farm.L4{DataPath: farm.DataPathKernel, Backends: []farm.Backend{{}, {ServerNames: []string{"a"}}}}, farm.DataPathUserspace, "server names"},
		{farm.L4{DataPath: farm.DataPathKernel, QUIC: true}, farm.DataPathUserspace, "QUIC"},
		{farm.L4{DataPath: farm.DataPathKernel, Responses: &none}, farm.DataPathUserspace, "answers are counted"},
		{farm.L4{DataPath: farm.DataPathKernel, Backends: []farm.Backend{{}, {Addr: v6}}}, farm.DataPathUserspace, "2001:db8::1 is of another IP version"},
	} {
		f := of(c.l)
		if path, why := f.Carrier(); path != c.path || !strings.Contains(why, c.why) {
			t.Errorf("%+v: %s, because %s; want %s, because %s", c.l, path, why, c.path, c.why)
		}
		engine := c.path == farm.DataPathUserspace
		if f.InUserspace() != engine || f.InKernel() == engine || f.Transparent() != (engine && c.l.NAT == farm.NATTarget) {
			t.Errorf("%+v: in userspace %v, in the kernel %v, transparent %v", c.l, f.InUserspace(), f.InKernel(), f.Transparent())
		}
	}
	if web := (farm.Farm{HTTP: farm.DefaultHTTP()}); web.InUserspace() || web.InKernel() {
		t.Error("an http farm is one of layer 4")
	}
}

// of returns a farm with these settings, by default tcp, nat and port 80.
func of(l farm.L4) farm.Farm {
	if l.Protocol == "" {
		l.Protocol = farm.L4TCP
	}
	if l.NAT == "" {
		l.NAT = farm.NATMasquerade
	}
	if l.Ports == nil {
		l.Ports = []farm.PortRange{{First: 80, Last: 80}}
	}
	return farm.Farm{Profile: farm.ProfileL4, VIP: netip.MustParseAddr("192.0.2.1"), L4: &l}
}

func TestIdleTimeoutsDependOnTheCarrier(t *testing.T) {
	for _, c := range []struct {
		l    farm.L4
		want farm.Seconds
	}{
		{farm.L4{}, 3600}, {farm.L4{IdleTimeout: 7}, 7},
		{farm.L4{Protocol: farm.L4UDP}, 30}, {farm.L4{Protocol: farm.L4UDP, IdleTimeout: 7}, 7},
		{farm.L4{Protocol: farm.L4TCPUDP}, 0}, {farm.L4{Protocol: farm.L4TCPUDP, IdleTimeout: 7}, 7},
		{farm.L4{DataPath: farm.DataPathKernel}, 0}, {farm.L4{DataPath: farm.DataPathKernel, IdleTimeout: 7}, 7},
		{farm.L4{NAT: farm.NATDirect}, 120}, {farm.L4{NAT: farm.NATStateless}, 120}, {farm.L4{NAT: farm.NATStateless, IdleTimeout: 7}, 7},
	} {
		if f := of(c.l); f.IdleTimeout() != c.want {
			t.Errorf("%+v: %d s, want %d", c.l, f.IdleTimeout(), c.want)
		}
	}
	if web := (farm.Farm{HTTP: farm.DefaultHTTP()}); web.IdleTimeout() != 0 {
		t.Error("an http farm has the time of one of layer 4")
	}
}

// Protocols have the right transports and kernel requirements.
func TestProtocolsHaveTheirTransports(t *testing.T) {
	helped, by := map[bool]int{}, map[string]int{}
	for _, p := range farm.L4Protocols() {
		helped[p.Helper()]++
		by[join(p.Transports())]++
	}
	if helped[false] != 5 || by["tcp"] != 5 || by["udp"] != 5 || by["sctp"] != 1 || by["tcp udp"] != 3 || by["tcp udp sctp"] != 1 {
		t.Errorf("helpers %v, transports %v", helped, by)
	}
}

func join(list []farm.L4Protocol) string {
	var out []string
	for _, p := range list {
		out = append(out, string(p))
	}
	return strings.Join(out, " ")
}
