package system

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/format"
)

// Warnings adds warnings about the settings of the machine.
func Warnings(cfg *farm.Config, yield func(field.Error)) {
	for i := range Sections {
		s := &Sections[i]
		s.Table.UnreachableWarnings(&cfg.System, func(fieldName, text string) {
			yield(field.Error{Path: Path(s.Name), Field: fieldName, Message: text})
		})
	}
}

// Section is one part of the machine settings, an object of its own in documents, the API
// and the command line.
type Section struct {
	// Name is its name in all interfaces, e.g. "dns".
	Name, Title string
	Table       field.Table[farm.System]
	// Items marks a section of lists whose items have operations and commands of their own.
	// Only documents change it as a whole.
	Items bool
}

// Sections lists all sections in document order. A new setting needs a member of
// farm.System and a field here.
var Sections = []Section{
	{Name: "dns", Title: "Name servers of the machine", Table: field.Table[farm.System]{Fields: []field.Field[farm.System]{
		nameServer("primary", "Primary", "Address of the primary name server.", func(s *farm.System) *netip.Addr { return &s.DNS.Primary }),
		nameServer("secondary", "Secondary", "Address of the secondary name server, used if the primary does not respond.", func(s *farm.System) *netip.Addr { return &s.DNS.Secondary }),
	}}},
	{Name: "ntp", Title: "Time of the machine", Table: field.Table[farm.System]{Fields: []field.Field[farm.System]{{
		Rule: field.Rule{Name: "server", Hints: field.Basic(field.AtSystem, "Server"), Kind: field.Text, Blank: true, Null: true, MaxLen: 253, Check: format.Host, Format: "ip or host name", Must: "an address or a host name",
			About: "Address or host name of the time server; empty keeps the machine's setting."},
		Get: func(s *farm.System) field.Value { return field.TextValue(s.NTP.Server) },
		Set: func(s *farm.System, v field.Value) { s.NTP.Server = v.Text() },
	}}}},
	{Name: "ssh", Title: "Secure shell of the machine", Table: field.Table[farm.System]{Fields: []field.Field[farm.System]{
		{
			Rule: field.Rule{Name: "listen", Hints: field.Basic(field.AtSystem, "Addresses"), Kind: field.List, Words: true, Null: true, Max: farm.MaxSSHAddresses, MaxLen: 64, Check: checkListen, Canon: canonListen,
				Format: "ip or *", Must: "an address of this machine or *", MustList: "a list of addresses of this machine, or *",
				About: "Local listen addresses of sshd, * for all; none keeps the machine's setting."},
			Get: func(s *farm.System) field.Value { return field.ListValue(listenTexts(s.SSH.Listen)) },
			Set: func(s *farm.System, v field.Value) { s.SSH.Listen = parseListen(v.List()) },
		},
		machinePort("port", "Port", "Port of sshd; if unset, the machine's setting is kept.", func(s *farm.System) *uint16 { return &s.SSH.Port }),
	}}},
	{Name: "snmp", Title: "SNMP agent", Table: field.Table[farm.System]{Fields: snmpFields}},
	{Name: "http", Title: "Listener of API and web interface", Table: field.Table[farm.System]{Fields: []field.Field[farm.System]{
		{
			Rule: field.Rule{Name: "ip", Hints: field.Basic(field.AtSystem, "Address"), Kind: field.Text, Blank: true, Null: true, MaxLen: 64, Check: checkListen, Canon: canonListen, Format: "ip or *", Must: "an address of this machine or *",
				About: "Local listen address of the API and web interface, * for all; defaults to the --api option."},
			Get: func(s *farm.System) field.Value { return field.TextValue(listenText(s.API.IP)) },
			Set: func(s *farm.System, v field.Value) { s.API.IP = listenAddr(v.Text()) },
		},
		machinePort("port", "Port", "Listen port of the API and web interface; defaults to the --api option.", func(s *farm.System) *uint16 { return &s.API.Port }),
		{
			Rule: field.Rule{Name: "certificate", Hints: field.Basic(field.AtSystem, "Certificate"), Kind: field.Text, Blank: true, Null: true, MaxLen: format.MaxCertificate, Check: format.Certificate, Canon: format.CanonCertificate, Format: "name of a certificate", Must: "the name of a certificate",
				About: "Certificate of the API and web interface; empty uses the appliance's self-signed certificate."},
			Get: func(s *farm.System) field.Value { return field.TextValue(s.API.Certificate) },
			Set: func(s *farm.System, v field.Value) { s.API.Certificate = v.Text() },
		},
	}}},
	{Name: "proxy", Title: "Proxy of the appliance's own connections", Table: field.Table[farm.System]{Fields: []field.Field[farm.System]{
		proxyOf("http_proxy", "HTTP", "http", func(s *farm.System) *farm.ProxyServer { return &s.Proxy.ForHTTP }),
		proxyOf("https_proxy", "HTTPS", "https", func(s *farm.System) *farm.ProxyServer { return &s.Proxy.ForHTTPS }),
	}}},
	{Name: "syslog", Title: "Remote syslog", Table: field.Table[farm.System]{Fields: []field.Field[farm.System]{
		{
			Rule: field.Rule{Name: "servers", Hints: field.Basic(field.AtSystem, "Servers"), Kind: field.List, Words: true, Null: true, Max: farm.MaxSyslogServers, MaxLen: 270, Check: checkSyslogServer, Server: syslogHost, Canon: canonSyslogServer, Key: canonSyslogServer,
				Format: "protocol://host:port", Must: "a server as udp://host:port, tcp://host:port or tls://host:port", MustList: "a list of servers as udp://host:port, tcp://host:port or tls://host:port",
				About: "Syslog servers for the appliance's messages, as udp://host:port, tcp://host:port or tls://host:port. The default port is 514, or 6514 with tls."},
			Get: func(s *farm.System) field.Value {
				var out []string
				for _, server := range s.Syslog.Servers {
					out = append(out, server.String())
				}
				return field.ListValue(out)
			},
			Set: func(s *farm.System, v field.Value) {
				s.Syslog.Servers = nil
				for _, text := range v.List() {
					if server, problem := ParseSyslogServer(text); problem == "" {
						s.Syslog.Servers = append(s.Syslog.Servers, server)
					}
				}
			},
		},
		{
			Rule: field.Rule{Name: "ca", Hints: field.Advanced(field.AtSystem, "Authority"), Kind: field.Text, Blank: true, Null: true, MaxLen: format.MaxCertificate, Check: format.Authority, Canon: format.CanonAuthority, Format: "name of an authority", Must: "the name of an authority",
				About: "Certificate authority for verifying syslog servers with protocol tls; empty uses the system's."},
			Get: func(s *farm.System) field.Value { return field.TextValue(s.Syslog.CA) },
			Set: func(s *farm.System, v field.Value) { s.Syslog.CA = v.Text() },
		},
	}}},
	{Name: "aliases", Title: "Aliases of addresses and interfaces", Table: field.Table[farm.System]{Fields: []field.Field[farm.System]{BackendAliases.field(), InterfaceAliases.field()}}, Items: true},
}

