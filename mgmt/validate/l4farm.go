package validate

import (
	"cmp"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/format"
)

// Bodies about an l4xnat farm. All profiles share FarmAction.
var (
	// L4FarmCreate is the body of POST /farms; see FarmCreate. protocol is among the fields
	// of newFarm.
	L4FarmCreate = field.Table[farm.Farm]{Fields: slices.Concat(newFarm, noteFields, l4Fields[1:], l4LogFields),
		Facts: l4Facts}
	// L4FarmUpdate is the body of PUT /farms/F; setting newfarmname renames.
	L4FarmUpdate = field.Table[farm.Farm]{Fields: slices.Concat([]field.Field[farm.Farm]{field.Named(farmName, "newfarmname"), farmVIP, l4VPort}, noteFields, l4Fields, l4LogFields), Facts: l4Facts}
	// L4FarmDocument is a farm in a document, without its backends.
	L4FarmDocument = field.Table[farm.Farm]{Fields: slices.Concat([]field.Field[farm.Farm]{
		field.Require(farmName), field.Require(farmProfile), field.Require(farmVIP), field.Require(l4VPort), farmStopped}, noteFields, l4Fields, l4LogFields), Facts: l4Facts}
)

// l4Facts are derived from the fields of an l4xnat farm.
var l4Facts = []field.Field[farm.Farm]{{
	Rule: field.Rule{Name: "carrier", Hints: field.Advanced(field.AtDataPath, "Active data path"), Kind: field.Text, Values: field.Texts(farm.DataPaths()[1:]), About: "Data path in use for the farm."},
	Get: func(f *farm.Farm) field.Value {
		path, _ := f.Carrier()
		return field.TextValue(string(path))
	},
	Explain: func(f *farm.Farm) string {
		path, why := f.Carrier()
		return fmt.Sprintf("the farm runs in %s (%s)", map[farm.DataPath]string{farm.DataPathUserspace: "userspace", farm.DataPathKernel: "the kernel"}[path], why)
	},
}}

// Conditions of l4xnat farms. If the protocol, NAT type or carrier changes, other fields
// keep their values for the opposite change. So most conditions make fields idle.

// inUserspace and inKernel are conditions for fields of one carrier.
func inUserspace() *field.Condition {
	o := field.WithValue("carrier", farm.DataPathUserspace).Else(field.WarnAndKeep)
	o.While, o.Hint = "the farm runs in userspace", "datapath userspace"
	return o
}

func inKernel() *field.Condition {
	o := field.WithValue("carrier", farm.DataPathKernel).Else(field.WarnAndKeep)
	o.While, o.Hint = "the farm runs in the kernel", "datapath kernel"
	return o
}

// inKernelLog is the condition of fields for the kernel's log, inLog that of fields for the
// userspace log.
func inKernelLog() *field.Condition {
	return field.With("logs").Else(field.Keep).AndIf(inKernel().Because("userspace writes no lines of the kernel's log; see log_sink"))
}

func inLog() *field.Condition { return field.With("logs").Else(field.Keep).AndIf(inUserspace()) }

// counted is the condition of fields that need connection counts.
func counted() *field.Condition {
	return field.WithValue("nattype", farm.NATMasquerade, farm.NATTarget).Else(field.WarnAndKeep).Because("nattype %s counts no connections")
}

// seen is the condition of fields for the source address towards backends.
func seen() *field.Condition {
	return field.WithValue("nattype", farm.NATMasquerade).Else(field.RejectBoth).Because("backends see the client's address with any other")
}

// onTCP is the condition of connection headers, onUDP that of fields about datagrams.
func onTCP() *field.Condition {
	return field.WithValue("protocol", farm.L4TCP).Else(field.RejectBoth).AllowDefault().Because("the header begins a connection")
}

func onUDP() *field.Condition {
	return field.WithValue("protocol", farm.L4UDP, farm.L4TCPUDP).Else(field.RejectBoth).AllowDefault()
}

