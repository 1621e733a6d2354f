package validate

import (
	"net/netip"
	"slices"

	"github.com/sluicelb/sluice/core/farm"
)

// The bodies about a farm.
var (
	// FarmCreate is the body of POST /farms.
	FarmCreate = Table[farm.Farm]{[]field[farm.Farm]{
		require(named(farmName, "farmname")), require(farmProfile), require(farmVIP), require(farmVPort), copyFrom,
	}}
	// FarmUpdate is the body of PUT /farms/F; setting newfarmname renames.
	FarmUpdate = Table[farm.Farm]{slices.Concat([]field[farm.Farm]{named(farmName, "newfarmname"), farmVIP, farmVPort},
		tlsFields, tlsLegacy, directives, logFields)}
	// FarmAction is the body of PUT /farms/F/actions; the caller acts on it.
	FarmAction = Table[farm.Farm]{[]field[farm.Farm]{{rule: rule{name: "action", kind: kindText, required: true,
		values: []string{"start", "stop", "restart"}, about: "What to do with the farm."}}}}
	// FarmDocument is a farm of a document, without its services.
	FarmDocument = Table[farm.Farm]{slices.Concat([]field[farm.Farm]{
		require(farmName), require(farmProfile), require(farmVIP), require(farmVPort), farmStopped,
	}, tlsFields, directives, logFields, farmHeaders)}
)

var farmName = field[farm.Farm]{
	rule: rule{name: "name", kind: kindText, format: "[a-zA-Z0-9][a-zA-Z0-9-]*", maxLen: MaxName, reserved: reservedFarmNames,
		pattern: farmNamePattern, must: "a name of letters, digits and hyphens (not the first), at most 64",
		about: "Name of the farm."},
	get: func(f *farm.Farm) Value { return textValue(f.Name) },
	set: func(f *farm.Farm, v Value) { f.Name = v.text },
}

var farmProfile = field[farm.Farm]{
	rule: rule{name: "profile", kind: kindText, values: []string{string(farm.ProfileHTTP)}, about: "Kind of the farm."},
	get:  func(f *farm.Farm) Value { return textValue(string(f.Profile)) },
	set: func(f *farm.Farm, v Value) {
		f.Profile = farm.Profile(v.text)
		directivesOf(f)
	},
}

var farmVIP = field[farm.Farm]{
	rule: rule{name: "vip", kind: kindText, format: "ip", maxLen: 64, check: checkVIP,
		must: "an IPv4 or IPv6 address", about: "Address clients use; 0.0.0.0 or :: means every local one."},
	get: func(f *farm.Farm) Value { return addrValue(f.VIP) },
	set: func(f *farm.Farm, v Value) { f.VIP, _ = netip.ParseAddr(v.text) },
}

var farmVPort = field[farm.Farm]{
	rule: rule{name: "vport", kind: kindNumber, min: 1, max: 65535, about: "Port clients use."},
	get:  func(f *farm.Farm) Value { return numberValue(int64(f.VPort)) },
	set:  func(f *farm.Farm, v Value) { f.VPort = uint16(v.number) },
}

var farmStopped = field[farm.Farm]{
	rule: rule{name: "stopped", kind: kindBool, about: "A stopped farm is kept but has no listener."},
	get:  func(f *farm.Farm) Value { return boolValue(f.Stopped) },
	set:  func(f *farm.Farm, v Value) { f.Stopped = v.truth },
}

var copyFrom = field[farm.Farm]{rule: rule{name: "copy_from", kind: kindText, format: "[a-zA-Z0-9][a-zA-Z0-9-]*", maxLen: MaxName,
	pattern: farmNamePattern, must: "the name of a farm", about: "Farm to copy everything else from."}}

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
