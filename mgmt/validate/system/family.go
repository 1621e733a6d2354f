package system

import (
	"slices"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/format"
)

// Additional bodies about machine settings, as clients of the family send them.
var (
	// ListenerChange is the section http plus force, which is accepted but unnecessary: the
	// response always arrives.
	ListenerChange = field.Table[farm.System]{Fields: slices.Concat(Named("http").Table.Fields, []field.Field[farm.System]{{
		Rule: field.Rule{Name: "force", Hints: field.Advanced(field.AtSystem, "Force"), Kind: field.Bool, About: "Accepted for compatibility; has no effect."},
	}})}
	// APICertificate is only the certificate of the section http.
	APICertificate = field.Table[farm.System]{Fields: func() []field.Field[farm.System] {
		f := *Named("http").Table.Find("certificate")
		f.Required, f.Blank, f.Null = true, false, false
		return []field.Field[farm.System]{f}
	}()}
	// RemoteSyslog is the first server of the section syslog.
	RemoteSyslog = field.Table[farm.System]{Fields: []field.Field[farm.System]{
		{
			Rule: field.Rule{Name: "ip", Hints: field.Basic(field.AtSystem, "Server"), Kind: field.Text, Blank: true, Null: true, MaxLen: 253, Check: format.Host, Server: func(host string) string { return host }, Format: "ip or host name", Must: "an address or a host name",
				About: "Address or host name of the syslog server; empty disables sending."},
			Get: func(s *farm.System) field.Value { return field.TextValue(firstServer(s).Host) },
			Set: func(s *farm.System, v field.Value) {
				if v.Text() == "" {
					s.Syslog.Servers = nil
					return
				}
				first := firstServer(s)
				first.Host = v.Text()
				s.Syslog.Servers = []farm.SyslogServer{first}
			},
		},
		underServer(field.Field[farm.System]{
			Rule: field.Rule{Name: "protocol", Hints: field.Basic(field.AtSystem, "Protocol"), Kind: field.Text, Values: field.Texts(farm.SyslogProtocols()), Null: true, Unset: field.TextValue(string(farm.SyslogUDP)), About: "Transport protocol of the messages."},
			Get:  func(s *farm.System) field.Value { return field.TextValue(string(firstServer(s).Protocol)) },
			Set: func(s *farm.System, v field.Value) {
				first := &s.Syslog.Servers[0]
				if standard := first.Port == first.Protocol.Port(); standard {
					defer func() { first.Port = first.Protocol.Port() }()
				}
				first.Protocol = farm.SyslogUDP
				if v.Text() != "" {
					first.Protocol = farm.SyslogProtocol(v.Text())
				}
			},
		}),
		underServer(field.Field[farm.System]{
			Rule: field.Rule{Name: "port", Hints: field.Basic(field.AtSystem, "Port"), Kind: field.Number, Min: 1, Max: 65535, Null: true, About: "Port of the server; defaults to 514, or 6514 with tls."},
			Get:  func(s *farm.System) field.Value { return field.NumberValue(int64(firstServer(s).Port)) },
			Set: func(s *farm.System, v field.Value) {
				first := &s.Syslog.Servers[0]
				if first.Port = uint16(v.Number()); v.Number() == 0 {
					first.Port = first.Protocol.Port()
				}
			},
		}),
	}}
)

// firstServer returns the first syslog server, or the defaults.
func firstServer(s *farm.System) farm.SyslogServer {
	if len(s.Syslog.Servers) > 0 {
		return s.Syslog.Servers[0]
	}
	return farm.SyslogServer{Protocol: farm.SyslogUDP, Port: farm.SyslogUDP.Port()}
}

func underServer(f field.Field[farm.System]) field.Field[farm.System] {
	f.Needs = func(_ field.Values[farm.System], s *farm.System) string {
		if len(s.Syslog.Servers) == 0 {
			return "means nothing without a server: send ip, too"
		}
		return ""
	}
	set := f.Set
	f.Set = func(s *farm.System, v field.Value) {
		if len(s.Syslog.Servers) > 0 {
			set(s, v)
		}
	}
	return f
}
