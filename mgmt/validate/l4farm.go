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
	rule: rule{name: "carrier", hints: advanced(atDataPath, "Carrier"), kind: kindText, values: texts(farm.DataPaths()[1:]), about: "What carries the farm."},
	get: func(f *farm.Farm) Value {
		path, _ := f.Carrier()
		return textValue(string(path))
	},
	tell: func(f *farm.Farm) string {
		path, why := f.Carrier()
		return fmt.Sprintf("%s carries the farm (%s)", map[farm.DataPath]string{farm.DataPathUserspace: "userspace", farm.DataPathKernel: "the kernel"}[path], why)
	},
}}

// Conditions of l4xnat farms. If the protocol, NAT type or carrier changes, other fields
// keep their values for the opposite change. So most conditions make fields idle.

// inUserspace and inKernel are conditions for fields of one carrier.
func inUserspace() *only {
	o := being("carrier", farm.DataPathUserspace).as(idle)
	o.while, o.send = "userspace carries the farm", "datapath userspace"
	return o
}

func inKernel() *only {
	o := being("carrier", farm.DataPathKernel).as(idle)
	o.while, o.send = "the kernel carries the farm", "datapath kernel"
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
	wordIn(l4Part, "algorithm", basic(atBalancing, "Algorithm").costs(CostConnections), "How a backend is chosen; leastconn needs tracked connections, which nattype dsr and stateless_dnat have none of.", farm.L4Algorithms(),
		func(l *farm.L4) *farm.L4Algorithm { return &l.Algorithm }),
	l4Persistence,
	secondsIn(l4Part, "ttl", basic(atPersistence, "Session lifetime").in(inSeconds).costs(CostConnections), "Seconds a session lives after its last use.", MaxTTL, func(l *farm.L4) *farm.Seconds { return &l.TTL }),
	choiceIn(l4Part, "datapath", advanced(atDataPath, "Data path").costs(CostRestart), "What carries the farm: auto takes userspace where it can serve the farm completely, the kernel otherwise.",
		farm.DataPaths(), farm.DataPathAuto, nil, func(l *farm.L4) *farm.DataPath { return &l.DataPath }),
	truthIn(l4Part, "logs", basic(atLogging, "Logging").costs(CostConnections), "Whether each connection leaves a line: in the kernel's log when it begins, in userspace where log_sink says when it has ended.", func(l *farm.L4) *bool { return &l.Logs }),
	under(inKernelLog(), boundIn(l4Part, "log_limit", advanced(atLogging, "Most lines").in(perSecond), "Lines per second at most.", 1, maxLogLines, farm.DefaultL4LogLimit, func(l *farm.L4) *uint32 { return &l.LogLimit })),
	l4LogPrefix,
	under(inUserspace().also(being("protocol", farm.L4TCP, farm.L4TCPUDP).as(idle).since("protocol %s makes no connections")),
		boundIn(l4Part, "contimeout", basic(atTimeouts, "Connect timeout").in(inSeconds).costs(CostConnections), "Seconds one connect to a backend may take.", 1, MaxTimeout, farm.DefaultL4Connect,
			func(l *farm.L4) *farm.Seconds { return &l.ConnectTimeout })),
	l4IdleTimeout,
	under(inUserspace(), boundIn(l4Part, "resurrectime", advanced(atTimeouts, "Retry of backends that are down").in(inSeconds), "Most seconds between two tries of a backend that is down, which begin at 0.2 and double.", 1, MaxTimeout, farm.DefaultL4Resurrect,
		func(l *farm.L4) *farm.Seconds { return &l.ResurrectTime })),
	under(counted(), boundIn(l4Part, "grace", advanced(atTimeouts, "Grace after a stop").in(inSeconds), "Seconds connections may go on after the farm was stopped; 0 ends them at once. Flows of udp in userspace end at once.", 0, MaxGrace, 0,
		func(l *farm.L4) *farm.Seconds { return &l.StopGrace })),
	l4Responses,
	under(onUDP(), truthIn(l4Part, "quic", advanced(atPersistence, "QUIC connection ids").costs(CostConnections), "Whether clients that move keep their backend by the connection ids of QUIC; in userspace.", func(l *farm.L4) *bool { return &l.QUIC })),
	under(counted(), boundIn(l4Part, "maxconnections", basic(atLimits, "Most connections").costs(CostConnections), "Connections or flows of the farm at most; 0 means no bound.", 0, maxUnbounded, 0,
		func(l *farm.L4) *uint32 { return &l.MaxConnections })),
	l4Source,
	boundIn(l4Part, "mark", advanced(atBackends, "Mark").costs(CostConnections), "Mark of packets to backends that have none of their own, for routing rules; 0 sets none.", 0, math.MaxUint32, 0,
		func(l *farm.L4) *uint32 { return &l.Mark }),
	under(being("proxyprotocol_in", farm.ProxyInOptional, farm.ProxyInRequired).as(idle).since("proxyprotocol_in is %s"), networksIn(l4Part, "trusted", advanced(atProxy, "Trusted peers").costs(CostConnections), "Clients who may send a header of the PROXY protocol.", func(l *farm.L4) *[]netip.Prefix { return &l.Trusted })),
	l4ProxyIn,
	under(onTCP(), choiceIn(l4Part, "proxyprotocol_out", advanced(atProxy, "Header to backends").costs(CostConnections), "Header of the PROXY protocol that connections to backends begin with; in userspace.", farm.ProxyOuts(), farm.ProxyOutOff, nil,
		func(l *farm.L4) *farm.ProxyOut { return &l.ProxyOut })),
	l4Check,
}

