package validate

import (
	"fmt"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/field"
)

// Some values of an l4xnat farm imply others. All ports imply protocol all and vice versa,
// and SIP implies its ports and NAT type. A value sent alone sets the implied ones; a
// contradiction in the same body is rejected. vport precedes protocol in the tables, so its
// rule sees the previous protocol.

var l4VPort = func() field.Field[farm.Farm] {
	f := field.Field[farm.Farm]{Rule: vportRule, Get: portsValue, Set: setPorts, Needs: needsPorts}
	f.About = "Ports that clients connect to: one port, a list of ports and ranges, or * for all ports (protocol all). Ports of a farm with protocol sip cannot be changed."
	return f
}()

func setPorts(f *farm.Farm, v field.Value) {
	l := l4Of(f)
	l.Ports, _ = ParsePorts(v.Text())
	switch {
	case len(l.Ports) == 0:
		l.Protocol = farm.L4All
	case l.Protocol == farm.L4All:
		l.Protocol = farm.L4TCP
	}
}

func needsPorts(sent field.Values[farm.Farm], to *farm.Farm) string {
	ports, protocol := sent.Get("vport").Text(), farm.L4Protocol(sent.Get("protocol").Text())
	if l4Seen(to).Protocol == farm.L4SIP && (protocol == "" || protocol == farm.L4SIP) && ports != to.PortsText() {
		return fmt.Sprintf("cannot be changed while protocol is sip, it is %s; send another protocol with it", to.PortsText())
	}
	return contradiction(ports, protocol)
}

// contradiction explains a conflict between ports and protocol of the same body. protocol
// is "" if none was sent.
func contradiction(ports string, protocol farm.L4Protocol) string {
	switch {
	case ports == "*" && protocol != "" && protocol != farm.L4All:
		return fmt.Sprintf("* means all ports of every protocol, which contradicts protocol %s; send protocol all, or ports", protocol)
	case ports != "*" && protocol == farm.L4All:
		return fmt.Sprintf("%s contradicts protocol all, which has every port; send vport *, or another protocol", field.Show(ports))
	}
	return ""
}

var l4Protocol = func() field.Field[farm.Farm] {
	f := wordIn(l4Part, "protocol", field.Basic(field.AtAddress, "Protocol").Costs(field.CostRestart), "Protocol to balance: all covers every protocol and port, tcp_udp (or a list of both) covers both on the same ports, e.g. for DNS, sip does the same with nattype nat.", farm.L4Protocols(),
		func(l *farm.L4) *farm.L4Protocol { return &l.Protocol })
	f.Words = true
	f.Normalize = map[string]string{
		"netbios": string(farm.L4NetBIOSNS), // the contract uses both names
		"tcp,udp": string(farm.L4TCPUDP), "udp,tcp": string(farm.L4TCPUDP),
	}
	f.Set = func(f *farm.Farm, v field.Value) {
		l := l4Of(f)
		l.Protocol = farm.L4Protocol(v.Text())
		switch l.Protocol {
		case farm.L4All:
			l.Ports = nil
		case farm.L4SIP:
			l.NAT = farm.NATMasquerade
		}
	}
	f.Needs = func(sent field.Values[farm.Farm], to *farm.Farm) string {
		if protocol := sent.Get("protocol").Text(); protocol == string(farm.L4All) || len(l4Seen(to).Ports) > 0 {
			return ""
		}
		return "other than all needs ports, and vport is *; send vport with it"
	}
	return f
}()

// newProtocol is the protocol of a new farm. The contract sets it only later, which would
// prevent creating two farms with the same port and different protocols while one is
// running.
var newProtocol = func() field.Field[farm.Farm] {
	f := l4Protocol
	f.About = "Protocol that an l4xnat farm balances; defaults to tcp, or to all with vport *."
	f.Needs = func(sent field.Values[farm.Farm], to *farm.Farm) string {
		if to.L4 == nil {
			return "is a field of l4xnat farms; send profile l4xnat with it"
		}
		return l4Protocol.Needs(sent, to)
	}
	return f
}()

var l4NAT = func() field.Field[farm.Farm] {
	f := wordIn(l4Part, "nattype", field.Basic(field.AtDataPath, "NAT type").Costs(field.CostRestart), "Address translation: nat (backends see the appliance's address), dnat (backends see the client and respond through the appliance), "+
		"dsr (backends respond to the client directly) or stateless_dnat (dnat without connection tracking).", farm.NATTypes(),
		func(l *farm.L4) *farm.NATType { return &l.NAT })
	f.Needs = func(sent field.Values[farm.Farm], to *farm.Farm) string {
		if nat := sent.Get("nattype").Text(); nat == string(farm.NATMasquerade) || l4Seen(to).Protocol != farm.L4SIP {
			return ""
		}
		return sipNeedsNAT + "; send nattype nat, or protocol udp"
	}
	return f
}()

// l4Persistence clears static sessions when the kind changes, because they are keys of the
// old kind.
var l4Persistence = field.Field[farm.Farm]{
	Rule: field.Rule{Name: "persistence", Hints: field.Basic(field.AtPersistence, "Persistence").Costs(field.CostConnections), Kind: field.Text, Values: append([]string{""}, field.Texts(farm.L4Persistences())...), Null: true,
		Normalize: map[string]string{"none": "", "ip": string(farm.L4PersistSrc)},
		ShownAs:   map[string]string{string(farm.L4PersistSrc): L4PersistenceText(farm.L4PersistSrc)},
		About:     "Client attribute used for persistence; empty or none disables persistence, ip is an alias for srcip."},
	Get: func(f *farm.Farm) field.Value { return field.TextValue(string(l4Seen(f).Persist)) },
	Set: func(f *farm.Farm, v field.Value) {
		l := l4Of(f)
		if string(l.Persist) != v.Text() {
			for i := range l.Backends {
				l.Backends[i].Sessions = nil
			}
		}
		l.Persist = farm.L4Persistence(v.Text())
	},
}

// L4PersistenceText returns the family's spelling of a kind of persistence: "ip" for srcip.
// Bodies accept both.
func L4PersistenceText(p farm.L4Persistence) string {
	if p == farm.L4PersistSrc {
		return "ip"
	}
	return string(p)
}
