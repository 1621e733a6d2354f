package httpfarm_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/httpfarm"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
	"github.com/sluicelb/sluice/mgmt/validate/validatetest"
)

func TestIneffectivePersistenceGetsAWarning(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{}`:                                       "",
		`{"persistence":"IP","ttl":5}`:             "",
		`{"persistence":"URL","sessionid":"s"}`:    "",
		`{"persistence":"PARM"}`:                   "",
		`{"cookieinsert":true}`:                    "",
		`{"persistence":"URL"}`:                    "persistence URL has no effect yet: sessionid names the parameter",
		`{"persistence":"COOKIE"}`:                 "persistence COOKIE has no effect yet: sessionid names the cookie",
		`{"persistence":"HEADER"}`:                 "persistence HEADER has no effect yet: sessionid names the header",
		`{"ttl":5}`:                                "ttl has no effect without persistence",
		`{"sessionid":"s"}`:                        "sessionid has no effect without persistence",
		`{"sessionid":"s","persistence":"IP"}`:     "sessionid has no effect while persistence is IP",
		`{"cookieinsert":true,"persistence":"IP"}`: "cookieinsert has no effect while persistence is IP",
		// Persistence by a cookie without a name has no effect, so the inserted cookie
		// applies.
		`{"cookieinsert":true,"persistence":"COOKIE"}`: "persistence COOKIE has no effect yet",
	} {
		cfg := validatetest.Good()
		s := &cfg.Farms[0].HTTP.Services[0]
		*s = farm.Service{Name: s.Name}
		if _, err := validatetest.Change(t, &httpfarm.ServiceUpdate, s, body); err != nil {
			t.Errorf("%s: %v", body, err)
			continue
		}
		if err := validate.Config(cfg); err != nil {
			t.Errorf("%s: refused: %v", body, err)
		}
		var said []string
		for _, w := range validate.Warnings(cfg) {
			if w.Path == profile.ServicePath(cfg.Farms[0].Name, s.Name) {
				said = append(said, w.Message)
			}
		}
		if got := strings.Join(said, "; "); want == "" && got != "" || !strings.HasPrefix(got, want) || len(said) > 1 {
			t.Errorf("%s: warned of %q, want %q", body, got, want)
		}
	}
}

// See RFC 6265bis §5.7.
func TestCookiesThatBrowsersDiscardAreWarnedOf(t *testing.T) {
	t.Parallel()
	const none, host, secure = `"cookieinsert":true,"cookiesamesite":"none"`, `"cookieinsert":true,"cookiename":"__Host-LB"`, `"cookieinsert":true,"cookiename":"__SECURE-LB"`
	for _, c := range []struct {
		body           string
		https, trusted bool
		want           string
	}{
		{`{"cookieinsert":true,"cookiesamesite":"strict"}`, false, false, ""},
		{`{"cookieinsert":true,"cookiesamesite":"off"}`, false, false, ""},
		{`{` + none + `}`, false, false, "cookiesamesite none has no effect in browsers"},
		{`{` + none + `}`, false, true, ""},
		{`{` + none + `}`, true, false, ""},
		{`{` + secure + `}`, true, false, ""},
		{`{` + secure + `}`, false, true, "cookiename __SECURE-LB: browsers discard a cookie with this prefix unless it is Secure"},
		{`{` + secure + `,"cookiesamesite":"none"}`, false, true, ""},
		{`{` + secure + `,"cookiesamesite":"none"}`, false, false, "cookiesamesite none has no effect in browsers"},
		{`{` + secure + `,"cookiedomain":"a.test","cookiepath":"/a"}`, true, false, ""},
		{`{` + host + `}`, true, false, ""},
		{`{` + host + `}`, false, false, "cookiename __Host-LB: browsers discard a cookie with this prefix unless it is Secure"},
		{`{` + host + `,"cookiedomain":"a.test"}`, true, false, "cookiename __Host-LB: browsers discard a cookie with this prefix if it has a domain"},
		{`{` + host + `,"cookiepath":"/a"}`, true, false, "cookiename __Host-LB: browsers discard a cookie with this prefix unless its path is /"},
	} {
		s := farm.Service{Name: "web"}
		if _, err := validatetest.Change(t, &httpfarm.ServiceUpdate, &s, c.body); err != nil {
			t.Errorf("%s: %v", c.body, err)
			continue
		}
		cfg := validatetest.OnFarm(s, map[bool]string{false: "http", true: "https"}[c.https])
		if c.trusted {
			cfg.Farms[0].HTTP.Trusted = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
		}
		var said []string
		for _, w := range validate.Warnings(cfg) {
			said = append(said, w.Message)
		}
		if got := strings.Join(said, "; "); c.want == "" && got != "" || !strings.HasPrefix(got, c.want) || len(said) > 1 {
			t.Errorf("%s with https %t: warned of %q, want %q", c.body, c.https, got, c.want)
		}
	}
}

func TestSwitchesOfTLSThatWereNotSentFollowThoseThatWere(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		was, body, now, says string // was and now: the offered versions
	}{
		{"1.2 1.3", `{"disable_tlsv1":false}`, "1.0 1.1 1.2 1.3", "disable_tlsv1_1 is false"},
		{"1.3", `{"disable_tlsv1":false}`, "1.0 1.1 1.2 1.3", "disable_tlsv1_1 and disable_tlsv1_2 are false"},
		{"1.3", `{"disable_tlsv1_1":false}`, "1.1 1.2 1.3", "disable_tlsv1_2 is false"},
		{"1.0 1.1 1.2", `{"disable_tlsv1_1":true}`, "1.2", "disable_tlsv1 is true"},
		{"1.0 1.1 1.2 1.3", `{"disable_tlsv1_2":true}`, "1.3", "disable_tlsv1 and disable_tlsv1_1 are true"},
		{"1.0 1.1 1.2 1.3", `{"disable_tlsv1":true}`, "1.1 1.2 1.3", ""},
		{"1.2 1.3", `{"disable_tlsv1":false,"disable_tlsv1_1":true}`, "1.0 1.2 1.3", ""}, // rejected with the farm
		{"1.2 1.3", `{"disable_tlsv1":false,"disable_tlsv1_2":true}`, "1.0 1.3", ""},     // likewise
		{"1.2 1.3", `{"disable_http2":true}`, "1.2 1.3", ""},
	} {
		names := []string{"1.0", "1.1", "1.2", "1.3"}
		f := farm.Farm{Name: "tls", Profile: farm.ProfileHTTP, HTTP: farm.DefaultHTTP()}
		f.HTTP.TLS = farm.DefaultTLS()
		disabled := []*bool{&f.HTTP.TLS.DisableTLS10, &f.HTTP.TLS.DisableTLS11, &f.HTTP.TLS.DisableTLS12,
			&f.HTTP.TLS.DisableTLS13}
		for i, d := range disabled {
			*d = !strings.Contains(c.was, names[i])
		}
		v, err := validatetest.Change(t, &httpfarm.Update, &f, c.body)
		if err != nil {
			t.Fatal(err)
		}
		says := httpfarm.FollowVersions(v, &f)
		var now []string
		for i, d := range disabled {
			if !*d {
				now = append(now, names[i])
			}
		}
		if got := strings.Join(now, " "); got != c.now || !strings.HasPrefix(says, c.says) || c.says == "" && says != "" {
			t.Errorf("%s of %s: %s, warned %q; want %s, %q", c.body, c.was, got, says, c.now, c.says)
		}
	}
	if says := httpfarm.FollowVersions(field.Values[farm.Farm]{}, &farm.Farm{HTTP: farm.DefaultHTTP()}); says != "" {
		t.Errorf("an http farm: %q", says)
	}
}
