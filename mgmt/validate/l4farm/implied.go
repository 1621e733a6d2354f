package l4farm

import (
	"fmt"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
)

// Some values of an l4xnat farm imply others. All ports imply protocol all and vice versa,
// and SIP implies its ports and NAT type. A value sent alone sets the implied ones; a
// contradiction in the same body is rejected. vport precedes protocol in the tables, so its
// rule sees the previous protocol.

var vport = func() field.Field[farm.Farm] {
	f := field.Field[farm.Farm]{Rule: profile.VPortRule, Get: profile.PortsValue, Set: setPorts, Needs: needsPorts}
	f.About = "Ports that clients connect to: one port, a list of ports and ranges, or * for all ports (protocol all). Ports of a farm with protocol sip cannot be changed."
	return f
}()

func setPorts(f *farm.Farm, v field.Value) {
	l := profile.EditL4(f)
	l.Ports, _ = profile.ParsePorts(v.Text())
	switch {
	case len(l.Ports) == 0:
		l.Protocol = farm.L4All
	case l.Protocol == farm.L4All:
		l.Protocol = farm.L4TCP
	}
}

func needsPorts(sent field.Values[farm.Farm], to *farm.Farm) string {
	ports, protocol := sent.Get("vport").Text(), farm.L4Protocol(sent.Get("protocol").Text())
	if profile.ReadL4(to).Protocol == farm.L4SIP && (protocol == "" || protocol == farm.L4SIP) && ports != to.PortsText() {
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

var natType = func() field.Field[farm.Farm] {
	f := profile.Word(profile.L4, "nattype", field.Basic(field.AtDataPath, "NAT type").Costs(field.CostRestart), "Address translation: nat (backends see the appliance's address), dnat (backends see the client and respond through the appliance), "+
		"dsr (backends respond to the client directly) or stateless_dnat (dnat without connection tracking).", farm.NATTypes(),
		func(l *farm.L4) *farm.NATType { return &l.NAT })
	f.Needs = func(sent field.Values[farm.Farm], to *farm.Farm) string {
		if nat := sent.Get("nattype").Text(); nat == string(farm.NATMasquerade) || profile.ReadL4(to).Protocol != farm.L4SIP {
			return ""
		}
		return sipNeedsNAT + "; send nattype nat, or protocol udp"
	}
	return f
}()

// persistence clears static sessions when the kind changes, because they are keys of the
// old kind.
var persistence = field.Field[farm.Farm]{
	Rule: field.Rule{Name: "persistence", Hints: field.Basic(field.AtPersistence, "Persistence").Costs(field.CostConnections), Kind: field.Text, Values: append([]string{""}, field.Texts(farm.L4Persistences())...), Null: true,
		Normalize: map[string]string{"none": "", "ip": string(farm.L4PersistSrc)},
		ShownAs:   map[string]string{string(farm.L4PersistSrc): PersistenceText(farm.L4PersistSrc)},
		About:     "Client attribute used for persistence; empty or none disables persistence, ip is an alias for srcip."},
	Get: func(f *farm.Farm) field.Value { return field.TextValue(string(profile.ReadL4(f).Persist)) },
	Set: func(f *farm.Farm, v field.Value) {
		l := profile.EditL4(f)
		if string(l.Persist) != v.Text() {
			for i := range l.Backends {
				l.Backends[i].Sessions = nil
			}
		}
		l.Persist = farm.L4Persistence(v.Text())
	},
}

// PersistenceText returns the family's spelling of a kind of persistence: "ip" for srcip.
// Bodies accept both.
func PersistenceText(p farm.L4Persistence) string {
	if p == farm.L4PersistSrc {
		return "ip"
	}
	return string(p)
}
