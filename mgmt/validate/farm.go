package validate

import (
	"net/netip"

	"github.com/sluicelb/sluice/core/farm"
)

// The bodies about a farm.
var (
	// FarmCreate is the body of POST /farms.
	FarmCreate = Table[farm.Farm]{[]field[farm.Farm]{
		require(named(farmName, "farmname")), require(farmProfile), require(farmVIP), require(farmVPort), copyFrom,
	}}
	// FarmUpdate is the body of PUT /farms/F; setting newfarmname renames.
	FarmUpdate = Table[farm.Farm]{append([]field[farm.Farm]{
		named(farmName, "newfarmname"), farmVIP, farmVPort, farmListener, farmContinue,
	}, directives...)}
	// FarmAction is the body of PUT /farms/F/actions; the caller acts on it.
	FarmAction = Table[farm.Farm]{[]field[farm.Farm]{{rule: rule{name: "action", kind: kindText, required: true,
		values: []string{"start", "stop", "restart"}, about: "What to do with the farm."}}}}
	// FarmDocument is a farm of a document, without its services.
	FarmDocument = Table[farm.Farm]{append([]field[farm.Farm]{
		require(farmName), require(farmProfile), require(farmVIP), require(farmVPort), farmStopped,
	}, directives...)}
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

// farmListener and farmContinue accept the one value they have in this
// release, because clients of the family send whole objects back.
var (
	farmListener = field[farm.Farm]{rule: rule{name: "listener", kind: kindText, values: []string{"http"},
		onlyBy: "(listeners with TLS are not part of this release)", about: "Protocol of the listener."}}
	farmContinue = field[farm.Farm]{rule: rule{name: "ignore_100_continue", kind: kindBool, values: []string{"false"},
		onlyBy: "(100-continue is always passed on)", about: "Whether Expect: 100-continue is ignored."}}
)

// directives are the fields an http farm has beside its address. They may be
// set on their own; GET shows all of them.
var directives = []field[farm.Farm]{
	seconds("contimeout", "Seconds one connect to a backend may take.", func(h *farm.HTTP) *farm.Seconds { return &h.ConnectTimeout }),
	seconds("restimeout", "Seconds to wait for the next bytes of a backend.", func(h *farm.HTTP) *farm.Seconds { return &h.ResponseTimeout }),
	seconds("resurrectime", "Seconds between two tries of a backend that is down; not below contimeout.", func(h *farm.HTTP) *farm.Seconds { return &h.ResurrectTime }),
	seconds("reqtimeout", "Seconds a client may take for its request head, and be silent later.", func(h *farm.HTTP) *farm.Seconds { return &h.RequestTimeout }),
	word("rewritelocation", "Which Location headers of responses are rewritten.", farm.RewriteLocations(),
		func(h *farm.HTTP) *farm.RewriteLocation { return &h.RewriteLocation }),
	word("httpverb", "Request methods that are accepted.", farm.VerbSets(), func(h *farm.HTTP) *farm.VerbSet { return &h.Verbs }),
	errorText("error414", "Body of the answer to a too long request.", func(h *farm.HTTP) *string { return &h.Error414 }),
	errorText("error500", "Body of the answer to an internal error.", func(h *farm.HTTP) *string { return &h.Error500 }),
	errorText("error501", "Body of the answer to a method that is not accepted.", func(h *farm.HTTP) *string { return &h.Error501 }),
	errorText("error503", "Body of the answer when no backend can be used.", func(h *farm.HTTP) *string { return &h.Error503 }),
}

func seconds(name, about string, at func(*farm.HTTP) *farm.Seconds) field[farm.Farm] {
	return field[farm.Farm]{
		rule: rule{name: name, kind: kindNumber, min: 1, max: MaxTimeout, about: about,
			unset: numberValue(int64(*at(farm.DefaultHTTP())))},
		get: func(f *farm.Farm) Value { return numberValue(int64(*at(directivesSeen(f)))) },
		set: func(f *farm.Farm, v Value) { *at(directivesOf(f)) = farm.Seconds(v.number) },
	}
}

func word[W ~string](name, about string, words []W, at func(*farm.HTTP) *W) field[farm.Farm] {
	return field[farm.Farm]{
		rule: rule{name: name, kind: kindText, values: texts(words), about: about,
			unset: textValue(string(*at(farm.DefaultHTTP())))},
		get: func(f *farm.Farm) Value { return textValue(string(*at(directivesSeen(f)))) },
		set: func(f *farm.Farm, v Value) { *at(directivesOf(f)) = W(v.text) },
	}
}

func errorText(name, about string, at func(*farm.HTTP) *string) field[farm.Farm] {
	return field[farm.Farm]{
		rule: rule{name: name, kind: kindText, blank: true, maxLen: MaxErrorText, about: about},
		get:  func(f *farm.Farm) Value { return textValue(*at(directivesSeen(f))) },
		set:  func(f *farm.Farm, v Value) { *at(directivesOf(f)) = v.text },
	}
}

// directivesOf returns the directives to set in, the defaults for a new farm.
func directivesOf(f *farm.Farm) *farm.HTTP {
	if f.HTTP == nil {
		f.HTTP = farm.DefaultHTTP()
	}
	return f.HTTP
}

// directivesSeen returns the directives to read; a farm without any, which a
// rule of its own refuses, shows the defaults.
func directivesSeen(f *farm.Farm) *farm.HTTP {
	if f.HTTP == nil {
		return farm.DefaultHTTP()
	}
	return f.HTTP
}

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
