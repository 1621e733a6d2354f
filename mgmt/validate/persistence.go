package validate

import (
	"cmp"
	"fmt"
	"net/netip"
	"regexp"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/session"
)

// cookieFields are the fields of cookie insertion. The contract allows changing its values
// only while it is on, and requires them to be non-blank.
var cookieFields = []field[farm.Service]{
	{
		rule: rule{name: "cookieinsert", hints: basic(atCookie, "Insert a cookie"), kind: kindBool, about: "Insert a cookie that keeps clients on their backend; has no effect with persistence."},
		get:  func(s *farm.Service) Value { return boolValue(s.Cookie != nil) },
		set: func(s *farm.Service, v Value) {
			switch {
			case !v.truth:
				s.Cookie = nil
			case s.Cookie == nil:
				s.Cookie = farm.DefaultCookie()
			}
		},
	},
	cookieText("cookiename", advanced(atCookie, "Cookie name"), "a token (letters, digits and !#$%&'*+.^_`|~-)", "Name of the cookie.", checkToken, func(c *farm.CookieInsert) *string { return &c.Name }),
	cookieText("cookiedomain", advanced(atCookie, "Cookie domain"), "a domain name", "Domain of the cookie; defaults to the requested host.", checkDomain, func(c *farm.CookieInsert) *string { return &c.Domain }),
	cookieText("cookiepath", advanced(atCookie, "Cookie path"), "a path that starts with /", "Path of the cookie.", checkCookiePath, func(c *farm.CookieInsert) *string { return &c.Path }),
	{
		rule: rule{name: "cookiettl", hints: basic(atCookie, "Cookie lifetime").in(inSeconds), kind: kindNumber, min: 0, max: MaxTTL, only: with("cookieinsert"), about: "Lifetime of the cookie, in seconds; 0 makes it a session cookie."},
		get:  func(s *farm.Service) Value { return numberValue(int64(cookieOf(s).TTL)) },
		set:  func(s *farm.Service, v Value) { s.Cookie.TTL = farm.Seconds(v.number) },
	},
	{
		rule: rule{name: "cookiesamesite", hints: advanced(atCookie, "SameSite"), kind: kindText, values: texts(farm.SameSites()),
			unset: textValue(string(farm.SameSiteLax)), only: with("cookieinsert"),
			about: "Whether browsers send the cookie with requests from other sites: with links only (lax), with all (none, which implies Secure) or never (strict); off omits the SameSite attribute."},
		get: func(s *farm.Service) Value { return textValue(string(cmp.Or(cookieOf(s).SameSite, farm.SameSiteLax))) },
		set: func(s *farm.Service, v Value) { s.Cookie.SameSite = orZero(farm.SameSite(v.text), farm.SameSiteLax) },
	},
}

// cookieText returns a text field. Blank and null are rejected (contract); turning
// insertion off and on restores the defaults.
func cookieText(name string, h hints, must, about string, check func(string) string, at func(*farm.CookieInsert) *string) field[farm.Service] {
	unset := *at(farm.DefaultCookie())
	return field[farm.Service]{
		rule: rule{name: name, hints: h, bare: unsetOf(unset), kind: kindText, maxLen: 255, check: check, must: must, about: about, unset: textValue(unset), only: with("cookieinsert")},
		get:  func(s *farm.Service) Value { return textValue(*at(cookieOf(s))) },
		set:  func(s *farm.Service, v Value) { *at(s.Cookie) = cmp.Or(v.text, unset) },
	}
}

// unsetOf returns how responses show a default; an empty one is omitted.
func unsetOf(unset string) bare {
	if unset == "" {
		return leftOut
	}
	return asDefault
}

// cookieOf returns the settings to read; without insertion, the initial ones.
func cookieOf(s *farm.Service) *farm.CookieInsert { return cmp.Or(s.Cookie, farm.DefaultCookie()) }

func checkToken(s string) string {
	if !tokenPattern.MatchString(s) {
		return "it holds another character"
	}
	return ""
}

// checkDomain accepts the value of a Domain attribute (RFC 6265 §5.2.3).
func checkDomain(s string) string {
	bare := strings.TrimPrefix(s, ".")
	if _, err := netip.ParseAddr(bare); err == nil || checkHost(bare) != "" {
		return "it is no domain name"
	}
	return ""
}

