package validate

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/sluicelb/sluice/core/farm"
)

// Bodies about a farm.
var (
	// FarmCreate is the body of POST /farms for an http farm: Zevenet's fields and all
	// changeable ones, so that a farm is never incomplete.
	FarmCreate = Table[farm.Farm]{fields: slices.Concat(newFarm, noteFields, httpFields, directives)}
	// FarmUpdate is the body of PUT /farms/F of an http farm; setting newfarmname renames.
	FarmUpdate = Table[farm.Farm]{fields: slices.Concat([]field[farm.Farm]{named(farmName, "newfarmname"), farmVIP, farmVPort}, noteFields, httpFields, directives)}
	// FarmAction is the body of PUT /farms/F/actions; the caller performs the action.
	FarmAction = Table[farm.Farm]{fields: []field[farm.Farm]{{rule: rule{name: "action", hints: basic(atBalancing, "Action"), kind: kindText, required: true,
		values: []string{"start", "stop", "restart"}, about: "Action for the farm."}}}}
	// FarmDocument is an http farm in a document, without its services.
	FarmDocument = Table[farm.Farm]{fields: slices.Concat([]field[farm.Farm]{
		require(farmName), require(farmProfile), require(farmVIP), require(farmVPort), farmStopped,
	}, noteFields, tlsFields, settings, logFields, farmHeaders)}
)

// newFarm lists the first fields for creating any farm. protocol is an extension: without
// it, a port that another farm uses with another protocol could not be requested.
var newFarm = []field[farm.Farm]{
	require(named(farmName, "farmname")), require(farmProfile), require(farmVIP), require(anyVPort), newProtocol, copyFrom,
}

// httpFields are the fields of an http farm except its address.
var httpFields = slices.Concat(tlsFields, tlsLegacy, settings, logFields)

var farmName = field[farm.Farm]{
	rule: rule{name: "name", hints: basic(atAddress, "Name"), kind: kindText, format: "[a-zA-Z0-9][a-zA-Z0-9-]*", maxLen: MaxName, reserved: reservedFarmNames,
		pattern: farmNamePattern, must: "a name of letters, digits and hyphens (not the first), at most 64",
		about: "Name of the farm."},
	get: func(f *farm.Farm) Value { return textValue(f.Name) },
	set: func(f *farm.Farm, v Value) { f.Name = v.text },
}

var farmProfile = field[farm.Farm]{
	rule: rule{name: "profile", hints: basic(atAddress, "Profile"), kind: kindText, values: texts(append(farm.Profiles(), farm.ProfileHTTPS)), planned: map[string]string{"datalink": "datalink is not available in this version; it comes with a later one. Farms of http, https, l4xnat and gslb are possible. Until then, the routes of the system choose among several uplinks"},
		about: "Type of the farm; https is http with listener https."},
	get: func(f *farm.Farm) Value { return textValue(string(f.Profile)) },
	set: func(f *farm.Farm, v Value) {
		p := ProfileNamed(farm.Profile(v.text))
		f.Profile = p.Name()
		p.begin(f, farm.Profile(v.text))
	},
	needs: func(sent Values[farm.Farm], to *farm.Farm) string {
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

var farmVIP = field[farm.Farm]{
	rule: rule{name: "vip", hints: basic(atAddress, "Virtual address").costs(CostRestart), kind: kindText, format: "ip", maxLen: 64, check: checkVIP,
		must: "an IPv4 or IPv6 address", about: "Address that clients connect to; 0.0.0.0 or :: listens on all local addresses."},
	get: func(f *farm.Farm) Value { return addrValue(f.VIP) },
	set: func(f *farm.Farm, v Value) { f.VIP, _ = netip.ParseAddr(v.text) },
}

var farmVPort = field[farm.Farm]{
	rule: rule{name: "vport", hints: basic(atAddress, "Virtual port").costs(CostRestart), kind: kindNumber, min: 1, max: 65535, about: "Port that clients connect to."},
	get:  func(f *farm.Farm) Value { return numberValue(int64(f.VPort)) },
	set:  func(f *farm.Farm, v Value) { f.VPort = uint16(v.number) },
}

// anyVPort is the virtual port of a new farm, whose profile is already set.
var anyVPort = func() field[farm.Farm] {
	f := field[farm.Farm]{rule: vportRule, get: portsValue}
	f.must = "a port from 1 to 65535, for profile l4xnat also a list of ports and ranges as 80,443,8000:8010, or * for all"
	f.about = "Port that clients connect to; an l4xnat farm also accepts several ports, or * for all ports (protocol all)."
	f.set = func(f *farm.Farm, v Value) { ProfileOf(f).setPorts(f, v) }
	f.needs = func(sent Values[farm.Farm], to *farm.Farm) string { return ProfileOf(to).portsProblem(sent) }
	return f
}()

var farmStopped = field[farm.Farm]{
	rule: rule{name: "stopped", hints: basic(atAddress, "Stopped").costs(CostRestart), kind: kindBool, about: "A stopped farm is kept but has no listener."},
	get:  func(f *farm.Farm) Value { return boolValue(f.Stopped) },
	set:  func(f *farm.Farm, v Value) { f.Stopped = v.truth },
}

// serviceNameRule is the rule of the name of a service.
var serviceNameRule = rule{name: "name", hints: basic(atAddress, "Name"), kind: kindText, format: "[a-zA-Z0-9_][a-zA-Z0-9_-]*", maxLen: MaxName, reserved: []string{"0"},
	pattern: serviceNamePattern, must: "a name of letters, digits, underscores and hyphens (not the first), at most 64",
	about: "Name of the service."}

var copyFrom = field[farm.Farm]{rule: rule{name: "copy_from", hints: advanced(atAddress, "Copy from"), kind: kindText, format: "[a-zA-Z0-9][a-zA-Z0-9-]*", maxLen: MaxName,
	pattern: farmNamePattern, must: "the name of a farm", about: "Farm to copy all other settings from."}}

func addrValue(a netip.Addr) Value {
	if !a.IsValid() {
		return textValue("")
	}
	return textValue(a.String())
}

func require[T any](f field[T]) field[T] { f.required = true; return f }

func named[T any](f field[T], name string) field[T] { f.name = name; return f }

func texts[W ~string](words []W) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = string(w)
	}
	return out
}
