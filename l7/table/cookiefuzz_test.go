package table

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
)

// FuzzCookies looks up a cookie in client input pair by pair, and in the same text split at
// semicolons.
func FuzzCookies(f *testing.F) {
	for _, seed := range [][2]string{
		{"a=b", "a"}, {"x=1; SID=abc; y=2", "SID"}, {`SID="quoted"`, "SID"}, {"SID=; SID=second", "SID"}, {"SIDE=1;SID=2", "SID"}, {"sid=1", "SID"},
		{"; ;=;a", "a"}, {"a=b=c", "a"}, {"a", "a"}, {"  a=  b  ;", "a"}, {`a="""`, "a"}, {"\xff=\x80", "\xff"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, list, name string) {
		if name == "" || strings.ContainsAny(name, "; =") {
			return // not a cookie name
		}
		var got string
		for rest := []byte(list); len(rest) > 0; {
			before, value := len(rest), []byte(nil)
			if value, rest = nextCookie(rest, []byte(name)); value != nil {
				got = string(value)
				break
			}
			if len(rest) >= before {
				t.Fatalf("%d bytes left of %d", len(rest), before)
			}
		}
		if want := cutCookie(list, name); got != want {
			t.Errorf("%q in %q is %q, want %q", name, list, got, want)
		}
	})
}

// cutCookie returns the value of the first cookie of that name with a value.
func cutCookie(list, name string) string {
	for pair := range strings.SplitSeq(list, ";") {
		value, found := strings.CutPrefix(strings.TrimLeft(pair, " "), name+"=")
		if value = strings.Trim(strings.TrimSpace(value), `"`); found && value != "" {
			return value
		}
	}
	return ""
}

// FuzzCookieRule compiles the line of a cookie rule: it is refused or has exactly the parts
// of the rule.
func FuzzCookieRule(f *testing.F) {
	f.Add("ZENSESSIONID", "", "/", uint32(0), uint8(0), false)
	f.Add("lb", "example.com", "/shop", uint32(3600), uint8(1), true)
	f.Add("lb", "a; Secure", "/;HttpOnly", uint32(1), uint8(2), true)
	f.Add("lb\r\nX: y", "a\r\nb", "/\x00", uint32(1), uint8(3), false)
	f.Add("lb", "", "/", uint32(1), uint8(1), false)
	f.Fuzz(func(t *testing.T, name, domain, path string, ttl uint32, which uint8, https bool) {
		if strings.ContainsAny(name, "; ") {
			return // refused when the rule is created
		}
		same := farm.SameSites()[int(which)%len(farm.SameSites())]
		line, err := cookieLine(&farm.CookieInsert{Name: name, Domain: domain, Path: path, TTL: farm.Seconds(ttl), SameSite: same}, "value", https)
		if err != nil {
			return
		}
		text, whole := strings.CutSuffix(string(line), "\r\n")
		if !whole || strings.ContainsAny(text, "\r\n\x00") {
			t.Fatalf("%q is not one line", line)
		}
		if path == "" {
			path = "/"
		}
		want := []string{"Set-Cookie: " + name + "=value", "Path=" + path}
		if domain != "" {
			want = append(want, "Domain="+domain)
		}
		if ttl > 0 {
			want = append(want, fmt.Sprint("Max-Age=", ttl))
		}
		want = append(want, "HttpOnly")
		if same != farm.SameSiteOff {
			want = append(want, "SameSite="+strings.ToUpper(string(same[:1]))+string(same[1:]))
		}
		if https || same == farm.SameSiteNone {
			want = append(want, "Secure")
		}
		if got := strings.Split(text, "; "); !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	})
}
