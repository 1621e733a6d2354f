package l4farm

import (
	"cmp"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/check"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/format"
	"github.com/sluicelb/sluice/mgmt/validate/httpfarm"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
)

var Answer = field.Table[farm.Farm]{Fields: slices.Concat(profile.Notes, fields, logFields), Facts: facts}

// Bodies about an l4xnat farm. All profiles share profile.FarmAction.
var (
	// Create is the body of POST /farms; see httpfarm.Create. protocol is among the fields
	// of profile.NewFarm.
	Create = field.Table[farm.Farm]{Fields: slices.Concat(profile.NewFarm, profile.Notes, fields[1:], logFields),
		Facts: facts}
	// Update is the body of PUT /farms/F; setting newfarmname renames.
	Update = field.Table[farm.Farm]{Fields: slices.Concat([]field.Field[farm.Farm]{field.Named(profile.FarmName, "newfarmname"), profile.FarmVIP, vport}, profile.Notes, fields, logFields), Facts: facts}
	// Document is a farm in a document, without its backends.
	Document = field.Table[farm.Farm]{Fields: slices.Concat([]field.Field[farm.Farm]{
		field.Require(profile.FarmName), field.Require(profile.FarmProfile),
		field.Require(profile.FarmVIP), field.Require(vport), profile.FarmStopped}, profile.Notes, fields, logFields), Facts: facts}
)

