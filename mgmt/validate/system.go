package validate

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/sluicelb/sluice/core/farm"
)

// Section is one part of the machine settings, an object of its own in documents, the API
// and the command line.
type Section struct {
	// Name is its name in all interfaces, e.g. "dns".
	Name, Title string
	Table       Table[farm.System]
	// Items marks a section of lists whose items have operations and commands of their own.
	// Only documents change it as a whole.
	Items bool
}

// Sections lists all sections in document order. A new setting needs a member of
// farm.System and a field here.
var Sections = []Section{
	{Name: "dns", Title: "Name servers of the machine", Table: Table[farm.System]{fields: []field[farm.System]{
		nameServer("primary", "Primary", "Address of the primary name server.", func(s *farm.System) *netip.Addr { return &s.DNS.Primary }),
		nameServer("secondary", "Secondary", "Address of the secondary name server, used if the primary does not respond.", func(s *farm.System) *netip.Addr { return &s.DNS.Secondary }),
	}}},
	{Name: "ntp", Title: "Time of the machine", Table: Table[farm.System]{fields: []field[farm.System]{{
		rule: rule{name: "server", hints: basic(atSystem, "Server"), kind: kindText, blank: true, null: true, maxLen: 253, check: checkHost, format: "ip or host name", must: "an address or a host name",
			about: "Address or host name of the time server; empty keeps the machine's setting."},
		get: func(s *farm.System) Value { return textValue(s.NTP.Server) },
		set: func(s *farm.System, v Value) { s.NTP.Server = v.text },
	}}}},
	{Name: "ssh", Title: "Secure shell of the machine", Table: Table[farm.System]{fields: []field[farm.System]{
		{
			rule: rule{name: "listen", hints: basic(atSystem, "Addresses"), kind: kindList, words: true, null: true, max: farm.MaxSSHAddresses, maxLen: 64, check: checkListen, canon: canonListen,
				format: "ip or *", must: "an address of this machine or *", musts: "a list of addresses of this machine, or *",
				about: "Local listen addresses of sshd, * for all; none keeps the machine's setting."},
			get: func(s *farm.System) Value { return listValue(listenTexts(s.SSH.Listen)) },
			set: func(s *farm.System, v Value) { s.SSH.Listen = parseListen(v.list) },
		},
		machinePort("port", "Port", "Port of sshd; if unset, the machine's setting is kept.", func(s *farm.System) *uint16 { return &s.SSH.Port }),
	}}},
	{Name: "snmp", Title: "SNMP agent", Table: Table[farm.System]{fields: snmpFields}},
	{Name: "http", Title: "Listener of API and web interface", Table: Table[farm.System]{fields: []field[farm.System]{
		{
			rule: rule{name: "ip", hints: basic(atSystem, "Address"), kind: kindText, blank: true, null: true, maxLen: 64, check: checkListen, canon: canonListen, format: "ip or *", must: "an address of this machine or *",
				about: "Local listen address of the API and web interface, * for all; defaults to the --api option."},
			get: func(s *farm.System) Value { return textValue(listenText(s.API.IP)) },
			set: func(s *farm.System, v Value) { s.API.IP = listenAddr(v.text) },
		},
		machinePort("port", "Port", "Listen port of the API and web interface; defaults to the --api option.", func(s *farm.System) *uint16 { return &s.API.Port }),
		{
			rule: rule{name: "certificate", hints: basic(atSystem, "Certificate"), kind: kindText, blank: true, null: true, maxLen: maxCertificate, check: checkCertificate, canon: canonCertificate, format: "name of a certificate", must: "the name of a certificate",
				about: "Certificate of the API and web interface; empty uses the appliance's self-signed certificate."},
			get: func(s *farm.System) Value { return textValue(s.API.Certificate) },
			set: func(s *farm.System, v Value) { s.API.Certificate = v.text },
		},
	}}},
	{Name: "proxy", Title: "Proxy of the appliance's own connections", Table: Table[farm.System]{fields: []field[farm.System]{
		proxyOf("http_proxy", "HTTP", "http", func(s *farm.System) *farm.ProxyServer { return &s.Proxy.ForHTTP }),
		proxyOf("https_proxy", "HTTPS", "https", func(s *farm.System) *farm.ProxyServer { return &s.Proxy.ForHTTPS }),
	}}},
	{Name: "syslog", Title: "Remote syslog", Table: Table[farm.System]{fields: []field[farm.System]{
		{
			rule: rule{name: "servers", hints: basic(atSystem, "Servers"), kind: kindList, words: true, null: true, max: farm.MaxSyslogServers, maxLen: 270, check: checkSyslogServer, server: syslogHost, canon: canonSyslogServer, same: canonSyslogServer,
				format: "protocol://host:port", must: "a server as udp://host:port, tcp://host:port or tls://host:port", musts: "a list of servers as udp://host:port, tcp://host:port or tls://host:port",
				about: "Syslog servers for the appliance's messages, as udp://host:port, tcp://host:port or tls://host:port. The default port is 514, or 6514 with tls."},
			get: func(s *farm.System) Value {
				var out []string
				for _, server := range s.Syslog.Servers {
					out = append(out, server.String())
				}
				return listValue(out)
			},
			set: func(s *farm.System, v Value) {
				s.Syslog.Servers = nil
				for _, text := range v.list {
					if server, problem := ParseSyslogServer(text); problem == "" {
						s.Syslog.Servers = append(s.Syslog.Servers, server)
					}
				}
			},
		},
		{
			rule: rule{name: "ca", hints: advanced(atSystem, "Authority"), kind: kindText, blank: true, null: true, maxLen: maxCertificate, check: checkAuthority, canon: canonAuthority, format: "name of an authority", must: "the name of an authority",
				about: "Certificate authority for verifying syslog servers with protocol tls; empty uses the system's."},
			get: func(s *farm.System) Value { return textValue(s.Syslog.CA) },
			set: func(s *farm.System, v Value) { s.Syslog.CA = v.text },
		},
	}}},
	{Name: "aliases", Title: "Aliases of addresses and interfaces", Table: Table[farm.System]{fields: []field[farm.System]{BackendAliases.field(), InterfaceAliases.field()}}, Items: true},
}