// l4LogFields are the fields of the connection log in userspace.
var l4LogFields = allUnder(inLog(), slices.Concat([]field[farm.Farm]{
	logFieldsIn(l4Part, "Fields of a line, in their order; none means all.", farm.ConnectionLogFields(), l4Log),
	boundIn(l4Part, "log_sample", advanced(atLogging, "Sampling").costs(CostConnections), "One in that many connections is logged, by chance.", 1, MaxLogSample, 1,
		func(l *farm.L4) *uint32 { return &l.AccessLog.Sample }),
}, sinkFields(l4Part, l4Log)))

func l4Log(l *farm.L4) *farm.AccessLog { return &l.AccessLog }

// maxLogLines is the maximum of log_limit, in lines per second.
const maxLogLines = 100_000

var l4LogPrefix = field[farm.Farm]{
	rule: rule{name: "log_prefix", only: inKernelLog(), hints: advanced(atLogging, "Prefix"), kind: kindText, blank: true, format: "[a-zA-Z0-9][a-zA-Z0-9 ._:@()+,#-]*", maxLen: MaxName, pattern: aliasPattern,
		must:  "a text of letters, digits, blanks and ._:@()+,#- that starts with a letter or digit",
		about: "What lines of the kernel's log begin with; l4:, the name of the farm and a blank when unset."},
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
		boundIn(l4Part, "idle_timeout", basic(atTimeouts, "Idle timeout").in(inSeconds).costs(CostConnections), "Seconds a connection or flow may be silent; 0 for 3600 of tcp and 30 of udp, and 120 with nattype dsr and stateless_dnat. The kernel has its own with nat and dnat.", 0, MaxTimeout, 0,
			func(l *farm.L4) *farm.Seconds { return &l.IdleTimeout }))
	f.force = func(f *farm.Farm) Value { return numberValue(int64(f.IdleTimeout())) }
	return f
}()

// l4Responses uses an invalid number for unset, because 0 is valid.
var l4Responses = field[farm.Farm]{
	rule: rule{name: "responses", only: onUDP().since("it counts datagrams"), hints: advanced(atTimeouts, "Answers to a datagram").costs(CostConnections), bare: asNull, kind: kindNumber, max: math.MaxUint16, null: true, unset: numberValue(-1),
		about: "Datagrams that answer one of a client before its flow is over: 1 for DNS, 0 for streams without answers as syslog; unset for any number. In userspace."},
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
		about: "Address of this machine that backends see; the system chooses when unset. A backend's own wins."},
	get: func(f *farm.Farm) Value { return addrValue(l4Seen(f).Source) },
	set: func(f *farm.Farm, v Value) { l4Of(f).Source, _ = netip.ParseAddr(v.text) },
}

// l4ProxyIn comes after trusted, which it needs.
var l4ProxyIn = under(onTCP().also(byTrusted()),
	choiceIn(l4Part, "proxyprotocol_in", advanced(atProxy, "Header from clients").costs(CostConnections),
		"Whether clients of trusted addresses begin with a header of the PROXY protocol, version 1 or 2: off (it is no header), optional, or required, which closes all others. In userspace.",
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
