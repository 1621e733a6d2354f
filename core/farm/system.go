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

// System is what the machine itself is set to, and the services it uses. A part
// that is zero is left as the machine has it. No engine gets it: mgmt brings it to
// the machine.
type System struct {
	DNS    DNS       `json:"dns,omitzero"`
	NTP    NTP       `json:"ntp,omitzero"`
	SSH    SSH       `json:"ssh,omitzero"`
	SNMP   SNMP      `json:"snmp,omitzero"`
	API    Interface `json:"http,omitzero"`
	Proxy  Proxy     `json:"proxy,omitzero"`
	Syslog Syslog    `json:"syslog,omitzero"`
	// Aliases are here for people only; the machine does not get them.
	Aliases Aliases `json:"aliases,omitzero"`
}

// DNS are the name servers of the machine, asked in this order.
type DNS struct {
	Primary   netip.Addr `json:"primary,omitzero"`
	Secondary netip.Addr `json:"secondary,omitzero"`
}

// NTP is where the machine gets its time.
type NTP struct {
	// Server is an address or a host name; empty leaves the machine's own.
	Server string `json:"server,omitempty"`
}

// SSH is where the machine's sshd listens.
type SSH struct {
	// Listen are the addresses; an unspecified one means all of its family, none
	// leaves the machine's own.
	Listen []netip.Addr `json:"listen,omitempty"`
	// Port is 0 where the machine's own is left.
	Port uint16 `json:"port,omitempty"`
}

// SNMP is how the machine's snmpd answers. The zero values of IP, Port, Community
// and Scope stand for the defaults.
type SNMP struct {
	On   bool       `json:"status,omitempty"`
	IP   netip.Addr `json:"ip,omitzero"`
	Port uint16     `json:"port,omitempty"`
	// Community is what who asks must know.
	Community Secret `json:"community,omitempty"`
	// Scope is the network that may ask.
	Scope netip.Prefix `json:"scope,omitzero"`
}

// Interface is where API and web interface listen, and with which certificate.
type Interface struct {
	// IP is invalid and Port 0 where the start of the appliance decides.
	IP   netip.Addr `json:"ip,omitzero"`
	Port uint16     `json:"port,omitempty"`
	// Certificate is the name of one; empty means the appliance's own.
	Certificate string `json:"certificate,omitempty"`
}

// At is where the API listens that was started at an address.
func (i Interface) At(start netip.AddrPort) netip.AddrPort {
	addr, port := start.Addr(), cmp.Or(i.Port, start.Port())
	if i.IP.IsValid() {
		addr = i.IP
	}
	return netip.AddrPortFrom(addr, port)
}

// Proxy is what connections of the appliance itself go through: to download
// lists, order certificates, look for updates.
type Proxy struct {
	ForHTTP  ProxyServer `json:"http_proxy,omitzero"`
	ForHTTPS ProxyServer `json:"https_proxy,omitzero"`
}

// ProxyServer is one proxy; the zero value is none.
type ProxyServer struct {
	// URL is "http://host:port", with a user where there is a Password.
	URL      string `json:"url,omitempty"`
	Password Secret `json:"password,omitempty"`
}

// Syslog is where messages of the appliance go to besides its own log.
type Syslog struct {
	Servers []SyslogServer `json:"servers,omitempty"`
	// CA names the authority that servers of protocol tls are verified with; empty
	// means those of the system.
	CA string `json:"ca,omitempty"`
}

// SyslogServer is one collector of messages.
type SyslogServer struct {
	Protocol SyslogProtocol `json:"protocol"`
	Host     string         `json:"host"` // an address or a host name
	Port     uint16         `json:"port"`
}

// SyslogProtocol is how messages travel.
type SyslogProtocol string

// The protocols: RFC 5426, RFC 6587 with counted octets, RFC 5425.
const (
	SyslogUDP SyslogProtocol = "udp"
	SyslogTCP SyslogProtocol = "tcp"
	SyslogTLS SyslogProtocol = "tls"
)

// SyslogProtocols lists the protocols.
func SyslogProtocols() []SyslogProtocol { return []SyslogProtocol{SyslogUDP, SyslogTCP, SyslogTLS} }

// Port is the port of servers that name none.
func (p SyslogProtocol) Port() uint16 {
	if p == SyslogTLS {
		return 6514
	}
	return 514
}

// String is the server as documents have it: "tcp://log.example.org:601".
func (s SyslogServer) String() string { return string(s.Protocol) + "://" + s.Address() }

// Address is where to connect to: "log.example.org:601".
func (s SyslogServer) Address() string {
	return net.JoinHostPort(s.Host, strconv.Itoa(int(cmp.Or(s.Port, s.Protocol.Port()))))
}

// Defaults of SNMP.
const (
	DefaultSNMPPort         = 161
	DefaultCommunity Secret = "public"
)

// The bounds of lists.
const (
	MaxSyslogServers = 8
	MaxSSHAddresses  = 16
)

// DefaultScope is every network.
var DefaultScope = netip.PrefixFrom(netip.IPv4Unspecified(), 0)

// EffectiveIP is IP with the unset value replaced: every address.
func (s *SNMP) EffectiveIP() netip.Addr {
	if s.IP.IsValid() {
		return s.IP
	}
	return netip.IPv4Unspecified()
}

// EffectivePort is Port with the unset value replaced.
func (s *SNMP) EffectivePort() uint16 { return cmp.Or(s.Port, DefaultSNMPPort) }

// EffectiveCommunity is Community with the unset value replaced.
func (s *SNMP) EffectiveCommunity() Secret { return cmp.Or(s.Community, DefaultCommunity) }

// EffectiveScope is Scope with the unset value replaced.
func (s *SNMP) EffectiveScope() netip.Prefix {
	if s.Scope.IsValid() {
		return s.Scope
	}
	return DefaultScope
}

// Secret is a text that is needed again as it was and shown to nobody. In what is
// stored and published it is sealed with the key of the appliance; before that, as
// somebody sent it.
type Secret string

// sealedSecret begins every sealed secret. It and what follows may stand in a URL.
const sealedSecret = "sealed-"

// NewSealedSecret is the secret of sealed bytes.
func NewSealedSecret(sealed string) Secret { return Secret(sealedSecret + sealed) }

// Sealed returns what NewSealedSecret was given, false when the secret is not sealed.
func (s Secret) Sealed() (string, bool) { return strings.CutPrefix(string(s), sealedSecret) }

// Address is the URL to use; open makes the password of a secret.
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

// What the secrets of the settings are sealed for: one that was sealed for something
// else does not open.
const (
	SecretCommunity  = "system snmp community"
	SecretHTTPProxy  = "system proxy http_proxy"
	SecretHTTPSProxy = "system proxy https_proxy"
)

// SystemSecret is one secret of the settings.
type SystemSecret struct {
	Purpose string // "system", section and field
	At      *Secret
}

// Secrets are all there are; what is at them may be changed.
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
