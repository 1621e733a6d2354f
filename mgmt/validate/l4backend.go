package validate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
)

// Bodies about a backend of an l4xnat farm. All profiles share Maintenance.
var (
	// L4BackendCreate is the body of POST /farms/F/backends.
	L4BackendCreate = Table[farm.Backend]{fields: append([]field[farm.Backend]{require(backendHost)}, l4BackendFields...)}
	// L4BackendUpdate is the body of PUT /farms/F/backends/ID; null resets a number.
	L4BackendUpdate = Table[farm.Backend]{fields: append([]field[farm.Backend]{backendHost}, l4BackendFields...)}
	// L4BackendDocument is a backend in a document.
	L4BackendDocument = Table[farm.Backend]{fields: slices.Concat([]field[farm.Backend]{require(backendHost)}, l4BackendFields,
		[]field[farm.Backend]{backendMaintenance, l4Sessions})}
)

// maxServerNames bounds the server names of a backend.
const maxServerNames = 64

var l4BackendFields = []field[farm.Backend]{
	{
		rule: rule{name: "port", hints: basic(atAddress, "Port").costs(CostConnections), bare: asNull, kind: kindNumber, min: 1, max: 65535, null: true, about: "Port of the server; defaults to the port used by the client."},
		get:  backendPort.get,
		set:  backendPort.set,
	},
	perConnection(backendWeight), perConnection(backendPriority),
	under(counted().of("farm"), told(perConnection(named(backendLimit, "max_conns")), "Maximum number of connections or flows; 0 disables the limit.")),
	under(seen().of("farm"), told(backendSource, "Local source address of connections to this server; defaults to the farm's.")),
	told(backendMark, "Firewall mark of packets to the server, for policy routing; defaults to the farm's mark."),
	backendAlias, backendResolve,
	{
		rule: rule{name: "server_names", only: being("protocol", farm.L4TCP).of("farm").as(held).since("they are read from the start of a TLS connection"), hints: advanced(atBalancing, "SNI names").costs(CostConnections), kind: kindList, words: true, null: true, max: maxServerNames, maxLen: 255, check: checkServerName, canon: canonServerName,
			format: "host name or *.domain", must: "a host name, or *.domain for all below one", musts: "a list of host names",
			about: "SNI names of TLS clients that are sent only to this server; without names it serves clients whose SNI matches no other server. Userspace only."},
		get: func(b *farm.Backend) Value { return listValue(b.ServerNames) },
		set: func(b *farm.Backend, v Value) { b.ServerNames = v.list },
	},
}

// l4Sessions are the static sessions of a backend in documents.
var l4Sessions = told(backendSessions, "Static sessions: values (according to the farm's persistence) of clients that are always sent to this backend. Only with persistence.")

// perConnection adapts a field with per-request effect to farms that handle only
// connections: it applies to new ones.
func perConnection[T any](f field[T]) field[T] { f.cost = CostConnections; return f }

func told[T any](f field[T], about string) field[T] { f.about = about; return f }

func checkServerName(s string) string {
	name, wild := strings.CutPrefix(s, "*.")
	labels := strings.Split(strings.TrimSuffix(name, "."), ".")
	for _, label := range labels {
		if !hostLabel().MatchString(label) {
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

// L4BackendPath returns the Path of a backend of an l4xnat farm, by its number.
func L4BackendPath(farmName string, number int) string {
	return fmt.Sprintf("%s backend %d", FarmPath(farmName), number)
}

// PathOfBackend returns the Path of the backend of a group at that position.
func PathOfBackend(g farm.Group, position int) string {
	if g.OfService() {
		return BackendPath(g.Farm.Name, g.Name(), position)
	}
	return L4BackendPath(g.Farm.Name, g.Number(position))
}
