package validate

import (
	"regexp"
	"strings"
)

// fixedFields are the header fields no rule may touch, with the reason: the
// engine leaves them alone whatever a rule says, so a rule about one of them
// would do nothing.
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

// usualFields stand for all others: a pattern that finds one of them is not
// about a fixed field alone.
var usualFields = strings.Fields(`Accept Accept-Encoding Accept-Language Authorization Cache-Control Content-Type Content-Security-Policy
	Cookie Date ETag From If-Match Last-Modified Location Origin Pragma Range Referer Retry-After Server Set-Cookie User-Agent Vary Via
	WWW-Authenticate X-Request-Id X-Forwarded-For X-Forwarded-Host X-Powered-By Alt-Svc Link Max-Forwards Upgrade-Insecure-Requests
	Strict-Transport-Security`)

// fixedReason says why a rule may not name the field, "" when it may. What
// backends read as one of the fixed names (Content_Length) counts as it.
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

// checkLinePattern is checkPattern for a regex that is searched in lines
// "Name: value", ignoring case.
func checkLinePattern(s string) string { return checkFieldPattern(unhidden(s), ": ") }

// checkNamePattern is checkPattern for a regex that is searched in field names,
// ignoring case.
func checkNamePattern(s string) string { return checkFieldPattern(s, "") }

func checkFieldPattern(s, behind string) string {
	if problem := checkPattern(s); problem != "" {
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

// namedBy is the field name a pattern spells out from its beginning on, "" when
// it does not.
func namedBy(pattern string) string {
	if m := namePrefix.FindStringSubmatch(pattern); m != nil {
		return m[1]
	}
	return ""
}
