package api_test

import (
	"context"
	"crypto/x509"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/mgmt/api"
	"github.com/sluicelb/sluice/mgmt/api/apitest"
	"github.com/sluicelb/sluice/mgmt/api/system"
)

// params returns the params of a response as text, with keys in order.
func params(r reply) string {
	_, rest, _ := strings.Cut(strings.Join(strings.Fields(r.raw), " "), `"params": `)
	return rest
}

func TestSettingsOfTheMachineAreChangedOnTheirResource(t *testing.T) {
	seconds := 0.5
	a := newAppliance(t, func(d *apitest.Parts) {
		d.System.Machine = system.Machine{
			NameServers: func() ([]string, string) { return []string{"192.0.2.1"}, "systemd-resolved" },
			Time: func(context.Context) system.Timekeeping {
				return system.Timekeeping{Service: "chrony", Synchronised: "true", Offset: &seconds, Source: "192.0.2.9"}
			},
			Syslog: func() []system.SyslogServer {
				at := time.Unix(1, 0).UTC()
				return []system.SyslogServer{{Server: "tls://log.example:6514", Sent: 5, Waiting: 4, Dropped: 3, Reconnects: 2, Problem: "it is away", LastError: "refused", LastErrorTime: &at}}
			},
			Agent: func() string { return "connected" }, Listener: func() string { return "https://192.0.2.10:444" },
		}
	})
	for _, c := range []struct{ path, body, shown string }{
		{"dns", `{"primary":"192.0.2.53"}`, `"actual": "up", "configured": "up", "in_force": [ "192.0.2.1" ], "managed_by": "systemd-resolved", "primary": "192.0.2.53", "secondary": ""`},
		{"ntp", `{"server":"ntp.example"}`, `"actual": "up", "configured": "up", "offset": 0.5, "server": "ntp.example", "service": "chrony", "source": "192.0.2.9", "synchronised": "true"`},
		{"ssh", `{"port":"2222"}`, `"actual": "up", "configured": "up", "listen": [], "port": 2222`},
		{"snmp", `{"status":true,"community":"letmein"}`, `"actual": "up", "agent": "connected", "community": "***", "configured": "up", "ip": "0.0.0.0", "port": 161, "scope": "0.0.0.0/0", "status": "true"`},
		{"http", `{"port":8443,"force":"true"}`, `"actual": "up", "certificate": "", "configured": "up", "ip": "", "listens": "https://192.0.2.10:444", "port": 8443`},
		{"proxy", `{"http_proxy":"http://ali:geheim@proxy:3128"}`, `"actual": "up", "configured": "up", "http_proxy": "http://ali:***@proxy:3128", "https_proxy": ""`},
		{"syslog", `{"servers":"tls://log.example"}`, `"actual": "up", "ca": "", "configured": "up", "delivery": [ { "dropped": 3, "last_error": "refused", "last_error_time": "1970-01-01T00:00:01Z", "problem": "it is away", "reconnects": 2, "sent": 5, "server": "tls://log.example:6514", "waiting": 4 } ], "servers": [ "tls://log.example:6514" ]`},
	} {
		if r := a.do("POST", "/system/"+c.path+"?dry_run=true", c.body); r.status != 200 || !strings.Contains(r.raw, "+  "+c.path) {
			t.Errorf("%s, tried: %d %s", c.path, r.status, r.raw)
		}
		r := a.do("POST", "/system/"+c.path, c.body)
		if r.status != 200 || !strings.Contains(params(r), c.shown) || r.body["message"] != "The settings of "+c.path+" have been changed." || r.body["warning"] != nil {
			t.Errorf("%s: %d %s", c.path, r.status, r.raw)
		}
		if r := a.do("GET", "/system/"+c.path, ""); r.status != 200 || !strings.Contains(params(r), c.shown) || strings.Contains(r.raw, "geheim") {
			t.Errorf("%s, read: %d %s", c.path, r.status, r.raw)
		}
		if r := a.do("POST", "/system/"+c.path, `{}`); r.status != 400 || !strings.Contains(r.raw, "No parameter has been sent") {
			t.Errorf("%s, help: %d %s", c.path, r.status, r.raw)
		}
	}
	if r := a.do("POST", "/system/ntp", `{"server":"a b"}`); r.status != 400 || !strings.Contains(r.raw, "server must be an address or a host name") {
		t.Errorf("%d %s", r.status, r.raw)
	}
	history := a.do("GET", "/config/history", "")
	for _, secret := range []string{"letmein", "geheim"} {
		if export := a.do("GET", "/config", ""); strings.Contains(history.raw, secret) || strings.Contains(export.raw, secret) {
			t.Errorf("%s is shown", secret)
		}
	}
}

func TestWhatTheMachineDoesNotDoIsAWarningAndInTheStatus(t *testing.T) {
	a := newAppliance(t)
	a.host.problems = map[string]string{"ntp": "no chrony here", "dns": "of another section"}
	if r := a.do("POST", "/system/ntp", `{"server":"a"}`); r.status != 200 || r.body["warning"] != "no chrony here" || !strings.Contains(params(r), `"problem": "no chrony here"`) {
		t.Errorf("%d %s", r.status, r.raw)
	}
	if r := a.do("GET", "/status", ""); !strings.Contains(params(r), `"problems": [ "system dns: of another section", "system ntp: no chrony here" ]`) {
		t.Error(r.raw)
	}
	if r := a.do("GET", "/system/ssh", ""); strings.Contains(r.raw, "problem") {
		t.Error(r.raw)
	}
	a.host.problems = nil
	if r := a.do("POST", "/system/ntp", `{"server":"a"}`); r.status != 200 || r.body["warning"] != nil {
		t.Errorf("sent again: %s", r.raw)
	}
}

