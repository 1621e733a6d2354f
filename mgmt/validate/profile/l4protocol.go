package profile

import (
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/field"
)

var L4 = Part[farm.L4]{EditL4, ReadL4, farm.DefaultL4}

// EditL4 returns the settings to change; the defaults for a new farm.
func EditL4(f *farm.Farm) *farm.L4 {
	if f.L4 == nil {
		f.L4 = farm.DefaultL4()
	}
	return f.L4
}

// ReadL4 returns the settings to read; the defaults for a farm without any.
func ReadL4(f *farm.Farm) *farm.L4 {
	if f.L4 == nil {
		return farm.DefaultL4()
	}
	return f.L4
}

var Protocol = func() field.Field[farm.Farm] {
	f := Word(L4, "protocol", field.Basic(field.AtAddress, "Protocol").Costs(field.CostRestart), "Protocol to balance: all covers every protocol and port, tcp_udp (or a list of both) covers both on the same ports, e.g. for DNS, sip does the same with nattype nat.", farm.L4Protocols(),
		func(l *farm.L4) *farm.L4Protocol { return &l.Protocol })
	f.Words = true
	f.Normalize = map[string]string{
		"netbios": string(farm.L4NetBIOSNS), // the contract uses both names
		"tcp,udp": string(farm.L4TCPUDP), "udp,tcp": string(farm.L4TCPUDP),
	}
	f.Set = func(f *farm.Farm, v field.Value) {
		l := EditL4(f)
		l.Protocol = farm.L4Protocol(v.Text())
		switch l.Protocol {
		case farm.L4All:
			l.Ports = nil
		case farm.L4SIP:
			l.NAT = farm.NATMasquerade
		}
	}
	f.Needs = func(sent field.Values[farm.Farm], to *farm.Farm) string {
		if protocol := sent.Get("protocol").Text(); protocol == string(farm.L4All) || len(ReadL4(to).Ports) > 0 {
			return ""
		}
		return "other than all needs ports, and vport is *; send vport with it"
	}
	return f
}()

// NewProtocol is the protocol of a new farm. The contract sets it only later, which would
// prevent creating two farms with the same port and different protocols while one is
// running.
var NewProtocol = func() field.Field[farm.Farm] {
	f := Protocol
	f.About = "Protocol that an l4xnat farm balances; defaults to tcp, or to all with vport *."
	f.Needs = func(sent field.Values[farm.Farm], to *farm.Farm) string {
		if to.L4 == nil {
			return "is a field of l4xnat farms; send profile l4xnat with it"
		}
		return Protocol.Needs(sent, to)
	}
	return f
}()
