package httpfarm

import (
	"net/url"
	"regexp"
	"strings"

	"github.com/sluicelb/sluice/mgmt/validate/format"
)

func checkVHost(s string) string {
	if strings.HasPrefix(s, "^") {
		return "it is compared from the start of the host anyway, leave the ^ out"
	}
	return CheckPattern(s)
}

// checkRedirect accepts an absolute http(s) URL. ${VHOST} stands for the host of the
// request and may replace the host.
func checkRedirect(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return format.IsControl(r) || r == ' ' }) >= 0 {
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