// snmpFields are the fields of the SNMP agent.
var snmpFields = []field[farm.System]{
	{
		rule: rule{name: "status", hints: basic(atSystem, "Agent"), kind: kindBool, about: "Enable the SNMP agent."},
		get:  func(s *farm.System) Value { return boolValue(s.SNMP.On) },
		set:  func(s *farm.System, v Value) { s.SNMP.On = v.truth },
	},
	{
		rule: rule{name: "ip", hints: basic(atSystem, "Address"), kind: kindText, null: true, blank: true, maxLen: 64, check: checkVIP, normalize: map[string]string{"*": "0.0.0.0"}, format: "ip or *", must: "an address of this machine or *",
			unset: textValue(netip.IPv4Unspecified().String()), about: "Local listen address of the SNMP agent, * for all."},
		get: func(s *farm.System) Value { return textValue(s.SNMP.EffectiveIP().String()) },
		set: func(s *farm.System, v Value) { s.SNMP.IP = orZero(parsedAddr(v.text), netip.IPv4Unspecified()) },
	},
	{
		rule: rule{name: "port", hints: basic(atSystem, "Port"), kind: kindNumber, min: 1, max: 65535, null: true, unset: numberValue(farm.DefaultSNMPPort), about: "UDP port of the SNMP agent."},
		get:  func(s *farm.System) Value { return numberValue(int64(s.SNMP.EffectivePort())) },
		set:  func(s *farm.System, v Value) { s.SNMP.Port = orZero(uint16(v.number), farm.DefaultSNMPPort) },
	},
	{
		rule: rule{name: "community", hints: basic(atSystem, "Community"), kind: kindText, null: true, blank: true, check: checkCommunity, hide: hideCommunity, format: "1 to 32 characters", unset: textValue(string(farm.DefaultCommunity)),
			must:  fmt.Sprintf("a word of at most %d letters, digits and !$&()*+,./:;<=>?@^_{|}~-", maxCommunity),
			about: "Community string, at most 32 characters. It is stored encrypted and shown as ***; sending that back keeps it."},
		get:   func(s *farm.System) Value { return textValue(string(s.SNMP.EffectiveCommunity())) },
		set:   setCommunity,
		needs: needsCommunity,
	},
	{
		rule: rule{name: "scope", hints: basic(atSystem, "Scope"), kind: kindText, null: true, blank: true, maxLen: 64, check: checkScope, canon: canonScope, format: "network/bits", must: "a network as 192.0.2.0/24",
			unset: textValue(farm.DefaultScope.String()), about: "Client network allowed to query the agent, 0.0.0.0/0 for any."},
		get: func(s *farm.System) Value { return textValue(s.SNMP.EffectiveScope().String()) },
		set: func(s *farm.System, v Value) {
			p, _ := netip.ParsePrefix(v.text)
			s.SNMP.Scope = orZero(p, farm.DefaultScope)
		},
	},
}

