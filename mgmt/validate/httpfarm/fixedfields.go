package httpfarm

import (
	"regexp"
	"strings"
)

// fixedFields lists header fields that rules cannot change, with the reason. The engine
// ignores rules about them.
var fixedFields = []struct{ name, why string }{
	{"Content-Length", framing},
	{"Transfer-Encoding", framing},
	{"Trailer", framing},
	{"Connection", oneHop},
	{"Keep-Alive", oneHop},
	{"Proxy-Connection", oneHop},
	{"Proxy-Authenticate", oneHop},
	{"Proxy-Authentication-Info", oneHop},
	{"Proxy-Authorization", oneHop},
	{"HTTP2-Settings", oneHop},
	{"TE", oneHop},
	{"Upgrade", oneHop},
	{"Proxy", "programs take it for a setting of theirs"},
	{"Host", "it says where the request goes; use rewritehost to send backends their own address"},
	{"Expect", "use ignore_100_continue"},
}

const (
	framing = "it frames the message, and the appliance writes it itself"
	oneHop  = "it is between two neighbours only, and the appliance writes its own"
)

// usualFields represent all other fields. A pattern matching one of them does not target a
// fixed field alone.
var usualFields = strings.Fields(`Accept Accept-Encoding Accept-Language Authorization Cache-Control Content-Type Content-Security-Policy
	Cookie Date ETag From If-Match Last-Modified Location Origin Pragma Range Referer Retry-After Server Set-Cookie User-Agent Vary Via
	WWW-Authenticate X-Request-Id X-Forwarded-For X-Forwarded-Host X-Powered-By Alt-Svc Link Max-Forwards Upgrade-Insecure-Requests
	Strict-Transport-Security`)

// fixedReason explains why a rule must not name the field, or returns "". A spelling that
// backends equate with a fixed name (Content_Length) counts too.
func fixedReason(name string) string {
	plain := strings.Map(func(r rune) rune {
		if r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '-'
	}, name)
	for _, fixed := range fixedFields {
		if strings.EqualFold(fixed.name, plain) {
			return fixed.name + " cannot be changed by rules: " + fixed.why
		}
	}
	return ""
}

// checkLinePattern is CheckPattern for a regex matched case-insensitively against lines
// "Name: value".
func checkLinePattern(s string) string { return checkFieldPattern(unhidden(s), ": ") }

// checkNamePattern is CheckPattern for a regex matched case-insensitively against field
// names.
func checkNamePattern(s string) string { return checkFieldPattern(s, "") }

func checkFieldPattern(s, behind string) string {
	if problem := CheckPattern(s); problem != "" {
		return problem
	}
	if problem := fixedReason(namedBy(s)); problem != "" {
		return problem
	}
	re, err := regexp.Compile("(?i)" + s)
	if err != nil {
		return err.Error()
	}
	for _, name := range usualFields {
		if re.MatchString(name + behind) {
			return ""
		}
	}
	for _, fixed := range fixedFields {
		if re.MatchString(fixed.name + behind) {
			return fixedReason(fixed.name)
		}
	}
	return ""
}

var namePrefix = regexp.MustCompile(`^(?:\(\?i\))?\^(?:\(\?i\))?([A-Za-z0-9_-]+)(?::|\$|\\s|\[| )`)

// namedBy returns the field name that a pattern spells out at its start, or "".
func namedBy(pattern string) string {
	if m := namePrefix.FindStringSubmatch(pattern); m != nil {
		return m[1]
	}
	return ""
}
