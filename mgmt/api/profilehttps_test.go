package api_test

import (
	"strings"
	"testing"
)

func TestProfileHTTPSIsAnHTTPFarmWithTLS(t *testing.T) {
	a := newAppliance(t)
	r := a.must(201, "POST", "/farms", `{"farmname":"tls","profile":"https","vip":"192.0.2.10","vport":443,"disable_http2":true}`)
	r.want(t, "params.profile", "https")
	a.must(200, "GET", "/farms", "").want(t, "params.0.profile", "https")
	r = a.must(200, "GET", "/farms/tls", "")
	r.want(t, "params.profile", "https")
	r.want(t, "params.listener", "https")
	r.want(t, "params.disable_http2", "true")
	// With a listener it means the same; without one, TLS is implied.
	a.must(201, "POST", "/farms", `{"farmname":"same","profile":"http","vip":"192.0.2.10","vport":444,"listener":"https"}`).want(t, "params.profile", "https")
	a.must(201, "POST", "/farms", `{"farmname":"plain","profile":"http","vip":"192.0.2.10","vport":80}`).want(t, "params.profile", "http")
	a.must(201, "POST", "/farms", `{"farmname":"copy","profile":"https","vip":"192.0.2.10","vport":445,"copy_from":"plain","listener":"https"}`).want(t, "params.profile", "https")
	a.must(201, "POST", "/farms", `{"farmname":"twin","profile":"http","vip":"192.0.2.10","vport":446,"copy_from":"tls"}`).want(t, "params.profile", "https")
	for _, name := range []string{"tls", "same", "copy", "twin"} {
		if f := a.config().Farm(name); !f.HTTPS() || f.Profile != "http" || len(f.HTTP.TLS.Certificates) != 1 {
			t.Errorf("%s is %+v", name, f)
		}
	}
	for body, says := range map[string]string{
		`{"farmname":"x","profile":"https","vip":"192.0.2.10","vport":81,"listener":"http"}`:  "listener",
		`{"farmname":"x","profile":"https","vip":"192.0.2.10","vport":81,"nattype":"nat"}`:    "nattype is a field of l4xnat farms",
		`{"farmname":"x","profile":"https","vip":"192.0.2.10","vport":"81,82"}`:               "must be one port",
		`{"farmname":"x","profile":"https","vip":"192.0.2.10","vport":81,"protocol":"tcp"}`:   "l4xnat",
		`{"farmname":"x","profile":"l4xnat","vip":"192.0.2.10","vport":81,"copy_from":"tls"}`: "profile must be http",
	} {
		a.do("POST", "/farms", body).refused(t, 400, says)
	}
	a.must(201, "POST", "/farms", `{"farmname":"dns","profile":"l4xnat","vip":"192.0.2.10","vport":53}`)
	a.do("POST", "/farms", `{"farmname":"x","profile":"https","vip":"192.0.2.10","vport":81,"copy_from":"dns"}`).refused(t, 400, "profile must be l4xnat")
}

// A document may use profile https, too. It is written in the original form.
func TestADocumentTakesProfileHTTPS(t *testing.T) {
	a := newAppliance(t)
	a.must(200, "PUT", "/config", "farms:\n- name: tls\n  profile: https\n  vip: 192.0.2.10\n  vport: 443\n  services: []\n")
	export := a.must(200, "GET", "/config", "").raw
	if !strings.Contains(export, "profile: http\n") || !strings.Contains(export, "listener: https\n") {
		t.Errorf("exported is\n%s", export)
	}
	revision := a.config()
	a.must(200, "PUT", "/config", export)
	if a.config() != revision {
		t.Error("the export is a change")
	}
	a.do("PUT", "/config", "farms:\n- name: tls\n  profile: https\n  listener: http\n  vip: 192.0.2.10\n  vport: 443\n").refused(t, 400, "listener", "profile https")
}
