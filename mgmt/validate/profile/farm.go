package profile

import (
	"fmt"
	"net/netip"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/format"
)

// MaxServices is the maximum number of services of a farm.
const MaxServices = 4096

// FarmAction is the body of PUT /farms/F/actions; the caller performs the action.
var FarmAction = field.Table[farm.Farm]{Fields: []field.Field[farm.Farm]{{Rule: field.Rule{Name: "action", Hints: field.Basic(field.AtBalancing, "Action"), Kind: field.Text, Required: true,
	Values: []string{"start", "stop", "restart"}, About: "Action for the farm."}}}}

// NewFarm lists the first fields for creating any farm. protocol is an extension: without
// it, a port that another farm uses with another protocol could not be requested.
var NewFarm = []field.Field[farm.Farm]{
	field.Require(field.Named(FarmName, "farmname")), field.Require(FarmProfile), field.Require(FarmVIP), field.Require(anyVPort), NewProtocol, copyFrom,
}

var FarmName = field.Field[farm.Farm]{
	Rule: field.Rule{Name: "name", Hints: field.Basic(field.AtAddress, "Name"), Kind: field.Text, Format: "[a-zA-Z0-9][a-zA-Z0-9-]*", MaxLen: format.MaxName, Reserved: reservedNames,
		Pattern: format.FarmName, Must: "a name of letters, digits and hyphens (not the first), at most 64",
		About: "Name of the farm."},
	Get: func(f *farm.Farm) field.Value { return field.TextValue(f.Name) },
	Set: func(f *farm.Farm, v field.Value) { f.Name = v.Text() },
}

var FarmProfile = field.Field[farm.Farm]{
	Rule: field.Rule{Name: "profile", Hints: field.Basic(field.AtAddress, "Profile"), Kind: field.Text, Values: field.Texts(append(farm.Profiles(), farm.ProfileHTTPS)), Planned: map[string]string{"datalink": "datalink is not available in this version; it comes with a later one. Farms of http, https, l4xnat and gslb are possible. Until then, the routes of the system choose among several uplinks"},
		About: "Type of the farm; https is http with listener https."},
	Get: func(f *farm.Farm) field.Value { return field.TextValue(string(f.Profile)) },
	Set: func(f *farm.Farm, v field.Value) {
		p := Named(farm.Profile(v.Text()))
		f.Profile = p.Name()
		p.Begin(f, farm.Profile(v.Text()))
	},
	Needs: func(sent field.Values[farm.Farm], to *farm.Farm) string {
		asked := farm.Profile(sent.Get("profile").Text())
		if asked == farm.ProfileHTTPS && sent.Get("listener").Text() == "http" {
			return "https contradicts listener http; send profile http, or leave listener out"
		}
		if to.Profile == "" || Named(asked).Name() == to.Profile {
			return ""
		}
		return fmt.Sprintf("must be %s, that of the farm it is copied from", to.Profile)
	},
}

var FarmVIP = field.Field[farm.Farm]{
	Rule: field.Rule{Name: "vip", Hints: field.Basic(field.AtAddress, "Virtual address").Costs(field.CostRestart), Kind: field.Text, Format: "ip", MaxLen: 64, Check: format.VIP,
		Must: "an IPv4 or IPv6 address", About: "Address that clients connect to; 0.0.0.0 or :: listens on all local addresses."},
	Get: func(f *farm.Farm) field.Value { return field.AddrValue(f.VIP) },
	Set: func(f *farm.Farm, v field.Value) { f.VIP, _ = netip.ParseAddr(v.Text()) },
}

var FarmVPort = field.Field[farm.Farm]{
	Rule: field.Rule{Name: "vport", Hints: field.Basic(field.AtAddress, "Virtual port").Costs(field.CostRestart), Kind: field.Number, Min: 1, Max: 65535, About: "Port that clients connect to."},
	Get:  func(f *farm.Farm) field.Value { return field.NumberValue(int64(f.VPort)) },
	Set:  func(f *farm.Farm, v field.Value) { f.VPort = uint16(v.Number()) },
}

// anyVPort is the virtual port of a new farm, whose profile is already set.
var anyVPort = func() field.Field[farm.Farm] {
	f := field.Field[farm.Farm]{Rule: VPortRule, Get: PortsValue}
	f.Must = "a port from 1 to 65535, for profile l4xnat also a list of ports and ranges as 80,443,8000:8010, or * for all"
	f.About = "Port that clients connect to; an l4xnat farm also accepts several ports, or * for all ports (protocol all)."
	f.Set = func(f *farm.Farm, v field.Value) { Of(f).SetPorts(f, v) }
	f.Needs = func(sent field.Values[farm.Farm], to *farm.Farm) string { return Of(to).PortsProblem(sent) }
	return f
}()

var FarmStopped = field.Field[farm.Farm]{
	Rule: field.Rule{Name: "stopped", Hints: field.Basic(field.AtAddress, "Stopped").Costs(field.CostRestart), Kind: field.Bool, About: "A stopped farm is kept but has no listener."},
	Get:  func(f *farm.Farm) field.Value { return field.BoolValue(f.Stopped) },
	Set:  func(f *farm.Farm, v field.Value) { f.Stopped = v.Bool() },
}

// ServiceNameRule is the rule of the name of a service.
var ServiceNameRule = field.Rule{Name: "name", Hints: field.Basic(field.AtAddress, "Name"), Kind: field.Text, Format: "[a-zA-Z0-9_][a-zA-Z0-9_-]*", MaxLen: format.MaxName, Reserved: []string{"0"},
	Pattern: format.ServiceName, Must: "a name of letters, digits, underscores and hyphens (not the first), at most 64",
	About: "Name of the service."}

var copyFrom = field.Field[farm.Farm]{Rule: field.Rule{Name: "copy_from", Hints: field.Advanced(field.AtAddress, "Copy from"), Kind: field.Text, Format: "[a-zA-Z0-9][a-zA-Z0-9-]*", MaxLen: format.MaxName,
	Pattern: format.FarmName, Must: "the name of a farm", About: "Farm to copy all other settings from."}}

// reservedNames would hide API paths: /stats/farms/total, /farms/modules/…; 0 is
// rejected for every object.
var reservedNames = []string{"0", "modules", "total"}
