package l4farm

import (
	"slices"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/format"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
)

var BackendAnswer = field.Table[farm.Backend]{Fields: field.Without(backendFields, profile.BackendResolve.Name)}

// Bodies about a backend of an l4xnat farm. All profiles share Maintenance.
var (
	// BackendCreate is the body of POST /farms/F/backends.
	BackendCreate = field.Table[farm.Backend]{Fields: append([]field.Field[farm.Backend]{field.Require(profile.BackendHost)},
		backendFields...)}
	// BackendUpdate is the body of PUT /farms/F/backends/ID; null resets a number.
	BackendUpdate = field.Table[farm.Backend]{Fields: append([]field.Field[farm.Backend]{profile.BackendHost},
		backendFields...)}
	// BackendDocument is a backend in a document.
	BackendDocument = field.Table[farm.Backend]{Fields: slices.Concat([]field.Field[farm.Backend]{field.Require(profile.BackendHost)},
		backendFields,
		[]field.Field[farm.Backend]{profile.BackendMaintenance, backendSessions})}
)

// maxServerNames bounds the server names of a backend.
const maxServerNames = 64

var backendFields = []field.Field[farm.Backend]{
	{
		Rule: field.Rule{Name: "port", Hints: field.Basic(field.AtAddress, "Port").Costs(field.CostConnections), IfUnset: field.ShowNull, Kind: field.Number, Min: 1, Max: 65535, Null: true, About: "Port of the server; defaults to the port used by the client."},
		Get:  profile.BackendPort.Get,
		Set:  profile.BackendPort.Set,
	},
	perConnection(profile.BackendWeight), perConnection(profile.BackendPriority),
	field.OnlyIf(counted().Of("farm"), told(perConnection(field.Named(profile.BackendLimit, "max_conns")), "Maximum number of connections or flows; 0 disables the limit.")),
	field.OnlyIf(seen().Of("farm"), told(profile.BackendSource, "Local source address of connections to this server; defaults to the farm's.")),
	told(profile.BackendMark, "Firewall mark of packets to the server, for policy routing; defaults to the farm's mark."),
	profile.BackendAlias, profile.BackendResolve,
	{
		Rule: field.Rule{Name: "server_names", Only: field.WithValue("protocol", farm.L4TCP).Of("farm").Else(field.RejectBoth).Because("they are read from the start of a TLS connection"), Hints: field.Advanced(field.AtBalancing, "SNI names").Costs(field.CostConnections), Kind: field.List, Words: true, Null: true, Max: maxServerNames, MaxLen: 255, Check: checkServerName, Canon: canonServerName,
			Format: "host name or *.domain", Must: "a host name, or *.domain for all below one", MustList: "a list of host names",
			About: "SNI names of TLS clients that are sent only to this server; without names it serves clients whose SNI matches no other server. Userspace only."},
		Get: func(b *farm.Backend) field.Value { return field.ListValue(b.ServerNames) },
		Set: func(b *farm.Backend, v field.Value) { b.ServerNames = v.List() },
	},
}

// backendSessions are the static sessions of a backend in documents.
var backendSessions = told(profile.BackendSessions, "Static sessions: values (according to the farm's persistence) of clients that are always sent to this backend. Only with persistence.")

// perConnection adapts a field with per-request effect to farms that handle only
// connections: it applies to new ones.
func perConnection[T any](f field.Field[T]) field.Field[T] { f.Cost = field.CostConnections; return f }

func told[T any](f field.Field[T], about string) field.Field[T] { f.About = about; return f }

func checkServerName(s string) string {
	name, wild := strings.CutPrefix(s, "*.")
	labels := strings.Split(strings.TrimSuffix(name, "."), ".")
	for _, label := range labels {
		if !format.HostLabel().MatchString(label) {
			return "it is no host name"
		}
	}
	switch {
	case wild && len(labels) < 2:
		return "names directly below a top level belong to everybody; write at least *.example.com"
	case strings.Trim(labels[len(labels)-1], "0123456789") == "":
		return "clients send no addresses as names"
	}
	return ""
}

func canonServerName(s string) string { return strings.ToLower(strings.TrimSuffix(s, ".")) }
