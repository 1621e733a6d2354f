package api_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/mgmt/acme"
	"github.com/sluicelb/sluice/mgmt/api"
	"github.com/sluicelb/sluice/mgmt/api/apitest"
)

func TestSettingsOfTheFamilyHaveTheirOnlyValue(t *testing.T) {
	a := newAppliance(t)
	const path = "/system/global"
	before := a.must(200, "GET", path, "")
	for name, c := range map[string]struct {
		value any
		wrong string
		says  string
	}{
		"http_farm_stop_grace_time": {30.0, `2`, "Each farm has its own setting: grace"},
		"l4xnat_sip_params":         {"", `"ports=5060"`, "/etc/modprobe.d"},
		"arp_announce":              {"false", `"true"`, "not every minute"},
		"ssyncd":                    {"false", `true`, "no separate process for session replication"},
		"duplicated_network":        {"false", `"true"`, "cannot create duplicate networks"},
		"proxy_new_generation":      {"true", `"false"`, "applies changes without a restart"},
		"waf_assistant":             {"false", `true`, "There is no assistant"},
	} {
		if got := before.at("params." + name); got != c.value {
			t.Errorf("%s is %v", name, got)
		}
		a.do("POST", path, `{"`+name+`":`+c.wrong+`,"session_timeout":7}`).refused(t, 400, name, c.says)
		a.must(200, "POST", path, `{"`+name+`":null,"force":"true"}`)
	}
	if a.must(200, "GET", path, "").at("params.session_timeout") != 30.0 {
		t.Error("a refused body changed something")
	}
	params := before.body["params"].(map[string]any)
	a.must(200, "PUT", path, quoteAny(params)) // as read
}

func TestSettingsOfThisProcessHold(t *testing.T) {
	var levels []string
	a := newAppliance(t, func(d *apitest.Parts) { d.System.LogLevel = func(level string) { levels = append(levels, level) } })
	const path = "/system/global"
	a.must(200, "GET", path, "").want(t, "params.log_level", nil)
	a.must(200, "POST", path, `{"log_level":"debug","le_renewal_timeout":300}`).want(t, "params.log_level", "debug")
	if got := acme.LoadOrderTime(a.store); got != 300*time.Second {
		t.Errorf("orders may take %s", got)
	}
	a.must(200, "POST", path, `{"session_timeout":5}`).want(t, "params.le_renewal_timeout", 300)
	a.do("POST", path, `{"log_level":"loud"}`).refused(t, 400, "log_level", "debug, info, warn, error")
	a.do("POST", path, `{"le_renewal_timeout":29}`).refused(t, 400, "le_renewal_timeout", "from 30 to 3600")
	a.must(200, "POST", path+"?dry_run=true", `{"log_level":"error","le_renewal_timeout":40,"cors_devel_mode":true}`)
	a.must(200, "POST", path, `{"log_level":null,"le_renewal_timeout":null}`).want(t, "params.le_renewal_timeout", 120)
	if !slices.Equal(levels, []string{"debug", ""}) {
		t.Errorf("the log levels set are %q", levels)
	}
}

// While development mode is on, a page on a loopback address may use the API with the
// session cookie. Pages of other sites never may.
func TestOnlyPagesUnderDevelopmentAreLetIn(t *testing.T) {
	a := newAppliance(t)
	ask := func(method, origin string, headers ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, "https://192.0.2.1:444"+api.Base+"/session", nil)
		r.RemoteAddr = "198.51.100.7:4000"
		r.Header.Set("Origin", origin)
		r.Header.Set("Sec-Fetch-Site", "cross-site")
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		w := httptest.NewRecorder()
		a.server.Handler().ServeHTTP(w, r)
		return w
	}
	for _, on := range []string{"false", "true"} {
		a.must(200, "PUT", "/system/global", `{"api_names":["lb.example"],"cors_devel_mode":"`+on+`"}`)
		in := a.login("root", rootPassword, "Origin", "http://localhost:4200")
		set, err := http.ParseSetCookie(in.header.Get("Set-Cookie"))
		if on == "true" && (err != nil || set.SameSite != http.SameSiteNoneMode) {
			t.Errorf("the page does not get the cookie: %+v, %v, %s", set, err, in.raw)
		}
		if cookieOf(t, a.login("root", rootPassword)) == "" {
			t.Errorf("other users get another cookie with the mode %s", on)
		}
		r := a.must(200, "PUT", "/system/global", `{"cors_devel_mode":"`+on+`"}`)
		if said, _ := r.body["warning"].(string); strings.Contains(said, "cors_devel_mode is on") != (on == "true") {
			t.Errorf("%s: warned %q", on, said)
		}
		for origin, local := range map[string]bool{
			"http://localhost:4200": true, "https://127.0.0.1": true, "http://[::1]:8080": true, "https://portal.example": false, "http://localhost.example": false,
			"null": false, "http://127.0.0.1@portal.example": false, "file://localhost": false, "http://192.0.2.9": false,
		} {
			want := on == "true" && local
			for _, method := range []string{"OPTIONS", "POST", "DELETE"} {
				w := ask(method, origin, "Access-Control-Request-Headers", "authorization")
				if got := w.Header().Get("Access-Control-Allow-Origin") == origin; got != want {
					t.Errorf("%s %s with the mode %s: it may read the answer: %t", method, origin, on, got)
				}
				if method != "OPTIONS" && (w.Code == 403) == want {
					t.Errorf("%s %s with the mode %s: %d", method, origin, on, w.Code)
				}
				if varies := slices.Contains(w.Header().Values("Vary"), "Origin"); want && !varies {
					t.Errorf("%s %s: an answer for one origin may be cached for others", method, origin)
				}
			}
		}
	}
}
