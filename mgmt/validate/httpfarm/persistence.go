package httpfarm

import (
	"cmp"
	"fmt"
	"net/netip"
	"regexp"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/session"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/format"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
)

// cookieFields are the fields of cookie insertion. The contract allows changing its values
// only while it is on, and requires them to be non-blank.
var cookieFields = []field.Field[farm.Service]{
	{
		Rule: field.Rule{Name: "cookieinsert", Hints: field.Basic(field.AtCookie, "Insert a cookie"), Kind: field.Bool, About: "Insert a cookie that keeps clients on their backend; has no effect with persistence."},
		Get:  func(s *farm.Service) field.Value { return field.BoolValue(s.Cookie != nil) },
		Set: func(s *farm.Service, v field.Value) {
			switch {
			case !v.Bool():
				s.Cookie = nil
			case s.Cookie == nil:
				s.Cookie = farm.DefaultCookie()
			}
		},
	},
	cookieText("cookiename", field.Advanced(field.AtCookie, "Cookie name"), "a token (letters, digits and !#$%&'*+.^_`|~-)", "Name of the cookie.", checkToken, func(c *farm.CookieInsert) *string { return &c.Name }),
	cookieText("cookiedomain", field.Advanced(field.AtCookie, "Cookie domain"), "a domain name", "Domain of the cookie; defaults to the requested host.", checkDomain, func(c *farm.CookieInsert) *string { return &c.Domain }),
	cookieText("cookiepath", field.Advanced(field.AtCookie, "Cookie path"), "a path that starts with /", "Path of the cookie.", checkCookiePath, func(c *farm.CookieInsert) *string { return &c.Path }),
	{
		Rule: field.Rule{Name: "cookiettl", Hints: field.Basic(field.AtCookie, "Cookie lifetime").In(field.Seconds), Kind: field.Number, Min: 0, Max: format.MaxTTL, Only: field.With("cookieinsert"), About: "Lifetime of the cookie, in seconds; 0 makes it a session cookie."},
		Get:  func(s *farm.Service) field.Value { return field.NumberValue(int64(cookieOf(s).TTL)) },
		Set:  func(s *farm.Service, v field.Value) { s.Cookie.TTL = farm.Seconds(v.Number()) },
	},
	{
		Rule: field.Rule{Name: "cookiesamesite", Hints: field.Advanced(field.AtCookie, "SameSite"), Kind: field.Text, Values: field.Texts(farm.SameSites()),
			Unset: field.TextValue(string(farm.SameSiteLax)), Only: field.With("cookieinsert"),
			About: "Whether browsers send the cookie with requests from other sites: with links only (lax), with all (none, which implies Secure) or never (strict); off omits the SameSite attribute."},
		Get: func(s *farm.Service) field.Value {
			return field.TextValue(string(cmp.Or(cookieOf(s).SameSite, farm.SameSiteLax)))
		},
		Set: func(s *farm.Service, v field.Value) {
			s.Cookie.SameSite = field.OrZero(farm.SameSite(v.Text()), farm.SameSiteLax)
		},
	},
}

// cookieText returns a text field. Blank and null are rejected (contract); turning
// insertion off and on restores the defaults.
func cookieText(name string, h field.Hints, must, about string, check func(string) string,
	at func(*farm.CookieInsert) *string) field.Field[farm.Service] {
	unset := *at(farm.DefaultCookie())
	return field.Field[farm.Service]{
		Rule: field.Rule{Name: name, Hints: h, IfUnset: unsetOf(unset), Kind: field.Text, MaxLen: 255, Check: check, Must: must, About: about, Unset: field.TextValue(unset), Only: field.With("cookieinsert")},
		Get:  func(s *farm.Service) field.Value { return field.TextValue(*at(cookieOf(s))) },
		Set:  func(s *farm.Service, v field.Value) { *at(s.Cookie) = cmp.Or(v.Text(), unset) },
	}
}

// unsetOf returns how responses show a default; an empty one is omitted.
func unsetOf(unset string) field.Unset {
	if unset == "" {
		return field.Omit
	}
	return field.ShowDefault
}

