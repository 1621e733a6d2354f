package snmp_test

import (
	"testing"

	"github.com/gosnmp/gosnmp"

	"github.com/sluicelb/sluice/mgmt/probe"
	"github.com/sluicelb/sluice/mgmt/probe/probetest"
	"github.com/sluicelb/sluice/mgmt/probe/snmp"
)

const uptime, name, none = ".1.3.6.1.2.1.1.3.0", ".1.3.6.1.2.1.1.5.0", ".1.3.6.1.2.1.1.9.0"

// agent starts an agent of version 2c with two values.
func agent(t *testing.T) probe.Target {
	return probetest.Datagrams(t, func(asked []byte) []byte {
		coder := &gosnmp.GoSNMP{Version: gosnmp.Version2c, Community: "c0mm", MaxOids: 10}
		p, err := coder.SnmpDecodePacket(asked)
		if err != nil || p.Community != "c0mm" {
			return nil
		}
		var values []gosnmp.SnmpPDU
		for _, v := range p.Variables {
			switch v.Name {
			case uptime:
				v.Type, v.Value = gosnmp.TimeTicks, uint32(4200)
			case name:
				v.Type, v.Value = gosnmp.OctetString, "router one"
			default:
				v.Type, v.Value = gosnmp.NoSuchObject, nil
			}
			values = append(values, v)
		}
		coder.SetRequestID(p.RequestID - 1)
		out, err := coder.SnmpEncodePacket(gosnmp.GetResponse, values, 0, 0)
		if err != nil {
			t.Error(err)
		}
		return out
	})
}

func TestValuesAreJudged(t *testing.T) {
	to := agent(t)
	for _, c := range []struct {
		args   []string
		reason string
	}{
		{[]string{"-o", uptime}, ""}, {[]string{"-o", uptime[1:] + "," + name}, ""},
		{[]string{"-o", uptime, "-w", "4000:5000", "-c", "9000"}, ""}, {[]string{"-o", uptime, "-w", "4000"}, "is 4200, wanted 4000"},
		{[]string{"-o", name, "-s", "router one"}, ""}, {[]string{"-o", name, "-s", "router"}, `is "router one", wanted "router"`},
		{[]string{"-o", name, "-r", "^router"}, ""}, {[]string{"-o", name, "-r", "^Router"}, "does not match"}, {[]string{"-o", name, "-R", "^Router"}, ""},
		{[]string{"-o", name, "-w", "1"}, "which is no number"}, {[]string{"-o", none}, "the agent has no " + none},
	} {
		got := probetest.Check(t, "check_snmp", snmp.Check, to, append([]string{"-p", "PORT", "-P", "2c", "-C", "c0mm"}, c.args...)...)
		if c.reason == "" {
			got.Healthy(t)
		} else {
			got.Down(t, c.reason)
		}
	}
	probetest.In(t, 3e8, "check_snmp", snmp.Check, to, "-p", "PORT", "-P", "2c", "-C", "wrong", "-o", uptime).Down(t, "no")
}