// snmpFields are the fields of the SNMP agent.
var snmpFields = []field.Field[farm.System]{
	{
		Rule: field.Rule{Name: "status", Hints: field.Basic(field.AtSystem, "Agent"), Kind: field.Bool, About: "Enable the SNMP agent."},
		Get:  func(s *farm.System) field.Value { return field.BoolValue(s.SNMP.On) },
		Set:  func(s *farm.System, v field.Value) { s.SNMP.On = v.Bool() },
	},
	{
		Rule: field.Rule{Name: "ip", Hints: field.Basic(field.AtSystem, "Address"), Kind: field.Text, Null: true, Blank: true, MaxLen: 64, Check: format.VIP, Normalize: map[string]string{"*": "0.0.0.0"}, Format: "ip or *", Must: "an address of this machine or *",
			Unset: field.TextValue(netip.IPv4Unspecified().String()), About: "Local listen address of the SNMP agent, * for all."},
		Get: func(s *farm.System) field.Value { return field.TextValue(s.SNMP.EffectiveIP().String()) },
		Set: func(s *farm.System, v field.Value) {
			s.SNMP.IP = field.OrZero(format.ParseAddr(v.Text()), netip.IPv4Unspecified())
		},
	},
	{
		Rule: field.Rule{Name: "port", Hints: field.Basic(field.AtSystem, "Port"), Kind: field.Number, Min: 1, Max: 65535, Null: true, Unset: field.NumberValue(farm.DefaultSNMPPort), About: "UDP port of the SNMP agent."},
		Get:  func(s *farm.System) field.Value { return field.NumberValue(int64(s.SNMP.EffectivePort())) },
		Set: func(s *farm.System, v field.Value) {
			s.SNMP.Port = field.OrZero(uint16(v.Number()), farm.DefaultSNMPPort)
		},
	},
	{
		Rule: field.Rule{Name: "community", Hints: field.Basic(field.AtSystem, "Community"), Kind: field.Text, Null: true, Blank: true, Check: checkCommunity, Hide: hideCommunity, Format: "1 to 32 characters", Unset: field.TextValue(string(farm.DefaultCommunity)),
			Must:  fmt.Sprintf("a word of at most %d letters, digits and !$&()*+,./:;<=>?@^_{|}~-", maxCommunity),
			About: "Community string, at most 32 characters. It is stored encrypted and shown as ***; sending that back keeps it."},
		Get:   func(s *farm.System) field.Value { return field.TextValue(string(s.SNMP.EffectiveCommunity())) },
		Set:   setCommunity,
		Needs: needsCommunity,
	},
	{
		Rule: field.Rule{Name: "scope", Hints: field.Basic(field.AtSystem, "Scope"), Kind: field.Text, Null: true, Blank: true, MaxLen: 64, Check: checkScope, Canon: canonScope, Format: "network/bits", Must: "a network as 192.0.2.0/24",
			Unset: field.TextValue(farm.DefaultScope.String()), About: "Client network allowed to query the agent, 0.0.0.0/0 for any."},
		Get: func(s *farm.System) field.Value { return field.TextValue(s.SNMP.EffectiveScope().String()) },
		Set: func(s *farm.System, v field.Value) {
			p, _ := netip.ParsePrefix(v.Text())
			s.SNMP.Scope = field.OrZero(p, farm.DefaultScope)
		},
	},
}

