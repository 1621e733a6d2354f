package validate

import (
	"fmt"
	"math"
	"net/netip"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
)

// Bodies about a backend.
var (
	// BackendCreate is the body of POST …/backends.
	BackendCreate = Table[farm.Backend]{fields: append([]field[farm.Backend]{require(backendHost), unlessService(require(backendPort))}, backendFields...)}
	// BackendUpdate is the body of PUT …/backends/ID; null resets a number.
	BackendUpdate = Table[farm.Backend]{fields: append([]field[farm.Backend]{backendHost, backendPort}, backendFields...)}
	// BackendDocument is a backend in a document.
	BackendDocument = Table[farm.Backend]{fields: append(append([]field[farm.Backend]{require(backendHost), unlessService(require(backendPort))}, backendFields...), backendMaintenance, backendSessions)}
	// Maintenance is the body of PUT …/backends/ID/maintenance. Apply sets the mode in the
	// backend, by default drain.
	Maintenance = Table[farm.Backend]{fields: []field[farm.Backend]{maintenanceAction, maintenanceMode}}
)

var backendHost = field[farm.Backend]{
	rule: rule{name: "ip", hints: basic(atAddress, "Address").costs(CostConnections), kind: kindText, format: "ip or host name", maxLen: 255, check: checkHost,
		must: "an address or a resolvable host name", about: "Address or host name of the server."},
	get: func(b *farm.Backend) Value { return textValue(b.Host) },
	set: func(b *farm.Backend, v Value) {
		if b.Host != v.text {
			b.Host, b.Addr = v.text, netip.Addr{}
		}
		if addr, err := netip.ParseAddr(v.text); err == nil {
			b.Host, b.Addr = addr.String(), addr
		}
	},
}

var backendPort = field[farm.Backend]{
	rule: rule{name: "port", hints: basic(atAddress, "Port").costs(CostConnections), kind: kindNumber, min: 1, max: 65535, about: "Port of the server; with resolve srv it comes from the SRV record."},
	get:  func(b *farm.Backend) Value { return numberValue(int64(b.Port)) },
	set:  func(b *farm.Backend, v Value) { b.Port = uint16(v.number) },
}

// unlessService waives a field whose value comes from an SRV record.
func unlessService(f field[farm.Backend]) field[farm.Backend] {
	f.waived = func(sent map[string]any) bool { return sent[backendResolve.name] == string(farm.ResolveService) }
	return f
}

// backendFields are the fields of a backend except its address.
var backendFields = append(unsetAsNull(backendWeight, backendPriority, backendTimeout, backendConnect, backendLimit, backendSource, backendMark, backendAlias), backendResolve)

// unsetBackend is an empty backend, for reading defaults.
var unsetBackend = &farm.Backend{}

var backendWeight = field[farm.Backend]{
	rule: rule{name: "weight", hints: basic(atBalancing, "Weight"), kind: kindNumber, min: 1, max: 9, null: true, acts: numberValue(int64(unsetBackend.EffectiveWeight())), about: "Relative share of the traffic."},
	get:  func(b *farm.Backend) Value { return numberValue(int64(b.Weight)) },
	set:  func(b *farm.Backend, v Value) { b.Weight = uint8(v.number) },
}

var backendPriority = field[farm.Backend]{
	rule: rule{name: "priority", hints: basic(atBalancing, "Priority"), kind: kindNumber, min: 1, max: 9, null: true, acts: numberValue(int64(unsetBackend.EffectivePriority())), about: "Priority; backends with a lower value are used first."},
	get:  func(b *farm.Backend) Value { return numberValue(int64(b.Priority)) },
	set:  func(b *farm.Backend, v Value) { b.Priority = uint8(v.number) },
}

var backendTimeout = field[farm.Backend]{
	rule: rule{name: "timeout", hints: advanced(atTimeouts, "Response timeout").in(inSeconds), kind: kindNumber, min: 1, max: MaxTimeout, null: true, about: "Maximum wait for the next bytes from this server, in seconds; defaults to the farm's restimeout."},
	get:  func(b *farm.Backend) Value { return numberValue(int64(b.Timeout)) },
	set:  func(b *farm.Backend, v Value) { b.Timeout = farm.Seconds(v.number) },
}

var backendConnect = field[farm.Backend]{
	rule: rule{name: "contimeout", hints: advanced(atTimeouts, "Connect timeout").in(inSeconds), kind: kindNumber, min: 1, max: MaxTimeout, null: true, about: "Maximum time to connect to this server, in seconds, capped at the farm's resurrectime; defaults to the farm's contimeout."},
	get:  func(b *farm.Backend) Value { return numberValue(int64(b.ConnectTimeout)) },
	set:  func(b *farm.Backend, v Value) { b.ConnectTimeout = farm.Seconds(v.number) },
}

var backendLimit = field[farm.Backend]{
	rule: rule{name: "connection_limit", hints: basic(atLimits, "Connection limit"), kind: kindNumber, min: 0, max: maxUnbounded, null: true, about: "Maximum number of requests in flight; 0 disables the limit."},
	get:  func(b *farm.Backend) Value { return numberValue(int64(b.ConnLimit)) },
	set:  func(b *farm.Backend, v Value) { b.ConnLimit = uint32(v.number) },
}

