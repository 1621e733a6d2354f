package system

import (
	"cmp"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/format"
)

// maxCommunity is the maximum length of a community in bytes.
const maxCommunity = 32

// communityPattern excludes characters special to snmpd.conf: blanks, quotes, backslashes,
// # and %.
var communityPattern = regexp.MustCompile(`^[A-Za-z0-9!$&()*+,./:;<=>?@^_{|}~-]+$`)

func checkCommunity(s string) string {
	if sealed, is := farm.Secret(s).Sealed(); is {
		return format.Sealed(sealed)
	}
	if len(s) > maxCommunity || !communityPattern.MatchString(s) {
		return "it is longer or holds something else"
	}
	return ""
}

func hideCommunity(s string, exact bool) string {
	if s == string(farm.DefaultCommunity) {
		return s // publicly known
	}
	return format.HideSealed(s, exact)
}

func checkScope(s string) string {
	p, err := netip.ParsePrefix(s)
	switch {
	case err != nil:
		return "it is no network"
	case p.Addr().Is4In6():
		return "write the IPv4 network itself"
	case p != p.Masked():
		return fmt.Sprintf("it is the address of a host in the network %s", p.Masked())
	}
	return ""
}

func canonScope(s string) string {
	p, err := netip.ParsePrefix(s)
	if err != nil {
		return s
	}
	return p.String()
}

// everyAddress stands for all addresses of this machine.
const everyAddress = "*"

func checkListen(s string) string {
	if s == everyAddress {
		return ""
	}
	return format.VIP(s)
}

func canonListen(s string) string {
	if addr := format.ParseAddr(s); addr.IsValid() && !(addr.IsUnspecified() && addr.Is6()) {
		return addr.String()
	}
	return everyAddress // :: covers both IP versions
}

// listenAddr parses a text normalised by canonListen; * is ::.
func listenAddr(s string) netip.Addr {
	if s == everyAddress {
		return netip.IPv6Unspecified()
	}
	return format.ParseAddr(s)
}

func listenText(addr netip.Addr) string {
	if addr == netip.IPv6Unspecified() {
		return everyAddress
	}
	return format.AddrText(addr)
}

func listenTexts(list []netip.Addr) (out []string) {
	for _, addr := range list {
		out = append(out, listenText(addr))
	}
	return out
}

func parseListen(list []string) (out []netip.Addr) {
	for _, text := range list {
		out = append(out, listenAddr(text))
	}
	return out
}

// proxyOf returns the field of a proxy. Its password is a secret and stored separately.
func proxyOf(name, label, of string, at func(*farm.System) *farm.ProxyServer) field.Field[farm.System] {
	return field.Field[farm.System]{
		Rule: field.Rule{Name: name, Hints: field.Basic(field.AtSystem, label), Kind: field.Text, Blank: true, Null: true, MaxLen: format.MaxURL, Check: checkProxy, Hide: hideProxy, Format: "http://user:password@host:port",
			Must:  "a proxy as http://host:port or http://user:password@host:port",
			About: "Proxy for the appliance's own requests to " + of + " URLs, as http://user:password@host:port; empty uses none. The password is stored encrypted and shown as ***; sending that back keeps it."},
		Get: func(s *farm.System) field.Value { return field.TextValue(proxyText(*at(s))) },
		Set: func(s *farm.System, v field.Value) {
			p := parseProxy(v.Text())
			if p.Password == format.Unchanged {
				p.Password = at(s).Password
			}
			*at(s) = p
		},
		Needs: func(sent field.Values[farm.System], s *farm.System) string {
			if parseProxy(sent.Get(name).Text()).Password == format.Unchanged && at(s).Password == "" {
				return "has the password " + format.Unchanged + ", which keeps the one there is; there is none: send the password"
			}
			return ""
		},
	}
}

func checkProxy(s string) string {
	u, err := url.Parse(s)
	switch {
	case strings.IndexFunc(s, func(r rune) bool { return format.IsControl(r) || r == ' ' }) >= 0:
		return "it holds a blank or a control character"
	case err != nil:
		return "it is no URL"
	case u.Scheme != "http" && u.Scheme != "https":
		return "it must start with http:// or https://"
	case u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "" || u.Opaque != "":
		return "a proxy has no path"
	case format.Host(u.Hostname()) != "":
		return "its host is missing, or neither an address nor a host name"
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return "its port must be a number from 1 to 65535"
		}
	}
	password, has := u.User.Password()
	switch {
	case has && password == "":
		return "its password is blank"
	case has && u.User.Username() == "":
		return "it has a password and no user"
	case len(password) > 256 && !strings.HasPrefix(password, "sealed-"):
		return "its password is longer than 256 bytes"
	}
	if sealed, is := farm.Secret(password).Sealed(); is {
		return format.Sealed(sealed)
	}
	return ""
}

// parseProxy parses a valid text.
func parseProxy(s string) farm.ProxyServer {
	u, err := url.Parse(s)
	if s == "" || err != nil {
		return farm.ProxyServer{}
	}
	password, _ := u.User.Password()
	if u.User != nil {
		u.User = url.User(u.User.Username())
	}
	u.Path, u.Host = "", strings.ToLower(u.Host)
	return farm.ProxyServer{URL: u.String(), Password: farm.Secret(password)}
}

func proxyText(p farm.ProxyServer) string {
	u, err := url.Parse(p.URL)
	if p.Password == "" || err != nil {
		return p.URL
	}
	u.User = url.UserPassword(u.User.Username(), string(p.Password))
	return u.String()
}

func hideProxy(s string, exact bool) string {
	p := parseProxy(s)
	u, err := url.Parse(p.URL)
	if p.URL == "" || err != nil {
		return format.Unchanged // may contain a password
	}
	if p.Password == "" {
		return p.URL
	}
	shown := format.HideSealed(string(p.Password), exact)
	user := url.User(u.User.Username()).String()
	u.User = nil
	return u.Scheme + "://" + user + ":" + shown + "@" + u.Host
}

// ParseSyslogServer parses protocol://host:port; the protocol defaults to udp. problem
// explains an invalid text.
func ParseSyslogServer(s string) (server farm.SyslogServer, problem string) {
	protocol, rest, found := strings.Cut(s, "://")
	if !found {
		protocol, rest = string(farm.SyslogUDP), s
	}
	server.Protocol = farm.SyslogProtocol(strings.ToLower(protocol))
	if !slices.Contains(farm.SyslogProtocols(), server.Protocol) {
		return server, "its protocol is none of udp, tcp and tls"
	}
	host, port := rest, ""
	if addr, err := netip.ParseAddr(rest); err != nil || !addr.Is6() {
		u := url.URL{Host: rest}
		host, port = u.Hostname(), u.Port()
	}
	if format.Host(host) != "" {
		return server, "its host is neither an address nor a host name"
	}
	n, err := strconv.ParseUint(cmp.Or(port, strconv.Itoa(int(server.Protocol.Port()))), 10, 16)
	if err != nil || n == 0 {
		return server, "its port must be a number from 1 to 65535"
	}
	server.Host, server.Port = strings.ToLower(host), uint16(n)
	return server, ""
}

// syslogHost returns the host of a valid server.
func syslogHost(s string) string {
	server, _ := ParseSyslogServer(s)
	return server.Host
}

func checkSyslogServer(s string) string {
	_, problem := ParseSyslogServer(s)
	return problem
}

func canonSyslogServer(s string) string {
	server, problem := ParseSyslogServer(s)
	if problem != "" {
		return s
	}
	return server.String()
}
