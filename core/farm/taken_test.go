package farm_test

import (
	"testing"

	"github.com/sluicelb/sluice/core/farm"
)

func TestFarmsTakeThePortsOfTheirTransports(t *testing.T) {
	http := farm.Farm{VPort: 80, HTTP: farm.DefaultHTTP()}
	dns := farm.Farm{L4: &farm.L4{Protocol: farm.L4TCPUDP, Ports: []farm.PortRange{{First: 53, Last: 53}}}}
	sip := farm.Farm{L4: &farm.L4{Protocol: farm.L4SIP, Ports: []farm.PortRange{{First: 5060, Last: 5061}}}}
	all := farm.Farm{L4: &farm.L4{Protocol: farm.L4All}}
	for _, c := range []struct {
		f         *farm.Farm
		transport farm.L4Protocol
		port      uint16
		takes     bool
	}{
		{&http, farm.L4TCP, 80, true}, {&http, farm.L4TCP, 81, false}, {&http, farm.L4UDP, 80, false},
		{&sip, farm.L4UDP, 5060, true}, {&sip, farm.L4TCP, 5061, true}, {&sip, farm.L4TCP, 5062, false}, {&sip, farm.L4SCTP, 5060, false},
		{&dns, farm.L4UDP, 53, true}, {&dns, farm.L4TCP, 53, true}, {&dns, farm.L4SCTP, 53, false},
		{&all, farm.L4SCTP, 1, true}, {&all, farm.L4UDP, 65535, true},
	} {
		if got := c.f.Takes(c.transport, c.port); got != c.takes {
			t.Errorf("%s %d of %s: %v", c.transport, c.port, c.f.PortsText(), got)
		}
	}
}
