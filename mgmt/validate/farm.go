package validate

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/format"
)

// Bodies about a farm.
var (
	// FarmCreate is the body of POST /farms for an http farm: Zevenet's fields and all
	// changeable ones, so that a farm is never incomplete.
	FarmCreate = field.Table[farm.Farm]{Fields: slices.Concat(newFarm, noteFields, httpFields, directives)}
	// FarmUpdate is the body of PUT /farms/F of an http farm; setting newfarmname renames.
	FarmUpdate = field.Table[farm.Farm]{Fields: slices.Concat([]field.Field[farm.Farm]{field.Named(farmName, "newfarmname"), farmVIP, farmVPort}, noteFields, httpFields, directives)}
	// FarmAction is the body of PUT /farms/F/actions; the caller performs the action.
	FarmAction = field.Table[farm.Farm]{Fields: []field.Field[farm.Farm]{{Rule: field.Rule{Name: "action", Hints: field.Basic(field.AtBalancing, "Action"), Kind: field.Text, Required: true,
		Values: []string{"start", "stop", "restart"}, About: "Action for the farm."}}}}
	// FarmDocument is an http farm in a document, without its services.
	FarmDocument = field.Table[farm.Farm]{Fields: slices.Concat([]field.Field[farm.Farm]{
		field.Require(farmName), field.Require(farmProfile), field.Require(farmVIP), field.Require(farmVPort), farmStopped,
	}, noteFields, tlsFields, settings, logFields, farmHeaders)}
)

// newFarm lists the first fields for creating any farm. protocol is an extension: without
// it, a port that another farm uses with another protocol could not be requested.
var newFarm = []field.Field[farm.Farm]{
	field.Require(field.Named(farmName, "farmname")), field.Require(farmProfile), field.Require(farmVIP), field.Require(anyVPort), newProtocol, copyFrom,
}

// httpFields are the fields of an http farm except its address.
var httpFields = slices.Concat(tlsFields, tlsLegacy, settings, logFields)

var farmName = field.Field[farm.Farm]{
	Rule: field.Rule{Name: "name", Hints: field.Basic(field.AtAddress, "Name"), Kind: field.Text, Format: "[a-zA-Z0-9][a-zA-Z0-9-]*", MaxLen: format.MaxName, Reserved: reservedFarmNames,
		Pattern: format.FarmName, Must: "a name of letters, digits and hyphens (not the first), at most 64",
		About: "Name of the farm."},
	Get: func(f *farm.Farm) field.Value { return field.TextValue(f.Name) },
	Set: func(f *farm.Farm, v field.Value) { f.Name = v.Text() },
}

var farmProfile = field.Field[farm.Farm]{
	Rule: field.Rule{Name: "profile", Hints: field.Basic(field.AtAddress, "Profile"), Kind: field.Text, Values: field.Texts(append(farm.Profiles(), farm.ProfileHTTPS)), Planned: map[string]string{"datalink": "datalink is not available in this version; it comes with a later one. Farms of http, https, l4xnat and gslb are possible. Until then, the routes of the system choose among several uplinks"},
		About: "Type of the farm; https is http with listener https."},
	Get: func(f *farm.Farm) field.Value { return field.TextValue(string(f.Profile)) },
	Set: func(f *farm.Farm, v field.Value) {
		p := ProfileNamed(farm.Profile(v.Text()))
		f.Profile = p.Name()
		p.begin(f, farm.Profile(v.Text()))
	},
	Needs: func(sent field.Values[farm.Farm], to *farm.Farm) string {
		asked := farm.Profile(sent.Get("profile").Text())
		if asked == farm.ProfileHTTPS && sent.Get("listener").Text() == "http" {
			return "https contradicts listener http; send profile http, or leave listener out"
		}
		if to.Profile == "" || ProfileNamed(asked).Name() == to.Profile {
			return ""
		}
		return fmt.Sprintf("must be %s, that of the farm it is copied from", to.Profile)
	},
}

var farmVIP = field.Field[farm.Farm]{
	Rule: field.Rule{Name: "vip", Hints: field.Basic(field.AtAddress, "Virtual address").Costs(field.CostRestart), Kind: field.Text, Format: "ip", MaxLen: 64, Check: format.VIP,
		Must: "an IPv4 or IPv6 address", About: "Address that clients connect to; 0.0.0.0 or :: listens on all local addresses."},
	Get: func(f *farm.Farm) field.Value { return field.AddrValue(f.VIP) },
	Set: func(f *farm.Farm, v field.Value) { f.VIP, _ = netip.ParseAddr(v.Text()) },
}

var farmVPort = field.Field[farm.Farm]{
	Rule: field.Rule{Name: "vport", Hints: field.Basic(field.AtAddress, "Virtual port").Costs(field.CostRestart), Kind: field.Number, Min: 1, Max: 65535, About: "Port that clients connect to."},
	Get:  func(f *farm.Farm) field.Value { return field.NumberValue(int64(f.VPort)) },
	Set:  func(f *farm.Farm, v field.Value) { f.VPort = uint16(v.Number()) },
}

// anyVPort is the virtual port of a new farm, whose profile is already set.
var anyVPort = func() field.Field[farm.Farm] {
	f := field.Field[farm.Farm]{Rule: vportRule, Get: portsValue}
	f.Must = "a port from 1 to 65535, for profile l4xnat also a list of ports and ranges as 80,443,8000:8010, or * for all"
	f.About = "Port that clients connect to; an l4xnat farm also accepts several ports, or * for all ports (protocol all)."
	f.Set = func(f *farm.Farm, v field.Value) { ProfileOf(f).setPorts(f, v) }
	f.Needs = func(sent field.Values[farm.Farm], to *farm.Farm) string { return ProfileOf(to).portsProblem(sent) }
	return f
}()

var farmStopped = field.Field[farm.Farm]{
	Rule: field.Rule{Name: "stopped", Hints: field.Basic(field.AtAddress, "Stopped").Costs(field.CostRestart), Kind: field.Bool, About: "A stopped farm is kept but has no listener."},
	Get:  func(f *farm.Farm) field.Value { return field.BoolValue(f.Stopped) },
	Set:  func(f *farm.Farm, v field.Value) { f.Stopped = v.Bool() },
}

// serviceNameRule is the rule of the name of a service.
var serviceNameRule = field.Rule{Name: "name", Hints: field.Basic(field.AtAddress, "Name"), Kind: field.Text, Format: "[a-zA-Z0-9_][a-zA-Z0-9_-]*", MaxLen: format.MaxName, Reserved: []string{"0"},
	Pattern: format.ServiceName, Must: "a name of letters, digits, underscores and hyphens (not the first), at most 64",
	About: "Name of the service."}

var copyFrom = field.Field[farm.Farm]{Rule: field.Rule{Name: "copy_from", Hints: field.Advanced(field.AtAddress, "Copy from"), Kind: field.Text, Format: "[a-zA-Z0-9][a-zA-Z0-9-]*", MaxLen: format.MaxName,
	Pattern: format.FarmName, Must: "the name of a farm", About: "Farm to copy all other settings from."}}