func setCommunity(s *farm.System, v field.Value) {
	if v.Text() != format.Unchanged {
		s.SNMP.Community = field.OrZero(farm.Secret(v.Text()), farm.DefaultCommunity)
	}
}

func needsCommunity(sent field.Values[farm.System], s *farm.System) string {
	if sent.Get("community").Text() == format.Unchanged && s.SNMP.Community == "" {
		return "is " + format.Unchanged + ", which keeps the community there is; there is none but the default: send the community"
	}
	return ""
}

// nameServer returns the field of a name server.
func nameServer(name, label, about string, at func(*farm.System) *netip.Addr) field.Field[farm.System] {
	return field.Field[farm.System]{
		Rule: field.Rule{Name: name, Hints: field.Basic(field.AtSystem, label), Kind: field.Text, Blank: true, Null: true, MaxLen: 64, Check: format.ServerText, Canon: format.CanonAddr, Format: "ip", Must: "the address of a name server",
			About: about + " Empty keeps the machine's setting."},
		Get: func(s *farm.System) field.Value { return field.TextValue(format.AddrText(*at(s))) },
		Set: func(s *farm.System, v field.Value) { *at(s) = format.ParseAddr(v.Text()) },
	}
}

// machinePort returns the field of a port for which the machine has its own default.
func machinePort(name, label, about string, at func(*farm.System) *uint16) field.Field[farm.System] {
	return field.Field[farm.System]{
		Rule: field.Rule{Name: name, Hints: field.Basic(field.AtSystem, label), IfUnset: field.ShowNull,
			Kind: field.Number, Min: 1, Max: 65535, Null: true, About: about},
		Get: func(s *farm.System) field.Value { return field.NumberValue(int64(*at(s))) },
		Set: func(s *farm.System, v field.Value) { *at(s) = uint16(v.Number()) },
	}
}

// Verify checks the values of all sections.
func Verify(s *farm.System, yield func(field.Error) bool) bool {
	for i := range Sections {
		if !Sections[i].Table.Verify(Sections[i].Path(), s, nil, yield) {
			return false
		}
	}
	if d := &s.DNS; d.Primary.IsValid() && d.Primary == d.Secondary &&
		!yield(field.Error{Path: Path("dns"), Field: "secondary", Message: "secondary must be another name server than primary, " + d.Primary.String()}) {
		return false
	}
	if l := s.SSH.Listen; len(l) > 1 && slices.ContainsFunc(l, netip.Addr.IsUnspecified) &&
		!yield(field.Error{Path: Path("ssh"), Field: "listen", Message: "listen must be * alone, which means every address, or addresses"}) {
		return false
	}
	return true
}

// Path returns the Path of errors about a section.
func Path(name string) string { return "system " + name }

// Path returns the Path of errors about the section.
func (s *Section) Path() string { return Path(s.Name) }

// Named returns the section of that name, nil if there is none.
func Named(name string) *Section {
	for i := range Sections {
		if Sections[i].Name == name {
			return &Sections[i]
		}
	}
	return nil
}
