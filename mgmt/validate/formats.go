package validate

import (
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"strings"

	"github.com/sluicelb/sluice/core/pattern"
)

// Limits of texts and numbers that the contract leaves open.
const (
	// MaxName is the maximum length of a farm or service name, in bytes.
	MaxName = 64
	// MaxErrorText is the maximum length of a configured error body, in bytes.
	MaxErrorText = 4 << 10
	// MaxPattern is the maximum length of a regex, in bytes.
	MaxPattern = 1024
	// MaxURL is the maximum length of a redirect, in bytes.
	MaxURL = 2048
	// MaxTimeout is the maximum timeout in seconds: one day. Any longer wait is for a dead
	// connection.
	MaxTimeout = 86400
	// MaxTTL is the maximum lifetime of an unused session in seconds: one year.
	MaxTTL = 365 * 86400
)

var (
	// Names never start with a hyphen, which a command line would read as an option.
	farmNamePattern    = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9-]*$`)
	serviceNamePattern = regexp.MustCompile(`^[a-zA-Z0-9_][a-zA-Z0-9_-]*$`)
	// An alias appears in tables, mails and pages. It contains no characters special to a
	// shell, path or page, and none that look alike.
	aliasPattern = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9 ._:@()+,#-]*$`)
	hostLabel    = pattern.Lazy(`^[a-zA-Z0-9_]([a-zA-Z0-9_-]{0,61}[a-zA-Z0-9_])?$`)
	tokenPattern = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")
)

// reservedFarmNames would hide API paths: /stats/farms/total, /farms/modules/…; 0 is
// rejected for every object.
var reservedFarmNames = []string{"0", "modules", "total"}

func checkVIP(s string) string {
	addr, err := netip.ParseAddr(s)
	switch {
	case err != nil:
		return "it is no address"
	case addr.Zone() != "":
		return "addresses with a zone are not supported"
	case addr.Is4In6():
		return "write the IPv4 address itself"
	case addr.IsMulticast():
		return "it is a multicast address"
	case addr == broadcast:
		return "it is the broadcast address"
	}
	return ""
}

var broadcast = netip.AddrFrom4([4]byte{255, 255, 255, 255})

// checkHost accepts a unicast address or a resolvable name (RFC 1123, plus the underscore
// that occurs in practice).
func checkHost(s string) string {
	if addr, err := netip.ParseAddr(s); err == nil {
		return checkBackendAddr(addr, nil)
	}
	if len(s) > 253 {
		return "the name is longer than 253 bytes"
	}
	labels := strings.Split(strings.TrimSuffix(s, "."), ".")
	for _, label := range labels {
		if !hostLabel().MatchString(label) {
			return "it is neither an address nor a host name"
		}
	}
	if strings.Trim(labels[len(labels)-1], "0123456789") == "" {
		return "it is neither an address nor a host name"
	}
	return ""
}

// checkBackendAddr rejects addresses that no server can have. local lists the addresses of
// this machine with their networks.
func checkBackendAddr(addr netip.Addr, local []netip.Prefix) string {
	switch {
	case addr.Zone() != "":
		return "addresses with a zone are not supported"
	case addr.Is4In6():
		return "write the IPv4 address itself"
	case addr.IsUnspecified():
		return "it is the unspecified address"
	case addr.IsMulticast():
		return "it is a multicast address"
	case addr == broadcast:
		return "it is the broadcast address"
	}
	for _, network := range local {
		if isBroadcast(addr, network) {
			return fmt.Sprintf("it is the broadcast address of the local network %s", network.Masked())
		}
		if isNetwork(addr, network) {
			return fmt.Sprintf("it is the address of the local network %s itself", network.Masked())
		}
	}
	return ""
}

// isBroadcast reports whether addr has all host bits of network set. Networks
// of one or two addresses have no broadcast address (RFC 3021).
func isBroadcast(addr netip.Addr, network netip.Prefix) bool {
	if !addr.Is4() || !network.Contains(addr) || network.Bits() > 30 {
		return false
	}
	return !network.Contains(addr.Next())
}

// isNetwork reports whether addr has no host bits of network set, which is an obsolete form
// of the broadcast address.
func isNetwork(addr netip.Addr, network netip.Prefix) bool {
	return addr.Is4() && network.Addr().Is4() && network.Bits() <= 30 && addr == network.Masked().Addr()
}

func checkVHost(s string) string {
	if strings.HasPrefix(s, "^") {
		return "it is compared from the start of the host anyway, leave the ^ out"
	}
	return checkPattern(s)
}

