package validate

import (
	"cmp"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
)

// Bodies about an l4xnat farm. All profiles share FarmAction.
var (
	// L4FarmCreate is the body of POST /farms; see FarmCreate. protocol is among the fields
	// of newFarm.
	L4FarmCreate = Table[farm.Farm]{slices.Concat(newFarm, noteFields, l4Fields[1:], l4LogFields), l4Facts}
	// L4FarmUpdate is the body of PUT /farms/F; setting newfarmname renames.
	L4FarmUpdate = Table[farm.Farm]{slices.Concat([]field[farm.Farm]{named(farmName, "newfarmname"), farmVIP, l4VPort}, noteFields, l4Fields, l4LogFields), l4Facts}
	// L4FarmDocument is a farm in a document, without its backends.
	L4FarmDocument = Table[farm.Farm]{slices.Concat([]field[farm.Farm]{
		require(farmName), require(farmProfile), require(farmVIP), require(l4VPort), farmStopped}, noteFields, l4Fields, l4LogFields), l4Facts}
)

// l4Facts are derived from the fields of an l4xnat farm.
var l4Facts = []field[farm.Farm]{{
	rule: rule{name: "carrier", hints: advanced(atDataPath, "Active data path"), kind: kindText, values: texts(farm.DataPaths()[1:]), about: "Data path in use for the farm."},
	get: func(f *farm.Farm) Value {
		path, _ := f.Carrier()
		return textValue(string(path))
	},
	tell: func(f *farm.Farm) string {
		path, why := f.Carrier()
		return fmt.Sprintf("the farm runs in %s (%s)", map[farm.DataPath]string{farm.DataPathUserspace: "userspace", farm.DataPathKernel: "the kernel"}[path], why)
	},
}}

// Conditions of l4xnat farms. If the protocol, NAT type or carrier changes, other fields
// keep their values for the opposite change. So most conditions make fields idle.

// inUserspace and inKernel are conditions for fields of one carrier.
func inUserspace() *only {
	o := being("carrier", farm.DataPathUserspace).as(idle)
	o.while, o.send = "the farm runs in userspace", "datapath userspace"
	return o
}

func inKernel() *only {
	o := being("carrier", farm.DataPathKernel).as(idle)
	o.while, o.send = "the farm runs in the kernel", "datapath kernel"
	return o
}

// inKernelLog is the condition of fields for the kernel's log, inLog that of fields for the
// userspace log.
func inKernelLog() *only {
	return with("logs").as(silent).also(inKernel().since("userspace writes no lines of the kernel's log; see log_sink"))
}

func inLog() *only { return with("logs").as(silent).also(inUserspace()) }

// counted is the condition of fields that need connection counts.
func counted() *only {
	return being("nattype", farm.NATMasquerade, farm.NATTarget).as(idle).since("nattype %s counts no connections")
}

// seen is the condition of fields for the source address towards backends.
func seen() *only {
	return being("nattype", farm.NATMasquerade).as(held).since("backends see the client's address with any other")
}

// onTCP is the condition of connection headers, onUDP that of fields about datagrams.
func onTCP() *only {
	return being("protocol", farm.L4TCP).as(held).resting().since("the header begins a connection")
}
func onUDP() *only { return being("protocol", farm.L4UDP, farm.L4TCPUDP).as(held).resting() }

