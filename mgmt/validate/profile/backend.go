package profile

import (
	"math"
	"net/netip"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/session"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/format"
)

// Maintenance is the body of PUT …/backends/ID/maintenance. Apply sets the mode in the
// backend, by default drain.
var Maintenance = field.Table[farm.Backend]{Fields: []field.Field[farm.Backend]{maintenanceAction, maintenanceMode}}

var BackendHost = field.Field[farm.Backend]{
	Rule: field.Rule{Name: "ip", Hints: field.Basic(field.AtAddress, "Address").Costs(field.CostConnections), Kind: field.Text, Format: "ip or host name", MaxLen: 255, Check: format.Host,
		Must: "an address or a resolvable host name", About: "Address or host name of the server."},
	Get: func(b *farm.Backend) field.Value { return field.TextValue(b.Host) },
	Set: func(b *farm.Backend, v field.Value) {
		if b.Host != v.Text() {
			b.Host, b.Addr = v.Text(), netip.Addr{}
		}
		if addr, err := netip.ParseAddr(v.Text()); err == nil {
			b.Host, b.Addr = addr.String(), addr
		}
	},
}

var BackendPort = field.Field[farm.Backend]{
	Rule: field.Rule{Name: "port", Hints: field.Basic(field.AtAddress, "Port").Costs(field.CostConnections), Kind: field.Number, Min: 1, Max: 65535, About: "Port of the server; with resolve srv it comes from the SRV record."},
	Get:  func(b *farm.Backend) field.Value { return field.NumberValue(int64(b.Port)) },
	Set:  func(b *farm.Backend, v field.Value) { b.Port = uint16(v.Number()) },
}

// unsetBackend is an empty backend, for reading defaults.
var unsetBackend = &farm.Backend{}

var BackendWeight = field.Field[farm.Backend]{
	Rule: field.Rule{Name: "weight", Hints: field.Basic(field.AtBalancing, "Weight"), Kind: field.Number, Min: 1, Max: 9, Null: true, Default: field.NumberValue(int64(unsetBackend.EffectiveWeight())), About: "Relative share of the traffic."},
	Get:  func(b *farm.Backend) field.Value { return field.NumberValue(int64(b.Weight)) },
	Set:  func(b *farm.Backend, v field.Value) { b.Weight = uint8(v.Number()) },
}

var BackendPriority = field.Field[farm.Backend]{
	Rule: field.Rule{Name: "priority", Hints: field.Basic(field.AtBalancing, "Priority"), Kind: field.Number, Min: 1, Max: 9, Null: true, Default: field.NumberValue(int64(unsetBackend.EffectivePriority())), About: "Priority; backends with a lower value are used first."},
	Get:  func(b *farm.Backend) field.Value { return field.NumberValue(int64(b.Priority)) },
	Set:  func(b *farm.Backend, v field.Value) { b.Priority = uint8(v.Number()) },
}

var BackendTimeout = field.Field[farm.Backend]{
	Rule: field.Rule{Name: "timeout", Hints: field.Advanced(field.AtTimeouts, "Response timeout").In(field.Seconds), Kind: field.Number, Min: 1, Max: format.MaxTimeout, Null: true, About: "Maximum wait for the next bytes from this server, in seconds; defaults to the farm's restimeout."},
	Get:  func(b *farm.Backend) field.Value { return field.NumberValue(int64(b.Timeout)) },
	Set:  func(b *farm.Backend, v field.Value) { b.Timeout = farm.Seconds(v.Number()) },
}

var BackendConnect = field.Field[farm.Backend]{
	Rule: field.Rule{Name: "contimeout", Hints: field.Advanced(field.AtTimeouts, "Connect timeout").In(field.Seconds), Kind: field.Number, Min: 1, Max: format.MaxTimeout, Null: true, About: "Maximum time to connect to this server, in seconds, capped at the farm's resurrectime; defaults to the farm's contimeout."},
	Get:  func(b *farm.Backend) field.Value { return field.NumberValue(int64(b.ConnectTimeout)) },
	Set:  func(b *farm.Backend, v field.Value) { b.ConnectTimeout = farm.Seconds(v.Number()) },
}

var BackendLimit = field.Field[farm.Backend]{
	Rule: field.Rule{Name: "connection_limit", Hints: field.Basic(field.AtLimits, "Connection limit"), Kind: field.Number, Min: 0, Max: field.Unbounded, Null: true, About: "Maximum number of requests in flight; 0 disables the limit."},
	Get:  func(b *farm.Backend) field.Value { return field.NumberValue(int64(b.ConnLimit)) },
	Set:  func(b *farm.Backend, v field.Value) { b.ConnLimit = uint32(v.Number()) },
}

var BackendSource = field.Field[farm.Backend]{
	Rule: field.Rule{Name: "source", Hints: field.Advanced(field.AtBackends, "Source address").Costs(field.CostConnections), IfUnset: field.ShowNull, Kind: field.Text, Format: "ip", Blank: true, MaxLen: 64, Check: format.VIP,
		Must: "an IPv4 or IPv6 address", About: "Local source address of connections; chosen by the system if unset."},
	Get: func(b *farm.Backend) field.Value { return field.AddrValue(b.Source) },
	Set: func(b *farm.Backend, v field.Value) { b.Source, _ = netip.ParseAddr(v.Text()) },
}

