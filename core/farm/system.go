package farm

import (
	"cmp"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// System holds the settings of the machine and the services it uses. A zero part leaves the
// machine's own setting. mgmt applies it; engines never get it.
type System struct {
	DNS    DNS       `json:"dns,omitzero"`
	NTP    NTP       `json:"ntp,omitzero"`
	SSH    SSH       `json:"ssh,omitzero"`
	SNMP   SNMP      `json:"snmp,omitzero"`
	API    Interface `json:"http,omitzero"`
	Proxy  Proxy     `json:"proxy,omitzero"`
	Syslog Syslog    `json:"syslog,omitzero"`
	// Aliases are for display only and not applied to the machine.
	Aliases Aliases `json:"aliases,omitzero"`
}

// DNS holds the name servers of the machine, in order of use.
type DNS struct {
	Primary   netip.Addr `json:"primary,omitzero"`
	Secondary netip.Addr `json:"secondary,omitzero"`
}

// NTP is the time source of the machine.
type NTP struct {
	// Server is an address or a host name; empty leaves the machine's own setting.
	Server string `json:"server,omitempty"`
}

// SSH configures the listening addresses of the machine's sshd.
type SSH struct {
	// Listen lists addresses; an unspecified one means all of its IP version. Empty leaves
	// the machine's own setting.
	Listen []netip.Addr `json:"listen,omitempty"`
	// Port is 0 to leave the machine's own setting.
	Port uint16 `json:"port,omitempty"`
}

// SNMP configures the machine's snmpd. Zero values of IP, Port, Community and Scope mean the
// defaults.
type SNMP struct {
	On   bool       `json:"status,omitempty"`
	IP   netip.Addr `json:"ip,omitzero"`
	Port uint16     `json:"port,omitempty"`
	// Community is the SNMP community.
	Community Secret `json:"community,omitempty"`
	// Scope is the network allowed to query.
	Scope netip.Prefix `json:"scope,omitzero"`
}

// Interface configures the address and certificate of API and web interface.
type Interface struct {
	// An invalid IP and a Port of 0 mean the address given at start.
	IP   netip.Addr `json:"ip,omitzero"`
	Port uint16     `json:"port,omitempty"`
	// Certificate is a name; empty means the appliance's own.
	Certificate string `json:"certificate,omitempty"`
}

// At returns the listening address of an API started at the given address.
func (i Interface) At(start netip.AddrPort) netip.AddrPort {
	addr, port := start.Addr(), cmp.Or(i.Port, start.Port())
	if i.IP.IsValid() {
		addr = i.IP
	}
	return netip.AddrPortFrom(addr, port)
}

// Proxy configures proxies for connections of the appliance itself: downloads, certificate
// orders, update checks.
type Proxy struct {
	ForHTTP  ProxyServer `json:"http_proxy,omitzero"`
	ForHTTPS ProxyServer `json:"https_proxy,omitzero"`
}

// ProxyServer is one proxy; the zero value is none.
type ProxyServer struct {
	// URL is "http://host:port", with a user if there is a Password.
	URL      string `json:"url,omitempty"`
	Password Secret `json:"password,omitempty"`
}

// Syslog configures where messages of the appliance are sent besides its own log.
type Syslog struct {
	Servers []SyslogServer `json:"servers,omitempty"`
	// CA names the authority that verifies servers of protocol tls; empty means the
	// system's.
	CA string `json:"ca,omitempty"`
}

// SyslogServer is one destination of messages.
type SyslogServer struct {
	Protocol SyslogProtocol `json:"protocol"`
	Host     string         `json:"host"` // an address or a host name
	Port     uint16         `json:"port"`
}

// SyslogProtocol is the transport of messages.
type SyslogProtocol string

// The protocols: RFC 5426, RFC 6587 with counted octets, RFC 5425.
const (
	SyslogUDP SyslogProtocol = "udp"
	SyslogTCP SyslogProtocol = "tcp"
	SyslogTLS SyslogProtocol = "tls"
)

// SyslogProtocols lists the protocols.
func SyslogProtocols() []SyslogProtocol { return []SyslogProtocol{SyslogUDP, SyslogTCP, SyslogTLS} }

// Port returns the default port.
func (p SyslogProtocol) Port() uint16 {
	if p == SyslogTLS {
		return 6514
	}
	return 514
}

// String returns the server in document syntax: "tcp://log.example.org:601".
func (s SyslogServer) String() string { return string(s.Protocol) + "://" + s.Address() }

// Address returns the address to connect to: "log.example.org:601".
func (s SyslogServer) Address() string {
	return net.JoinHostPort(s.Host, strconv.Itoa(int(cmp.Or(s.Port, s.Protocol.Port()))))
}

// Defaults of SNMP.
const (
	DefaultSNMPPort         = 161
	DefaultCommunity Secret = "public"
)

// Limits of lists.
const (
	MaxSyslogServers = 8
	MaxSSHAddresses  = 16
)

// DefaultScope is every network.
var DefaultScope = netip.PrefixFrom(netip.IPv4Unspecified(), 0)

// EffectiveIP returns the IP, or every address by default.
func (s *SNMP) EffectiveIP() netip.Addr {
	if s.IP.IsValid() {
		return s.IP
	}
	return netip.IPv4Unspecified()
}

// EffectivePort returns the port, or the default.
func (s *SNMP) EffectivePort() uint16 { return cmp.Or(s.Port, DefaultSNMPPort) }

// EffectiveCommunity returns the community, or the default.
func (s *SNMP) EffectiveCommunity() Secret { return cmp.Or(s.Community, DefaultCommunity) }

// EffectiveScope returns the scope, or the default.
func (s *SNMP) EffectiveScope() netip.Prefix {
	if s.Scope.IsValid() {
		return s.Scope
	}
	return DefaultScope
}

// Secret is a text that must be recoverable but is never shown. It is sealed with the
// appliance's key when stored or published, and plain as received before that.
type Secret string

// sealedSecret is the prefix of every sealed secret. Both may be part of a URL.
const sealedSecret = "sealed-"

// NewSealedSecret returns the secret of sealed bytes.
func NewSealedSecret(sealed string) Secret { return Secret(sealedSecret + sealed) }

// Sealed returns the argument of NewSealedSecret, or false if the secret is not sealed.
func (s Secret) Sealed() (string, bool) { return strings.CutPrefix(string(s), sealedSecret) }

// Address returns the URL to use; open decrypts a secret.
func (p ProxyServer) Address(open func(Secret) (string, error)) (*url.URL, error) {
	if p.URL == "" {
		return nil, nil
	}
	u, err := url.Parse(p.URL)
	if err != nil || p.Password == "" {
		return u, err
	}
	password, err := open(p.Password)
	if err != nil {
		return nil, err
	}
	u.User = url.UserPassword(u.User.Username(), password)
	return u, nil
}

// Sealing purposes of the secrets in the settings: a secret sealed for another purpose does
// not open.
const (
	SecretCommunity  = "system snmp community"
	SecretHTTPProxy  = "system proxy http_proxy"
	SecretHTTPSProxy = "system proxy https_proxy"
)

// SystemSecret is a secret of the settings.
type SystemSecret struct {
	Purpose string // "system", section and field
	At      *Secret
}

// Secrets returns pointers to all secrets, which may be changed.
func (s *System) Secrets() []SystemSecret {
	return []SystemSecret{
		{SecretCommunity, &s.SNMP.Community},
		{SecretHTTPProxy, &s.Proxy.ForHTTP.Password},
		{SecretHTTPSProxy, &s.Proxy.ForHTTPS.Password},
	}
}

// Clone returns a deep copy.
func (s *System) Clone() System {
	out := *s
	out.SSH.Listen, out.Syslog.Servers = slices.Clone(s.SSH.Listen), slices.Clone(s.Syslog.Servers)
	out.Aliases = Aliases{slices.Clone(s.Aliases.Backends), slices.Clone(s.Aliases.Interfaces)}
	return out
}