// checkCookiePath accepts the value of a Path attribute (RFC 6265 §4.1.1).
func checkCookiePath(s string) string {
	switch {
	case s[0] != '/':
		return "it starts with something else"
	case strings.IndexFunc(s, func(r rune) bool { return isControl(r) || r == ';' || r > 0x7e }) >= 0:
		return "it holds a semicolon, a control character or one beyond ASCII"
	}
	return ""
}

// MaxStatic bounds the static sessions of a service. MaxSession is the maximum length of
// one in bytes. Longer identifications are replaced by a digest, see session.AppendKey.
const (
	MaxStatic  = 1000
	MaxSession = session.MaxKey
)

// backendSessions are the static sessions of a backend. They are a field in documents; the
// API has separate operations for them.
var backendSessions = field[farm.Backend]{
	rule: rule{name: "sessions", hints: advanced(atPersistence, "Static sessions"), kind: kindList, max: MaxStatic, maxLen: MaxSession, check: checkPrintable, must: "a text without control characters",
		musts: "a list of texts", about: "Static sessions: addresses or values (cookie, header, parameter, user) of clients that are always sent to this backend. Only with persistence."},
	get: func(b *farm.Backend) Value { return listValue(b.Sessions) },
	set: func(b *farm.Backend, v Value) { b.Sessions = v.list },
}

// StaticSession converts a static session of a service into the engine's form.
func StaticSession(s *farm.Service, identification any) (string, error) {
	if s.Persistence == farm.PersistNone {
		return "", &Error{"", "session", "session: the service keeps no sessions; set persistence first"}
	}
	text, ok := identification.(string)
	if !ok || text == "" {
		return "", &Error{"", "session", "session must be a text of at least one character"}
	}
	r := backendSessions.rule
	r.name, r.kind = "session", kindText
	if s.Persistence != farm.PersistIP {
		r.maxLen = max(len(text), r.maxLen) // its key is shorter
	}
	if err := r.verifyText("", text); err != nil {
		return "", err
	}
	if s.Persistence == farm.PersistIP {
		addr, err := netip.ParseAddr(text)
		if err != nil {
			return "", &Error{"", "session", fmt.Sprintf("session must be the address of a client with persistence IP, got %s", show(text))}
		}
		return addr.Unmap().String(), nil
	}
	return string(session.AppendKey(nil, []byte(text))), nil
}

// checkStatics checks static sessions: persistence is on, their form is valid, and each has
// one backend.
func checkStatics(f *farm.Farm, s *farm.Service) *Error {
	first := map[string]int{}
	for i := range s.Backends {
		at := BackendPath(f.Name, s.Name, i)
		for _, text := range s.Backends[i].Sessions {
			found, err := StaticSession(s, text)
			if err != nil {
				return &Error{at, "sessions", fmt.Sprintf("sessions: %v", err)}
			}
			if found != text {
				return &Error{at, "sessions", fmt.Sprintf("sessions: write %s as %s", show(text), show(found))}
			}
			if j, known := first[text]; known {
				return &Error{at, "sessions", fmt.Sprintf("sessions: %s is with backend %d already", show(text), j)}
			}
			first[text] = i
		}
	}
	if len(first) > MaxStatic {
		return &Error{ServicePath(f.Name, s.Name), "sessions", fmt.Sprintf("sessions: a service has at most %d static ones, got %d", MaxStatic, len(first))}
	}
	return nil
}

// endOfKey matches the digest at the end of a key of a long identification.
var endOfKey = regexp.MustCompile("[0-9a-f]{64}$")

// cutSessionsWarning returns a text if static sessions are probably the beginning of longer
// identifications. Earlier versions compared only this many bytes.
func cutSessionsWarning(sessions []string) string {
	for _, text := range sessions {
		if len(text) == MaxSession && !endOfKey.MatchString(text) {
			return fmt.Sprintf("sessions: %s has %d bytes, so it may be the beginning of a longer value, which no longer"+
				" matches; if it is, delete the session and create it with the whole value", show(text), MaxSession)
		}
	}
	return ""
}