// l4Fields are the fields of an l4xnat farm except its address.
var l4Fields = []field.Field[farm.Farm]{
	l4Protocol, // must be first: see L4FarmCreate
	l4NAT,
	wordIn(l4Part, "algorithm", field.Basic(field.AtBalancing, "Algorithm").Costs(field.CostConnections), "Balancing algorithm; leastconn needs connection tracking, so it does not work with nattype dsr and stateless_dnat.", farm.L4Algorithms(),
		func(l *farm.L4) *farm.L4Algorithm { return &l.Algorithm }),
	l4Persistence,
	secondsIn(l4Part, "ttl", field.Basic(field.AtPersistence, "Session lifetime").In(field.Seconds).Costs(field.CostConnections), "Lifetime of a session after its last use, in seconds.", format.MaxTTL, func(l *farm.L4) *farm.Seconds { return &l.TTL }),
	choiceIn(l4Part, "datapath", field.Advanced(field.AtDataPath, "Data path").Costs(field.CostRestart), "Data path of the farm: auto uses userspace if it supports all of the farm's settings, otherwise the kernel.",
		farm.DataPaths(), farm.DataPathAuto, nil, func(l *farm.L4) *farm.DataPath { return &l.DataPath }),
	truthIn(l4Part, "logs", field.Basic(field.AtLogging, "Logging").Costs(field.CostConnections), "Log each connection: in the kernel log when it starts, or, for a farm in userspace, to log_sink when it ends.", func(l *farm.L4) *bool { return &l.Logs }),
	field.OnlyIf(inKernelLog(), boundIn(l4Part, "log_limit", field.Advanced(field.AtLogging, "Max. lines").In(field.LinesPerSecond), "Maximum number of log lines per second.", 1, maxLogLines, farm.DefaultL4LogLimit, func(l *farm.L4) *uint32 { return &l.LogLimit })),
	l4LogPrefix,
	field.OnlyIf(inUserspace().AndIf(field.WithValue("protocol", farm.L4TCP, farm.L4TCPUDP).Else(field.WarnAndKeep).Because("protocol %s makes no connections")),
		boundIn(l4Part, "contimeout", field.Basic(field.AtTimeouts, "Connect timeout").In(field.Seconds).Costs(field.CostConnections), "Maximum time to connect to a backend, in seconds.", 1, format.MaxTimeout, farm.DefaultL4Connect,
			func(l *farm.L4) *farm.Seconds { return &l.ConnectTimeout })),
	l4IdleTimeout,
	field.OnlyIf(inUserspace(), boundIn(l4Part, "resurrectime", field.Advanced(field.AtTimeouts, "Max. retry interval").In(field.Seconds), "Maximum interval between retries of a down backend, in seconds; retries start at 0.2 s and double.", 1, format.MaxTimeout, farm.DefaultL4Resurrect,
		func(l *farm.L4) *farm.Seconds { return &l.ResurrectTime })),
	field.OnlyIf(counted(), boundIn(l4Part, "grace", field.Advanced(field.AtTimeouts, "Stop grace period").In(field.Seconds), "Time for connections to finish after the farm is stopped, in seconds; 0 closes them immediately. UDP flows in userspace always end immediately.", 0, MaxGrace, 0,
		func(l *farm.L4) *farm.Seconds { return &l.StopGrace })),
	l4Responses,
	field.OnlyIf(onUDP(), truthIn(l4Part, "quic", field.Advanced(field.AtPersistence, "QUIC connection IDs").Costs(field.CostConnections), "Keep clients that change their address on their backend, using QUIC connection IDs. Userspace only.", func(l *farm.L4) *bool { return &l.QUIC })),
	field.OnlyIf(counted(), boundIn(l4Part, "maxconnections", field.Basic(field.AtLimits, "Max. connections").Costs(field.CostConnections), "Maximum number of connections or flows of the farm; 0 disables the limit.", 0, field.Unbounded, 0,
		func(l *farm.L4) *uint32 { return &l.MaxConnections })),
	l4Source,
	boundIn(l4Part, "mark", field.Advanced(field.AtBackends, "Mark").Costs(field.CostConnections), "Firewall mark of packets to backends without their own mark, for policy routing; 0 sets none.", 0, math.MaxUint32, 0,
		func(l *farm.L4) *uint32 { return &l.Mark }),
	field.OnlyIf(field.WithValue("proxyprotocol_in", farm.ProxyInOptional, farm.ProxyInRequired).Else(field.WarnAndKeep).Because("proxyprotocol_in is %s"), networksIn(l4Part, "trusted", field.Advanced(field.AtProxy, "Trusted peers").Costs(field.CostConnections), "Clients that may send a PROXY protocol header.", func(l *farm.L4) *[]netip.Prefix { return &l.Trusted })),
	l4ProxyIn,
	field.OnlyIf(onTCP(), choiceIn(l4Part, "proxyprotocol_out", field.Advanced(field.AtProxy, "PROXY header to backends").Costs(field.CostConnections), "PROXY protocol header sent at the start of backend connections. Userspace only.", farm.ProxyOuts(), farm.ProxyOutOff, nil,
		func(l *farm.L4) *farm.ProxyOut { return &l.ProxyOut })),
	l4Check,
}

// l4LogFields are the fields of the connection log in userspace.
var l4LogFields = field.AllOnlyIf(inLog(), slices.Concat([]field.Field[farm.Farm]{
	logFieldsIn(l4Part, "Fields of a log line in order; none means all fields.", farm.ConnectionLogFields(), l4Log),
	boundIn(l4Part, "log_sample", field.Advanced(field.AtLogging, "Sampling").Costs(field.CostConnections), "Log one of every N connections, chosen at random.", 1, MaxLogSample, 1,
		func(l *farm.L4) *uint32 { return &l.AccessLog.Sample }),
}, sinkFields(l4Part, l4Log)))

func l4Log(l *farm.L4) *farm.AccessLog { return &l.AccessLog }