// The actual state is that of the snmpd process, not that of its settings.
func TestTheActualStateOfSNMPIsThatOfItsSocket(t *testing.T) {
	var serves, known bool
	var asked netip.AddrPort
	a := newAppliance(t, func(d *apitest.Parts) {
		d.System.Machine = system.Machine{Serves: func(at netip.AddrPort) (bool, bool) { asked = at; return serves, known }}
	})
	a.must(200, "POST", "/system/snmp", `{"status":"true","ip":"192.0.2.10","port":1161}`)
	for _, c := range []struct {
		serves, known  bool
		actual, reason string
	}{{true, true, "up", ""}, {false, true, "down", "nothing listens on udp 192.0.2.10:1161"}, {false, false, "up", ""}} {
		serves, known = c.serves, c.known
		r := a.must(200, "GET", "/system/snmp", "")
		problem, _ := r.at("params.problem").(string)
		if r.at("params.actual") != c.actual || !strings.Contains(problem, c.reason) || (problem == "") != (c.reason == "") || asked.String() != "192.0.2.10:1161" {
			t.Errorf("%+v: %s", c, r.raw)
		}
	}
	serves, known = false, true
	a.host.problems = map[string]string{"snmp": "the file cannot be removed"}
	if r := a.must(200, "POST", "/system/snmp", `{"status":"false"}`); r.at("params.configured") != "down" || r.at("params.actual") != "up" {
		t.Errorf("it could not be ended: %s", r.raw)
	}
	a.host.problems = nil
	if r := a.must(200, "POST", "/system/snmp", `{"status":"false"}`); r.at("params.actual") != "down" {
		t.Errorf("it was ended: %s", r.raw)
	}
}

func TestClientsOfTheFamilySetOneSyslogServer(t *testing.T) {
	a := newAppliance(t)
	for _, c := range []struct{ body, shown, servers string }{
		{`{"ip":"log.example"}`, `"ip": "log.example", "port": 514, "protocol": "udp"`, `"udp://log.example:514"`},
		{`{"protocol":"tls"}`, `"ip": "log.example", "port": 6514, "protocol": "tls"`, `"tls://log.example:6514"`},
		{`{"port":7000,"protocol":"tcp"}`, `"ip": "log.example", "port": 7000, "protocol": "tcp"`, `"tcp://log.example:7000"`},
		{`{"protocol":null,"port":null}`, `"ip": "log.example", "port": 514, "protocol": "udp"`, `"udp://log.example:514"`},
		{`{"ip":"192.0.2.1","port":"515"}`, `"ip": "192.0.2.1", "port": 515, "protocol": "udp"`, `"udp://192.0.2.1:515"`},
		{`{"ip":""}`, `"ip": "", "port": 514, "protocol": "udp"`, ""},
	} {
		if r := a.do("POST", "/system/rsyslog", c.body); r.status != 200 || !strings.Contains(params(r), c.shown) {
			t.Errorf("%s: %d %s", c.body, r.status, r.raw)
		}
		if r := a.do("GET", "/system/syslog", ""); !strings.Contains(params(r), strings.Join(strings.Fields(`"servers": [ `+c.servers+` ]`), " ")) && c.servers != "" {
			t.Errorf("%s: %s", c.body, r.raw)
		}
	}
	if r := a.do("POST", "/system/rsyslog", `{"port":515}`); r.status != 400 || !strings.Contains(r.raw, "port means nothing without a server: send ip, too") {
		t.Errorf("%d %s", r.status, r.raw)
	}
}

func TestTheCertificateOfTheAPIIsChosen(t *testing.T) {
	var chosen *x509.Certificate
	a := newAppliance(t, func(d *apitest.Parts) {
		d.Host.Certificate, d.Host.Chosen = nil, func() *x509.Certificate { return chosen }
	})
	if r := a.do("POST", "/system/https/certificate", `{"certificate":"gui.pem"}`); r.status != 400 || !strings.Contains(r.raw, "does not exist") {
		t.Errorf("a missing certificate: %d %s", r.status, r.raw)
	}
	if r := a.do("POST", "/system/https/certificate", `{"certificate":""}`); r.status != 400 {
		t.Errorf("none: %d %s", r.status, r.raw)
	}
	named := func() int {
		r := httptest.NewRequest("GET", "https://gui.example"+api.Base+"/system/version", nil)
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		w := httptest.NewRecorder()
		a.server.Handler().ServeHTTP(w, r)
		return w.Code
	}
	if status := named(); status != 403 {
		t.Errorf("by an unknown host name: %d", status)
	}
	chosen = &x509.Certificate{DNSNames: []string{"gui.example"}}
	if status := named(); status == 403 {
		t.Errorf("by a name of the certificate: %d", status)
	}
}