// l4Fields are the fields of an l4xnat farm except its address.
var l4Fields = []field[farm.Farm]{
	l4Protocol, // must be first: see L4FarmCreate
	l4NAT,
	wordIn(l4Part, "algorithm", basic(atBalancing, "Algorithm").costs(CostConnections), "Balancing algorithm; leastconn needs connection tracking, so it does not work with nattype dsr and stateless_dnat.", farm.L4Algorithms(),
		func(l *farm.L4) *farm.L4Algorithm { return &l.Algorithm }),
	l4Persistence,
	secondsIn(l4Part, "ttl", basic(atPersistence, "Session lifetime").in(inSeconds).costs(CostConnections), "Lifetime of a session after its last use, in seconds.", MaxTTL, func(l *farm.L4) *farm.Seconds { return &l.TTL }),
	choiceIn(l4Part, "datapath", advanced(atDataPath, "Data path").costs(CostRestart), "Data path of the farm: auto uses userspace if it supports all of the farm's settings, otherwise the kernel.",
		farm.DataPaths(), farm.DataPathAuto, nil, func(l *farm.L4) *farm.DataPath { return &l.DataPath }),
	truthIn(l4Part, "logs", basic(atLogging, "Logging").costs(CostConnections), "Log each connection: in the kernel log when it starts, or, for a farm in userspace, to log_sink when it ends.", func(l *farm.L4) *bool { return &l.Logs }),
	under(inKernelLog(), boundIn(l4Part, "log_limit", advanced(atLogging, "Max. lines").in(perSecond), "Maximum number of log lines per second.", 1, maxLogLines, farm.DefaultL4LogLimit, func(l *farm.L4) *uint32 { return &l.LogLimit })),
	l4LogPrefix,
	under(inUserspace().also(being("protocol", farm.L4TCP, farm.L4TCPUDP).as(idle).since("protocol %s makes no connections")),
		boundIn(l4Part, "contimeout", basic(atTimeouts, "Connect timeout").in(inSeconds).costs(CostConnections), "Maximum time to connect to a backend, in seconds.", 1, MaxTimeout, farm.DefaultL4Connect,
			func(l *farm.L4) *farm.Seconds { return &l.ConnectTimeout })),
	l4IdleTimeout,
	under(inUserspace(), boundIn(l4Part, "resurrectime", advanced(atTimeouts, "Max. retry interval").in(inSeconds), "Maximum interval between retries of a down backend, in seconds; retries start at 0.2 s and double.", 1, MaxTimeout, farm.DefaultL4Resurrect,
		func(l *farm.L4) *farm.Seconds { return &l.ResurrectTime })),
	under(counted(), boundIn(l4Part, "grace", advanced(atTimeouts, "Stop grace period").in(inSeconds), "Time for connections to finish after the farm is stopped, in seconds; 0 closes them immediately. UDP flows in userspace always end immediately.", 0, MaxGrace, 0,
		func(l *farm.L4) *farm.Seconds { return &l.StopGrace })),
	l4Responses,
	under(onUDP(), truthIn(l4Part, "quic", advanced(atPersistence, "QUIC connection IDs").costs(CostConnections), "Keep clients that change their address on their backend, using QUIC connection IDs. Userspace only.", func(l *farm.L4) *bool { return &l.QUIC })),
	under(counted(), boundIn(l4Part, "maxconnections", basic(atLimits, "Max. connections").costs(CostConnections), "Maximum number of connections or flows of the farm; 0 disables the limit.", 0, maxUnbounded, 0,
		func(l *farm.L4) *uint32 { return &l.MaxConnections })),
	l4Source,
	boundIn(l4Part, "mark", advanced(atBackends, "Mark").costs(CostConnections), "Firewall mark of packets to backends without their own mark, for policy routing; 0 sets none.", 0, math.MaxUint32, 0,
		func(l *farm.L4) *uint32 { return &l.Mark }),
	under(being("proxyprotocol_in", farm.ProxyInOptional, farm.ProxyInRequired).as(idle).since("proxyprotocol_in is %s"), networksIn(l4Part, "trusted", advanced(atProxy, "Trusted peers").costs(CostConnections), "Clients that may send a PROXY protocol header.", func(l *farm.L4) *[]netip.Prefix { return &l.Trusted })),
	l4ProxyIn,
	under(onTCP(), choiceIn(l4Part, "proxyprotocol_out", advanced(atProxy, "PROXY header to backends").costs(CostConnections), "PROXY protocol header sent at the start of backend connections. Userspace only.", farm.ProxyOuts(), farm.ProxyOutOff, nil,
		func(l *farm.L4) *farm.ProxyOut { return &l.ProxyOut })),
	l4Check,
}