var backendSource = field[farm.Backend]{
	rule: rule{name: "source", hints: advanced(atBackends, "Source address").costs(CostConnections), bare: asNull, kind: kindText, format: "ip", blank: true, maxLen: 64, check: checkVIP,
		must: "an IPv4 or IPv6 address", about: "Local source address of connections; chosen by the system if unset."},
	get: func(b *farm.Backend) Value { return addrValue(b.Source) },
	set: func(b *farm.Backend, v Value) { b.Source, _ = netip.ParseAddr(v.text) },
}

var backendMark = field[farm.Backend]{
	rule: rule{name: "mark", hints: advanced(atBackends, "Mark").costs(CostConnections), bare: asNull, kind: kindNumber, min: 0, max: math.MaxUint32, null: true, about: "Firewall mark (SO_MARK) of connections, for policy routing; defaults to the farm's mark."},
	get:  func(b *farm.Backend) Value { return numberValue(int64(b.Mark)) },
	set:  func(b *farm.Backend, v Value) { b.Mark = uint32(v.number) },
}

var backendAlias = field[farm.Backend]{
	rule: rule{name: "alias", hints: basic(atAddress, "Alias"), bare: asNull, kind: kindText, blank: true, format: "[a-zA-Z0-9][a-zA-Z0-9 ._:@()+,#-]*", maxLen: MaxName, reserved: []string{"0"},
		pattern: aliasPattern, must: "a text of letters, digits, blanks and ._:@()+,#- that starts with a letter or digit", about: "Display name."},
	get: func(b *farm.Backend) Value { return textValue(b.Alias) },
	set: func(b *farm.Backend, v Value) { b.Alias = v.text },
}

var backendResolve = field[farm.Backend]{
	rule: rule{name: "resolve", hints: advanced(atAddress, "Host name resolution"), kind: kindText, null: true, values: farm.ResolveWords(), acts: textValue(farm.ResolveFirstWord), normalize: map[string]string{farm.ResolveFirstWord: string(farm.ResolveFirst)},
		about: "Resolution of a host name: one server (first), one server per address (all), or the servers and ports of its SRV record (srv)."},
	get: func(b *farm.Backend) Value { return textValue(string(b.Resolve)) },
	set: func(b *farm.Backend, v Value) { b.Resolve = farm.Resolve(v.text) },
}

var backendMaintenance = field[farm.Backend]{
	rule: rule{name: "maintenance", hints: basic(atBalancing, "Maintenance"), kind: kindText, values: maintenanceModes, about: "Maintenance mode; unset while the server is in service."},
	get:  func(b *farm.Backend) Value { return textValue(string(b.Maintenance)) },
	set:  func(b *farm.Backend, v Value) { b.Maintenance = farm.Maintenance(v.text) },
}

var maintenanceModes = []string{string(farm.MaintenanceDrain), string(farm.MaintenanceCut)}

var maintenanceAction = field[farm.Backend]{
	rule: rule{name: "action", hints: basic(atBalancing, "Action"), kind: kindText, required: true, values: []string{"up", "maintenance"}, about: "Put the backend into maintenance or back in service."},
	set: func(b *farm.Backend, v Value) {
		b.Maintenance = farm.MaintenanceOff
		if v.text == "maintenance" {
			b.Maintenance = farm.MaintenanceDrain
		}
	},
}

// maintenanceMode qualifies maintenance; it has no effect with action up.
var maintenanceMode = field[farm.Backend]{
	rule: rule{name: "mode", hints: basic(atBalancing, "Mode"), kind: kindText, values: maintenanceModes, acts: textValue(string(farm.MaintenanceDrain)), about: "Maintenance mode: drain keeps existing sessions and connections, cut closes them."},
	set: func(b *farm.Backend, v Value) {
		if b.Maintenance != farm.MaintenanceOff {
			b.Maintenance = farm.Maintenance(v.text)
		}
	},
}

// checkResolve checks the requirements of a backend whose name stands for several servers.
func checkResolve(path string, b *farm.Backend) *Error {
	switch {
	case b.Resolve == farm.ResolveFirst:
		return nil
	case !b.Named():
		return &Error{path, "resolve", fmt.Sprintf("resolve %s is allowed only with a host name as ip, got %s; leave resolve out, or write the name", b.Resolve, b.Host)}
	case b.Resolve == farm.ResolveService && !strings.HasPrefix(b.Host, "_"):
		return &Error{path, "ip", fmt.Sprintf("ip must be the name of an SRV record with resolve srv, as _http._tcp.example.com, got %s; set resolve all for the addresses of a host", show(b.Host))}
	case len(b.Sessions) > 0 && b.Of == 0:
		return &Error{path, "sessions", fmt.Sprintf("sessions are of one server, and with resolve %s this backend stands for several; remove the static sessions, or set resolve first", b.Resolve)}
	}
	return nil
}