var BackendMark = field.Field[farm.Backend]{
	Rule: field.Rule{Name: "mark", Hints: field.Advanced(field.AtBackends, "Mark").Costs(field.CostConnections), IfUnset: field.ShowNull, Kind: field.Number, Min: 0, Max: math.MaxUint32, Null: true, About: "Firewall mark (SO_MARK) of connections, for policy routing; defaults to the farm's mark."},
	Get:  func(b *farm.Backend) field.Value { return field.NumberValue(int64(b.Mark)) },
	Set:  func(b *farm.Backend, v field.Value) { b.Mark = uint32(v.Number()) },
}

var BackendAlias = field.Field[farm.Backend]{
	Rule: field.Rule{Name: "alias", Hints: field.Basic(field.AtAddress, "Alias"), IfUnset: field.ShowNull, Kind: field.Text, Blank: true, Format: "[a-zA-Z0-9][a-zA-Z0-9 ._:@()+,#-]*", MaxLen: format.MaxName, Reserved: []string{"0"},
		Pattern: format.Alias, Must: "a text of letters, digits, blanks and ._:@()+,#- that starts with a letter or digit", About: "Display name."},
	Get: func(b *farm.Backend) field.Value { return field.TextValue(b.Alias) },
	Set: func(b *farm.Backend, v field.Value) { b.Alias = v.Text() },
}

var BackendResolve = field.Field[farm.Backend]{
	Rule: field.Rule{Name: "resolve", Hints: field.Advanced(field.AtAddress, "Host name resolution"), Kind: field.Text, Null: true, Values: farm.ResolveWords(), Default: field.TextValue(farm.ResolveFirstWord), Normalize: map[string]string{farm.ResolveFirstWord: string(farm.ResolveFirst)},
		About: "Resolution of a host name: one server (first), one server per address (all), or the servers and ports of its SRV record (srv)."},
	Get: func(b *farm.Backend) field.Value { return field.TextValue(string(b.Resolve)) },
	Set: func(b *farm.Backend, v field.Value) { b.Resolve = farm.Resolve(v.Text()) },
}

var BackendMaintenance = field.Field[farm.Backend]{
	Rule: field.Rule{Name: "maintenance", Hints: field.Basic(field.AtBalancing, "Maintenance"), Kind: field.Text, Values: maintenanceModes, About: "Maintenance mode; unset while the server is in service."},
	Get:  func(b *farm.Backend) field.Value { return field.TextValue(string(b.Maintenance)) },
	Set:  func(b *farm.Backend, v field.Value) { b.Maintenance = farm.Maintenance(v.Text()) },
}

var maintenanceModes = []string{string(farm.MaintenanceDrain), string(farm.MaintenanceCut)}

var maintenanceAction = field.Field[farm.Backend]{
	Rule: field.Rule{Name: "action", Hints: field.Basic(field.AtBalancing, "Action"), Kind: field.Text, Required: true, Values: []string{"up", "maintenance"}, About: "Put the backend into maintenance or back in service."},
	Set: func(b *farm.Backend, v field.Value) {
		b.Maintenance = farm.MaintenanceOff
		if v.Text() == "maintenance" {
			b.Maintenance = farm.MaintenanceDrain
		}
	},
}

// maintenanceMode qualifies maintenance; it has no effect with action up.
var maintenanceMode = field.Field[farm.Backend]{
	Rule: field.Rule{Name: "mode", Hints: field.Basic(field.AtBalancing, "Mode"), Kind: field.Text, Values: maintenanceModes, Default: field.TextValue(string(farm.MaintenanceDrain)), About: "Maintenance mode: drain keeps existing sessions and connections, cut closes them."},
	Set: func(b *farm.Backend, v field.Value) {
		if b.Maintenance != farm.MaintenanceOff {
			b.Maintenance = farm.Maintenance(v.Text())
		}
	},
}

// MaxStatic bounds the static sessions of a service. MaxSession is the maximum length of
// one in bytes. Longer identifications are replaced by a digest, see session.AppendKey.
const (
	MaxStatic  = 1000
	MaxSession = session.MaxKey
)

// BackendSessions are the static sessions of a backend. They are a field in documents; the
// API has separate operations for them.
var BackendSessions = field.Field[farm.Backend]{
	Rule: field.Rule{Name: "sessions", Hints: field.Advanced(field.AtPersistence, "Static sessions"), Kind: field.List, Max: MaxStatic, MaxLen: MaxSession, Check: format.Printable, Must: "a text without control characters",
		MustList: "a list of texts", About: "Static sessions: addresses or values (cookie, header, parameter, user) of clients that are always sent to this backend. Only with persistence."},
	Get: func(b *farm.Backend) field.Value { return field.ListValue(b.Sessions) },
	Set: func(b *farm.Backend, v field.Value) { b.Sessions = v.List() },
}