// l4LogFields are the fields of the connection log in userspace.
var l4LogFields = allUnder(inLog(), slices.Concat([]field[farm.Farm]{
	logFieldsIn(l4Part, "Fields of a log line in order; none means all fields.", farm.ConnectionLogFields(), l4Log),
	boundIn(l4Part, "log_sample", advanced(atLogging, "Sampling").costs(CostConnections), "Log one of every N connections, chosen at random.", 1, MaxLogSample, 1,
		func(l *farm.L4) *uint32 { return &l.AccessLog.Sample }),
}, sinkFields(l4Part, l4Log)))

func l4Log(l *farm.L4) *farm.AccessLog { return &l.AccessLog }

// maxLogLines is the maximum of log_limit, in lines per second.
const maxLogLines = 100_000

var l4LogPrefix = field[farm.Farm]{
	rule: rule{name: "log_prefix", only: inKernelLog(), hints: advanced(atLogging, "Prefix"), kind: kindText, blank: true, format: "[a-zA-Z0-9][a-zA-Z0-9 ._:@()+,#-]*", maxLen: MaxName, pattern: aliasPattern,
		must:  "a text of letters, digits, blanks and ._:@()+,#- that starts with a letter or digit",
		about: "Prefix of lines in the kernel log; defaults to l4:, the farm name and a space."},
	get:   func(f *farm.Farm) Value { return textValue(l4Seen(f).LogPrefix) },
	force: func(f *farm.Farm) Value { return textValue(cmp.Or(l4Seen(f).LogPrefix, "l4:"+f.Name+" ")) },
	set: func(f *farm.Farm, v Value) {
		l4Of(f).LogPrefix = v.text
		if strings.TrimRight(v.text, " ") == "l4:"+f.Name { // the default, sent back
			l4Of(f).LogPrefix = ""
		}
	},
}

var l4IdleTimeout = func() field[farm.Farm] {
	f := under(inUserspace().orIf(being("nattype", farm.NATDirect, farm.NATStateless)),
		boundIn(l4Part, "idle_timeout", basic(atTimeouts, "Idle timeout").in(inSeconds).costs(CostConnections), "Maximum idle time of a connection or flow, in seconds; 0 means 3600 for tcp, 30 for udp, and 120 with nattype dsr and stateless_dnat. In the kernel, nat and dnat use the kernel's own timeouts.", 0, MaxTimeout, 0,
			func(l *farm.L4) *farm.Seconds { return &l.IdleTimeout }))
	f.force = func(f *farm.Farm) Value { return numberValue(int64(f.IdleTimeout())) }
	return f
}()

// l4Responses uses an invalid number for unset, because 0 is valid.
var l4Responses = field[farm.Farm]{
	rule: rule{name: "responses", only: onUDP().since("it counts datagrams"), hints: advanced(atTimeouts, "Responses per datagram").costs(CostConnections), bare: asNull, kind: kindNumber, max: math.MaxUint16, null: true, unset: numberValue(-1),
		about: "Number of response datagrams per client datagram after which the flow ends: 1 for DNS, 0 for one-way traffic, e.g. syslog; unset allows any number. Userspace only."},
	get: func(f *farm.Farm) Value {
		if n := l4Seen(f).Responses; n != nil {
			return numberValue(int64(*n))
		}
		return numberValue(-1)
	},
	set: func(f *farm.Farm, v Value) {
		l := l4Of(f)
		l.Responses = nil
		if !v.Null() {
			n := uint16(v.number)
			l.Responses = &n
		}
	},
}

var l4Source = field[farm.Farm]{
	rule: rule{name: "source", only: seen(), hints: advanced(atBackends, "Source address").costs(CostConnections), bare: asNull, kind: kindText, format: "ip", blank: true, maxLen: 64, check: checkVIP, must: "an IPv4 or IPv6 address",
		about: "Local source address of connections to backends; chosen by the system if unset. The setting of a backend takes precedence."},
	get: func(f *farm.Farm) Value { return addrValue(l4Seen(f).Source) },
	set: func(f *farm.Farm, v Value) { l4Of(f).Source, _ = netip.ParseAddr(v.text) },
}

// l4ProxyIn comes after trusted, which it needs.
var l4ProxyIn = under(onTCP().also(byTrusted()),
	choiceIn(l4Part, "proxyprotocol_in", advanced(atProxy, "PROXY header from clients").costs(CostConnections),
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