// maxLogLines is the maximum of log_limit, in lines per second.
const maxLogLines = 100_000

var l4LogPrefix = field.Field[farm.Farm]{
	Rule: field.Rule{Name: "log_prefix", Only: inKernelLog(), Hints: field.Advanced(field.AtLogging, "Prefix"), Kind: field.Text, Blank: true, Format: "[a-zA-Z0-9][a-zA-Z0-9 ._:@()+,#-]*", MaxLen: format.MaxName, Pattern: format.Alias,
		Must:  "a text of letters, digits, blanks and ._:@()+,#- that starts with a letter or digit",
		About: "Prefix of lines in the kernel log; defaults to l4:, the farm name and a space."},
	Get:       func(f *farm.Farm) field.Value { return field.TextValue(l4Seen(f).LogPrefix) },
	Effective: func(f *farm.Farm) field.Value { return field.TextValue(cmp.Or(l4Seen(f).LogPrefix, "l4:"+f.Name+" ")) },
	Set: func(f *farm.Farm, v field.Value) {
		l4Of(f).LogPrefix = v.Text()
		if strings.TrimRight(v.Text(), " ") == "l4:"+f.Name { // the default, sent back
			l4Of(f).LogPrefix = ""
		}
	},
}

var l4IdleTimeout = func() field.Field[farm.Farm] {
	f := field.OnlyIf(inUserspace().OrIf(field.WithValue("nattype", farm.NATDirect, farm.NATStateless)),
		boundIn(l4Part, "idle_timeout", field.Basic(field.AtTimeouts, "Idle timeout").In(field.Seconds).Costs(field.CostConnections), "Maximum idle time of a connection or flow, in seconds; 0 means 3600 for tcp, 30 for udp, and 120 with nattype dsr and stateless_dnat. In the kernel, nat and dnat use the kernel's own timeouts.", 0, format.MaxTimeout, 0,
			func(l *farm.L4) *farm.Seconds { return &l.IdleTimeout }))
	f.Effective = func(f *farm.Farm) field.Value { return field.NumberValue(int64(f.IdleTimeout())) }
	return f
}()

// l4Responses uses an invalid number for unset, because 0 is valid.
var l4Responses = field.Field[farm.Farm]{
	Rule: field.Rule{Name: "responses", Only: onUDP().Because("it counts datagrams"), Hints: field.Advanced(field.AtTimeouts, "Responses per datagram").Costs(field.CostConnections), IfUnset: field.ShowNull, Kind: field.Number, Max: math.MaxUint16, Null: true, Unset: field.NumberValue(-1),
		About: "Number of response datagrams per client datagram after which the flow ends: 1 for DNS, 0 for one-way traffic, e.g. syslog; unset allows any number. Userspace only."},
	Get: func(f *farm.Farm) field.Value {
		if n := l4Seen(f).Responses; n != nil {
			return field.NumberValue(int64(*n))
		}
		return field.NumberValue(-1)
	},
	Set: func(f *farm.Farm, v field.Value) {
		l := l4Of(f)
		l.Responses = nil
		if !v.Null() {
			n := uint16(v.Number())
			l.Responses = &n
		}
	},
}

var l4Source = field.Field[farm.Farm]{
	Rule: field.Rule{Name: "source", Only: seen(), Hints: field.Advanced(field.AtBackends, "Source address").Costs(field.CostConnections), IfUnset: field.ShowNull, Kind: field.Text, Format: "ip", Blank: true, MaxLen: 64, Check: format.VIP, Must: "an IPv4 or IPv6 address",
		About: "Local source address of connections to backends; chosen by the system if unset. The setting of a backend takes precedence."},
	Get: func(f *farm.Farm) field.Value { return field.AddrValue(l4Seen(f).Source) },
	Set: func(f *farm.Farm, v field.Value) { l4Of(f).Source, _ = netip.ParseAddr(v.Text()) },
}

// l4ProxyIn comes after trusted, which it needs.
var l4ProxyIn = field.OnlyIf(onTCP().AndIf(byTrusted()),
	choiceIn(l4Part, "proxyprotocol_in", field.Advanced(field.AtProxy, "PROXY header from clients").Costs(field.CostConnections),
		"PROXY protocol header (version 1 or 2) from clients in trusted: off (not recognized), optional, or required (other connections are closed). Userspace only.",
		farm.ProxyIns(), farm.ProxyInOff, nil, func(l *farm.L4) *farm.ProxyIn { return &l.ProxyIn }))

var l4Part = part[farm.L4]{l4Of, l4Seen, farm.DefaultL4}

// l4Of returns the settings to change; the defaults for a new farm.
func l4Of(f *farm.Farm) *farm.L4 {
	if f.L4 == nil {
		f.L4 = farm.DefaultL4()
	}
	return f.L4
}

// l4Seen returns the settings to read; the defaults for a farm without any.
func l4Seen(f *farm.Farm) *farm.L4 {
	if f.L4 == nil {
		return farm.DefaultL4()
	}
	return f.L4
}
