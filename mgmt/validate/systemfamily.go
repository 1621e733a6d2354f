package validate

import (
	"slices"

	"github.com/sluicelb/sluice/core/farm"
)

// Additional bodies about machine settings, as clients of the family send them.
var (
	// ListenerChange is the section http plus force, which is accepted but unnecessary: the
	// response always arrives.
	ListenerChange = Table[farm.System]{fields: slices.Concat(SectionNamed("http").Table.fields, []field[farm.System]{{
		rule: rule{name: "force", hints: advanced(atSystem, "Force"), kind: kindBool, about: "Accepted for compatibility; has no effect."},
	}})}
	// APICertificate is only the certificate of the section http.
	APICertificate = Table[farm.System]{fields: func() []field[farm.System] {
		f := *SectionNamed("http").Table.find("certificate")
		f.required, f.blank, f.null = true, false, false
		return []field[farm.System]{f}
	}()}
	// RemoteSyslog is the first server of the section syslog.
	RemoteSyslog = Table[farm.System]{fields: []field[farm.System]{
		{
			rule: rule{name: "ip", hints: basic(atSystem, "Server"), kind: kindText, blank: true, null: true, maxLen: 253, check: checkHost, server: func(host string) string { return host }, format: "ip or host name", must: "an address or a host name",
				about: "Address or host name of the syslog server; empty disables sending."},
			get: func(s *farm.System) Value { return textValue(firstServer(s).Host) },
			set: func(s *farm.System, v Value) {
				if v.text == "" {
					s.Syslog.Servers = nil
					return
				}
				first := firstServer(s)
				first.Host = v.text
				s.Syslog.Servers = []farm.SyslogServer{first}
			},
		},
		underServer(field[farm.System]{
			rule: rule{name: "protocol", hints: basic(atSystem, "Protocol"), kind: kindText, values: texts(farm.SyslogProtocols()), null: true, unset: textValue(string(farm.SyslogUDP)), about: "Transport protocol of the messages."},
			get:  func(s *farm.System) Value { return textValue(string(firstServer(s).Protocol)) },
			set: func(s *farm.System, v Value) {
				first := &s.Syslog.Servers[0]
				if standard := first.Port == first.Protocol.Port(); standard {
					defer func() { first.Port = first.Protocol.Port() }()
				}
				first.Protocol = farm.SyslogUDP
				if v.text != "" {
					first.Protocol = farm.SyslogProtocol(v.text)
				}
			},
		}),
		underServer(field[farm.System]{
			rule: rule{name: "port", hints: basic(atSystem, "Port"), kind: kindNumber, min: 1, max: 65535, null: true, about: "Port of the server; defaults to 514, or 6514 with tls."},
			get:  func(s *farm.System) Value { return numberValue(int64(firstServer(s).Port)) },
			set: func(s *farm.System, v Value) {
				first := &s.Syslog.Servers[0]
				if first.Port = uint16(v.number); v.number == 0 {
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

func underServer(f field[farm.System]) field[farm.System] {
	f.needs = func(_ Values[farm.System], s *farm.System) string {
		if len(s.Syslog.Servers) == 0 {
			return "means nothing without a server: send ip, too"
		}
		return ""
	}
	set := f.set
	f.set = func(s *farm.System, v Value) {
		if len(s.Syslog.Servers) > 0 {
			set(s, v)
		}
	}
	return f
}