// facts are derived from the fields of an l4xnat farm.
var facts = []field.Field[farm.Farm]{{
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

// fields are the fields of an l4xnat farm except its address.
var fields = []field.Field[farm.Farm]{
	profile.Protocol, // must be first: see Create
	natType,
	profile.Word(profile.L4, "algorithm", field.Basic(field.AtBalancing, "Algorithm").Costs(field.CostConnections), "Balancing algorithm; leastconn needs connection tracking, so it does not work with nattype dsr and stateless_dnat.", farm.L4Algorithms(),
		func(l *farm.L4) *farm.L4Algorithm { return &l.Algorithm }),
	persistence,
	profile.Seconds(profile.L4, "ttl", field.Basic(field.AtPersistence, "Session lifetime").In(field.Seconds).Costs(field.CostConnections), "Lifetime of a session after its last use, in seconds.", format.MaxTTL, func(l *farm.L4) *farm.Seconds { return &l.TTL }),
	profile.Choice(profile.L4, "datapath", field.Advanced(field.AtDataPath, "Data path").Costs(field.CostRestart), "Data path of the farm: auto uses userspace if it supports all of the farm's settings, otherwise the kernel.",
		farm.DataPaths(), farm.DataPathAuto, nil, func(l *farm.L4) *farm.DataPath { return &l.DataPath }),
	profile.Truth(profile.L4, "logs", field.Basic(field.AtLogging, "Logging").Costs(field.CostConnections), "Log each connection: in the kernel log when it starts, or, for a farm in userspace, to log_sink when it ends.", func(l *farm.L4) *bool { return &l.Logs }),
	field.OnlyIf(inKernelLog(), profile.Bound(profile.L4, "log_limit", field.Advanced(field.AtLogging, "Max. lines").In(field.LinesPerSecond), "Maximum number of log lines per second.", 1, maxLogLines, farm.DefaultL4LogLimit, func(l *farm.L4) *uint32 { return &l.LogLimit })),
	logPrefix,
	field.OnlyIf(inUserspace().AndIf(field.WithValue("protocol", farm.L4TCP, farm.L4TCPUDP).Else(field.WarnAndKeep).Because("protocol %s makes no connections")),
		profile.Bound(profile.L4, "contimeout", field.Basic(field.AtTimeouts, "Connect timeout").In(field.Seconds).Costs(field.CostConnections), "Maximum time to connect to a backend, in seconds.", 1, format.MaxTimeout, farm.DefaultL4Connect,
			func(l *farm.L4) *farm.Seconds { return &l.ConnectTimeout })),
	idleTimeout,
	field.OnlyIf(inUserspace(), profile.Bound(profile.L4, "resurrectime", field.Advanced(field.AtTimeouts, "Max. retry interval").In(field.Seconds), "Maximum interval between retries of a down backend, in seconds; retries start at 0.2 s and double.", 1, format.MaxTimeout, farm.DefaultL4Resurrect,
		func(l *farm.L4) *farm.Seconds { return &l.ResurrectTime })),
	field.OnlyIf(counted(), profile.Bound(profile.L4, "grace", field.Advanced(field.AtTimeouts, "Stop grace period").In(field.Seconds), "Time for connections to finish after the farm is stopped, in seconds; 0 closes them immediately. UDP flows in userspace always end immediately.", 0, httpfarm.MaxGrace, 0,
		func(l *farm.L4) *farm.Seconds { return &l.StopGrace })),
	responses,
	field.OnlyIf(onUDP(), profile.Truth(profile.L4, "quic", field.Advanced(field.AtPersistence, "QUIC connection IDs").Costs(field.CostConnections), "Keep clients that change their address on their backend, using QUIC connection IDs. Userspace only.", func(l *farm.L4) *bool { return &l.QUIC })),
	field.OnlyIf(counted(), profile.Bound(profile.L4, "maxconnections", field.Basic(field.AtLimits, "Max. connections").Costs(field.CostConnections), "Maximum number of connections or flows of the farm; 0 disables the limit.", 0, field.Unbounded, 0,
		func(l *farm.L4) *uint32 { return &l.MaxConnections })),
	source,
	profile.Bound(profile.L4, "mark", field.Advanced(field.AtBackends, "Mark").Costs(field.CostConnections), "Firewall mark of packets to backends without their own mark, for policy routing; 0 sets none.", 0, math.MaxUint32, 0,
		func(l *farm.L4) *uint32 { return &l.Mark }),
	field.OnlyIf(field.WithValue("proxyprotocol_in", farm.ProxyInOptional, farm.ProxyInRequired).Else(field.WarnAndKeep).Because("proxyprotocol_in is %s"), profile.Networks(profile.L4, "trusted", field.Advanced(field.AtProxy, "Trusted peers").Costs(field.CostConnections), "Clients that may send a PROXY protocol header.", func(l *farm.L4) *[]netip.Prefix { return &l.Trusted })),
	proxyIn,
	field.OnlyIf(onTCP(), profile.Choice(profile.L4, "proxyprotocol_out", field.Advanced(field.AtProxy, "PROXY header to backends").Costs(field.CostConnections), "PROXY protocol header sent at the start of backend connections. Userspace only.", farm.ProxyOuts(), farm.ProxyOutOff, nil,
		func(l *farm.L4) *farm.ProxyOut { return &l.ProxyOut })),
	checkLink,
}

// logFields are the fields of the connection log in userspace.
var logFields = field.AllOnlyIf(inLog(), slices.Concat([]field.Field[farm.Farm]{
	profile.LogFields(profile.L4, "Fields of a log line in order; none means all fields.", farm.ConnectionLogFields(), accessLog),
	profile.Bound(profile.L4, "log_sample", field.Advanced(field.AtLogging, "Sampling").Costs(field.CostConnections), "Log one of every N connections, chosen at random.", 1, profile.MaxLogSample, 1,
		func(l *farm.L4) *uint32 { return &l.AccessLog.Sample }),
}, profile.SinkFields(profile.L4, accessLog)))

func accessLog(l *farm.L4) *farm.AccessLog { return &l.AccessLog }

// maxLogLines is the maximum of log_limit, in lines per second.
const maxLogLines = 100_000

var logPrefix = field.Field[farm.Farm]{
	Rule: field.Rule{Name: "log_prefix", Only: inKernelLog(), Hints: field.Advanced(field.AtLogging, "Prefix"), Kind: field.Text, Blank: true, Format: "[a-zA-Z0-9][a-zA-Z0-9 ._:@()+,#-]*", MaxLen: format.MaxName, Pattern: format.Alias,
		Must:  "a text of letters, digits, blanks and ._:@()+,#- that starts with a letter or digit",
		About: "Prefix of lines in the kernel log; defaults to l4:, the farm name and a space."},
	Get: func(f *farm.Farm) field.Value { return field.TextValue(profile.ReadL4(f).LogPrefix) },
	Effective: func(f *farm.Farm) field.Value {
		return field.TextValue(cmp.Or(profile.ReadL4(f).LogPrefix, "l4:"+f.Name+" "))
	},
	Set: func(f *farm.Farm, v field.Value) {
		profile.EditL4(f).LogPrefix = v.Text()
		if strings.TrimRight(v.Text(), " ") == "l4:"+f.Name { // the default, sent back
			profile.EditL4(f).LogPrefix = ""
		}
	},
}

var idleTimeout = func() field.Field[farm.Farm] {
	f := field.OnlyIf(inUserspace().OrIf(field.WithValue("nattype", farm.NATDirect, farm.NATStateless)),
		profile.Bound(profile.L4, "idle_timeout", field.Basic(field.AtTimeouts, "Idle timeout").In(field.Seconds).Costs(field.CostConnections), "Maximum idle time of a connection or flow, in seconds; 0 means 3600 for tcp, 30 for udp, and 120 with nattype dsr and stateless_dnat. In the kernel, nat and dnat use the kernel's own timeouts.", 0, format.MaxTimeout, 0,
			func(l *farm.L4) *farm.Seconds { return &l.IdleTimeout }))
	f.Effective = func(f *farm.Farm) field.Value { return field.NumberValue(int64(f.IdleTimeout())) }
	return f
}()

// responses uses an invalid number for unset, because 0 is valid.
var responses = field.Field[farm.Farm]{
	Rule: field.Rule{Name: "responses", Only: onUDP().Because("it counts datagrams"), Hints: field.Advanced(field.AtTimeouts, "Responses per datagram").Costs(field.CostConnections), IfUnset: field.ShowNull, Kind: field.Number, Max: math.MaxUint16, Null: true, Unset: field.NumberValue(-1),
		About: "Number of response datagrams per client datagram after which the flow ends: 1 for DNS, 0 for one-way traffic, e.g. syslog; unset allows any number. Userspace only."},
	Get: func(f *farm.Farm) field.Value {
		if n := profile.ReadL4(f).Responses; n != nil {
			return field.NumberValue(int64(*n))
		}
		return field.NumberValue(-1)
	},
	Set: func(f *farm.Farm, v field.Value) {
		l := profile.EditL4(f)
		l.Responses = nil
		if !v.Null() {
			n := uint16(v.Number())
			l.Responses = &n
		}
	},
}

var source = field.Field[farm.Farm]{
	Rule: field.Rule{Name: "source", Only: seen(), Hints: field.Advanced(field.AtBackends, "Source address").Costs(field.CostConnections), IfUnset: field.ShowNull, Kind: field.Text, Format: "ip", Blank: true, MaxLen: 64, Check: format.VIP, Must: "an IPv4 or IPv6 address",
		About: "Local source address of connections to backends; chosen by the system if unset. The setting of a backend takes precedence."},
	Get: func(f *farm.Farm) field.Value { return field.AddrValue(profile.ReadL4(f).Source) },
	Set: func(f *farm.Farm, v field.Value) { profile.EditL4(f).Source, _ = netip.ParseAddr(v.Text()) },
}

// proxyIn comes after trusted, which it needs.
var proxyIn = field.OnlyIf(onTCP().AndIf(profile.ByTrusted()),
	profile.Choice(profile.L4, "proxyprotocol_in", field.Advanced(field.AtProxy, "PROXY header from clients").Costs(field.CostConnections),
		"PROXY protocol header (version 1 or 2) from clients in trusted: off (not recognized), optional, or required (other connections are closed). Userspace only.",
		farm.ProxyIns(), farm.ProxyInOff, nil, func(l *farm.L4) *farm.ProxyIn { return &l.ProxyIn }))

var checkLink = field.Field[farm.Farm]{Rule: check.LinkRule,
	Get: func(f *farm.Farm) field.Value { return field.TextValue(profile.ReadL4(f).Check) },
	Set: func(f *farm.Farm, v field.Value) { profile.EditL4(f).Check = v.Text() },
}