// cookieOf returns the settings to read; without insertion, the initial ones.
func cookieOf(s *farm.Service) *farm.CookieInsert { return cmp.Or(s.Cookie, farm.DefaultCookie()) }

func checkToken(s string) string {
	if !format.Token.MatchString(s) {
		return "it holds another character"
	}
	return ""
}

// checkDomain accepts the value of a Domain attribute (RFC 6265 §5.2.3).
func checkDomain(s string) string {
	bare := strings.TrimPrefix(s, ".")
	if _, err := netip.ParseAddr(bare); err == nil || format.Host(bare) != "" {
		return "it is no domain name"
	}
	return ""
}

// checkCookiePath accepts the value of a Path attribute (RFC 6265 §4.1.1).
func checkCookiePath(s string) string {
	switch {
	case s[0] != '/':
		return "it starts with something else"
	case strings.IndexFunc(s, func(r rune) bool { return format.IsControl(r) || r == ';' || r > 0x7e }) >= 0:
		return "it holds a semicolon, a control character or one beyond ASCII"
	}
	return ""
}

// StaticSession converts a static session of a service into the engine's form.
func StaticSession(s *farm.Service, identification any) (string, error) {
	if s.Persistence == farm.PersistNone {
		return "", &field.Error{Path: "", Field: "session", Message: "session: the service keeps no sessions; set persistence first"}
	}
	text, ok := identification.(string)
	if !ok || text == "" {
		return "", &field.Error{Path: "", Field: "session", Message: "session must be a text of at least one character"}
	}
	r := profile.BackendSessions.Rule
	r.Name, r.Kind = "session", field.Text
	if s.Persistence != farm.PersistIP {
		r.MaxLen = max(len(text), r.MaxLen) // its key is shorter
	}
	if err := r.VerifyText("", text); err != nil {
		return "", err
	}
	if s.Persistence == farm.PersistIP {
		addr, err := netip.ParseAddr(text)
		if err != nil {
			return "", &field.Error{Path: "", Field: "session", Message: fmt.Sprintf("session must be the address of a client with persistence IP, got %s", field.Show(text))}
		}
		return addr.Unmap().String(), nil
	}
	return string(session.AppendKey(nil, []byte(text))), nil
}

// checkStatics checks static sessions: persistence is on, their form is valid, and each has
// one backend.
func checkStatics(f *farm.Farm, s *farm.Service) *field.Error {
	first := map[string]int{}
	for i := range s.Backends {
		at := profile.BackendPath(f.Name, s.Name, i)
		for _, text := range s.Backends[i].Sessions {
			found, err := StaticSession(s, text)
			if err != nil {
				return &field.Error{Path: at, Field: "sessions", Message: fmt.Sprintf("sessions: %v", err)}
			}
			if found != text {
				return &field.Error{Path: at, Field: "sessions", Message: fmt.Sprintf("sessions: write %s as %s", field.Show(text), field.Show(found))}
			}
			if j, known := first[text]; known {
				return &field.Error{Path: at, Field: "sessions", Message: fmt.Sprintf("sessions: %s is with backend %d already", field.Show(text), j)}
			}
			first[text] = i
		}
	}
	if len(first) > profile.MaxStatic {
		return &field.Error{Path: profile.ServicePath(f.Name, s.Name), Field: "sessions", Message: fmt.Sprintf("sessions: a service has at most %d static ones, got %d", profile.MaxStatic, len(first))}
	}
	return nil
}

// endOfKey matches the digest at the end of a key of a long identification.
var endOfKey = regexp.MustCompile("[0-9a-f]{64}$")

// cutSessionsWarning returns a text if static sessions are probably the beginning of longer
// identifications. Earlier versions compared only this many bytes.
func cutSessionsWarning(sessions []string) string {
	for _, text := range sessions {
		if len(text) == profile.MaxSession && !endOfKey.MatchString(text) {
			return fmt.Sprintf("sessions: %s has %d bytes, so it may be the beginning of a longer value, which no longer"+
				" matches; if it is, delete the session and create it with the whole value", field.Show(text), profile.MaxSession)
		}
	}
	return ""
}