// checkRedirect accepts an absolute http(s) URL. ${VHOST} stands for the host of the
// request and may replace the host.
func checkRedirect(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return isControl(r) || r == ' ' }) >= 0 {
		return "it holds a blank or a control character"
	}
	known := strings.ReplaceAll(s, "${VHOST}", "vhost")
	if found := variable.FindString(known); found != "" {
		return found + " is not replaced here: " + redirectVariables(found)
	}
	if strings.HasPrefix(s, "@") {
		return "it is not read from a file: give the URL itself"
	}
	u, err := url.Parse(known)
	switch {
	case err != nil:
		return "it is no URL"
	case u.Scheme != "http" && u.Scheme != "https":
		return "it must start with http:// or https://"
	case u.Hostname() == "":
		return "the host is missing"
	case u.User != nil:
		return "it must not hold a user or password"
	}
	return ""
}

// checkPlainRedirect is checkRedirect for a response sent before reading a request, so the
// URL cannot use parts of it.
func checkPlainRedirect(s string) string {
	if strings.Contains(s, "${VHOST}") {
		return "it is sent as it stands, the host of the request is not known here"
	}
	return checkRedirect(s)
}

// variable matches variables of other programs: $host and ${host} (nginx), %[hdr(host)]
// (HAProxy), %{Host}i (Apache).
var variable = regexp.MustCompile(`\$\{[^}]*\}?|\$[A-Za-z_]\w*|%[\[{][^\]}]*[\]}]?`)

// nginxVariable matches a variable of nginx in a text that may contain other dollar signs.
var nginxVariable = regexp.MustCompile(`\$\{?(?:host|hostname|https?|http_\w+|sent_http_\w+|uri|document_uri|request|request_\w+|args|arg_\w+|is_args|query_string|` +
	`scheme|server_\w+|remote_\w+|realip_\w+|proxy_\w+|upstream_\w+|ssl_\w+|cookie_\w+|status|time_\w+|msec|connection\w*|body_bytes_sent)\b\}?`)

// redirectVariables suggests the equivalent of a variable in a redirect.
func redirectVariables(found string) string {
	switch strings.Trim(found, "${}") {
	case "host", "http_host", "server_name", "hostname":
		return "write ${VHOST} for the host of the request"
	case "request_uri", "uri", "document_uri":
		return "redirecttype=append appends path and query of the request"
	}
	return "a redirect knows ${VHOST}, the host of the request, and $1 to $9, the groups of urlp"
}

// checkLiteral rejects variables of other programs, and file names, in a header value,
// which is sent literally.
func checkLiteral(s string) string {
	found := nginxVariable.FindString(s)
	if found == "" {
		found = logVariable.FindString(s)
	}
	switch {
	case found != "":
		return found + " is not replaced: the value is sent as it stands"
	case fileName.MatchString(strings.TrimSpace(s)):
		return strings.TrimSpace(s) + " is not read: give the value itself, not the name of a file"
	}
	return ""
}

var (
	// logVariable matches a variable of HAProxy or Apache.
	logVariable = regexp.MustCompile(`%\[[a-z][^\]]*\]|%\{[^}]+\}[a-zA-Z]`)
	// fileName matches @file, and file:///path.
	fileName = regexp.MustCompile(`^(?:@|file:)[\w./~-]+$`)
)

// checkErrorText rejects a file name, and nginx variables, in an error body, which is sent
// literally.
func checkErrorText(s string) string {
	if fileName.MatchString(strings.TrimSpace(s)) {
		return strings.TrimSpace(s) + ` is not read: give the text itself, in a shell as "$(cat FILE)"`
	}
	if found := nginxVariable.FindString(s); found != "" && !strings.HasPrefix(found, "${") {
		return found + " is not replaced: the text is sent as it stands"
	}
	return ""
}

func checkPrintable(s string) string {
	if strings.IndexFunc(s, isControl) >= 0 {
		return "it holds a control character"
	}
	return ""
}

func isControl(r rune) bool { return r < 0x20 || r == 0x7f }

// maxCertificate is the maximum length of a certificate name, including its extension.
const maxCertificate = 132

var (
	certificatePattern = regexp.MustCompile(`^(\*[_.])?\w([\w.()@ -]*[\w.()@-])?$`)
	authorityPattern   = regexp.MustCompile(`^[a-zA-Z0-9][\w.-]*$`)
)

// checkCertificate checks the form of a certificate name, with or without extension. Its
// existence is checked elsewhere.
func checkCertificate(s string) string {
	base := strings.TrimSuffix(s, ".pem")
	switch {
	case !certificatePattern.MatchString(base):
		return "it is made of letters, digits and _.()@- or blanks, after *. or *_ for a wildcard"
	case strings.HasSuffix(base, ".csr"), strings.HasSuffix(base, ".key"), strings.HasSuffix(base, ".pem"):
		return "certificates end in .pem"
	}
	return ""
}

func canonCertificate(s string) string { return strings.TrimSuffix(s, ".pem") + ".pem" }

func checkAuthority(s string) string {
	if !authorityPattern.MatchString(strings.TrimSuffix(s, ".pem")) {
		return "it is made of letters, digits and _.-, and begins with a letter or digit"
	}
	return ""
}

func canonAuthority(s string) string { return strings.TrimSuffix(s, ".pem") }