func setCommunity(s *farm.System, v Value) {
	if v.text != unchanged {
		s.SNMP.Community = orZero(farm.Secret(v.text), farm.DefaultCommunity)
	}
}

func needsCommunity(sent Values[farm.System], s *farm.System) string {
	if sent.Get("community").text == unchanged && s.SNMP.Community == "" {
		return "is " + unchanged + ", which keeps the community there is; there is none but the default: send the community"
	}
	return ""
}

// nameServer returns the field of a name server.
func nameServer(name, label, about string, at func(*farm.System) *netip.Addr) field[farm.System] {
	return field[farm.System]{
		rule: rule{name: name, hints: basic(atSystem, label), kind: kindText, blank: true, null: true, maxLen: 64, check: checkNameServer, canon: canonAddr, format: "ip", must: "the address of a name server",
			about: about + " Empty keeps the machine's setting."},
		get: func(s *farm.System) Value { return textValue(addrText(*at(s))) },
		set: func(s *farm.System, v Value) { *at(s) = parsedAddr(v.text) },
	}
}

// machinePort returns the field of a port for which the machine has its own default.
func machinePort(name, label, about string, at func(*farm.System) *uint16) field[farm.System] {
	return field[farm.System]{
		rule: rule{name: name, hints: basic(atSystem, label), bare: asNull, kind: kindNumber, min: 1, max: 65535, null: true, about: about},
		get:  func(s *farm.System) Value { return numberValue(int64(*at(s))) },
		set:  func(s *farm.System, v Value) { *at(s) = uint16(v.number) },
	}
}

// checkSystem checks the values of all sections.
func checkSystem(s *farm.System, yield func(Error) bool) bool {
	for i := range Sections {
		if !Sections[i].Table.verify(Sections[i].Path(), s, nil, yield) {
			return false
		}
	}
	if d := &s.DNS; d.Primary.IsValid() && d.Primary == d.Secondary &&
		!yield(Error{SectionPath("dns"), "secondary", "secondary must be another name server than primary, " + d.Primary.String()}) {
		return false
	}
	if l := s.SSH.Listen; len(l) > 1 && slices.ContainsFunc(l, netip.Addr.IsUnspecified) &&
		!yield(Error{SectionPath("ssh"), "listen", "listen must be * alone, which means every address, or addresses"}) {
		return false
	}
	return true
}

// SectionPath returns the Path of errors about a section.
func SectionPath(name string) string { return "system " + name }

// Path returns the Path of errors about the section.
func (s *Section) Path() string { return SectionPath(s.Name) }

// SectionNamed returns the section of that name, nil if there is none.
func SectionNamed(name string) *Section {
	for i := range Sections {
		if Sections[i].Name == name {
			return &Sections[i]
		}
	}
	return nil
}
