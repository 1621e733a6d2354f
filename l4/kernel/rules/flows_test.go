package rules_test

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel/l4test"
	"github.com/sluicelb/sluice/l4/kernel/rules"
	"github.com/sluicelb/sluice/sysnet/icmp"
)

func TestPreciseFarmPortsMatchFirst(t *testing.T) {
	ports := []farm.PortRange{{First: 80, Last: 80}, {First: 100, Last: 200}}
	for _, c := range []struct {
		protocol  farm.L4Protocol
		ports     []farm.PortRange
		transport uint8
		port      uint16
		want      int
	}{
		{farm.L4TCP, ports, icmp.TCP, 80, 0},
		{farm.L4TCP, ports, icmp.TCP, 100, 1},
		{farm.L4TCP, ports, icmp.TCP, 200, 1},
		{farm.L4TCP, ports, icmp.TCP, 99, -1},
		{farm.L4TCP, ports, icmp.TCP, 201, -1},
		{farm.L4TCP, ports, icmp.UDP, 80, -1},
		{farm.L4TCPUDP, ports, icmp.UDP, 80, 0},
		{farm.L4SCTP, nil, icmp.SCTP, 9, 1},
		{farm.L4SCTP, nil, icmp.TCP, 9, -1},
		{farm.L4All, nil, icmp.TCP, 9, 2},
		{farm.L4All, nil, 50, 9, 2},
		{farm.L4UDP, nil, 50, 9, -1},
	} {
		l := farm.DefaultL4()
		l.Protocol, l.Ports = c.protocol, c.ports
		if got := rules.Takes(l, rules.Transport(c.transport), c.port); got != c.want {
			t.Errorf("%s %v: port %d of %d: %d, want %d", c.protocol, c.ports, c.port, c.transport, got, c.want)
		}
	}
}

// native returns a mark or hash in kernel byte order.
func native(mark uint32) []byte { return binary.NativeEndian.AppendUint32(nil, mark) }

// Keys built from packets in rules equal the keys built here.
func TestFlowKeysEqualThoseOfTheKernel(t *testing.T) {
	client4, client6 := netip.MustParseAddrPort("198.51.100.7:4000"), netip.MustParseAddrPort("[2001:db8::7]:4000")
	for _, c := range []struct {
		name     string
		protocol farm.L4Protocol
		client   netip.AddrPort
		flow     []byte
	}{
		{"flows7_4", farm.L4TCP, client4, []byte{198, 51, 100, 7, 0x0f, 0xa0, 0, 0, 0, 80, 0, 0}},
		{"flows7_4p", farm.L4TCPUDP, client4, []byte{198, 51, 100, 7, 0x0f, 0xa0, 0, 0, 0, 80, 0, 0, 17, 0, 0, 0}},
		{"flows7_4p", farm.L4All, client4, []byte{198, 51, 100, 7, 0x0f, 0xa0, 0, 0, 0, 80, 0, 0, 17, 0, 0, 0}},
		{"flows7_6", farm.L4UDP, client6, native(0x05be9426)},
	} {
		f := direct(func(f *farm.Farm) {
			if f.L4.Protocol = c.protocol; c.client.Addr().Is6() {
				l4test.Six(f)
			}
		})
		m := &icmp.Message{Protocol: icmp.UDP, Src: netip.AddrPortFrom(f.VIP, 80), Dst: c.client}
		if id := rules.Flows(&f); id.Table != rules.Netdev() || id.Name != c.name {
			t.Errorf("%s: flows are in %s", c.protocol, id)
		}
		if got := rules.FlowKey(&f, m); !bytes.Equal(got, c.flow) {
			t.Errorf("%s: % x, want % x", c.name, got, c.flow)
		}
	}
	for client, c := range map[netip.AddrPort]struct {
		backend, marks, ports string
		key                   []byte
	}{
		client4: {"10.0.0.1:8080", "tcp4", "ports_tcp4", []byte{198, 51, 100, 7, 0x0f, 0xa0, 0, 0, 10, 0, 0, 1, 0x1f, 0x90, 0, 0}},
		client6: {"[fd00::1]:8080", "tcp6", "ports_tcp6", append(native(0x1eb0a97c), 0x1f, 0x90, 0, 0)},
	} {
		marks, ports, key := rules.Answers(&icmp.Message{Protocol: icmp.TCP, Src: client, Dst: netip.MustParseAddrPort(c.backend)})
		if marks.Table != rules.Netdev() || marks.Name != c.marks || ports.Name != c.ports || !bytes.Equal(key, c.key) {
			t.Errorf("answers of %s are in %s and %s by % x", c.backend, marks, ports, key)
		}
	}
}
