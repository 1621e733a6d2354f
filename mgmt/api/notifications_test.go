package api_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sluicelb/sluice/mgmt/certs/certstest"
	"github.com/sluicelb/sluice/mgmt/event"
	"github.com/sluicelb/sluice/mgmt/notify/mail/mailtest"
)

const methods, alerts = "/system/notifications/methods/email", "/system/notifications/alerts"

func TestMailServersAreSetAndTheirPasswordIsNeverShown(t *testing.T) {
	a := newAppliance(t)
	r := a.must(200, "GET", methods, "")
	r.want(t, "params.server", "")
	r.want(t, "params.password", "")
	r.want(t, "warning", "no mail server is set: nothing is sent")
	body := `{"server":"mail.example.com:2525","user":"ann","password":"hunter2","from":"lb@example.com","to":"ops@example.com, dev@example.com","tls":true}`
	dry := a.must(200, "POST", methods+"?dry_run=true", body)
	a.must(200, "GET", methods, "").want(t, "params.server", "")
	r = a.must(200, "POST", methods, body)
	for path, want := range map[string]any{"server": "mail.example.com:2525", "user": "ann", "password": "***", "from": "lb@example.com", "to": "ops@example.com,dev@example.com", "recipients.1": "dev@example.com", "tls": "true"} {
		r.want(t, "params."+path, want)
	}
	a.must(200, "PUT", methods, `{"password":"***","tls":"false","to":["one@example.com"]}`).want(t, "params.to", "one@example.com")
	r = a.must(200, "GET", methods, "")
	r.want(t, "params.password", "***")
	r.want(t, "params.tls", "false")
	for _, body := range []string{`{"server":"evil.example"}`, `{"server":"evil.example","password":"***"}`, `{"server":"mail.example.com"}`} {
		a.do("POST", methods, body).refused(t, 400, "password: the stored password is for the server", "mail.example.com:2525")
	}
	a.must(200, "POST", methods, `{"server":"mail.example.net","password":"hunter2"}`).want(t, "params.server", "mail.example.net")
	a.must(200, "POST", methods, `{"server":"mail.example.org","password":null,"user":""}`).want(t, "params.password", "")
	a.must(200, "POST", methods, `{"server":"mail.example.com"}`).want(t, "params.server", "mail.example.com")
	for _, text := range []string{dry.raw, r.raw, a.log.String(), a.must(200, "GET", "/audit", "").raw, a.must(200, "GET", "/config", "").raw, a.must(200, "GET", "/history", "").raw} {
		if strings.Contains(text, "hunter2") {
			t.Errorf("the password is in %s", text)
		}
	}
	if !strings.Contains(a.must(200, "GET", "/audit", "").raw, methods) || strings.Contains(a.must(200, "GET", "/history", "").raw, "mail server") {
		t.Error("it is not audited, or in the history")
	}
	a.do("POST", methods, `{}`).want(t, "params.0.name", "server")
	for body, want := range map[string]string{
		`{"server":"x y"}`: "server:", `{"from":"lb@x\r\nBcc: y@z"}`: "from:", `{"to":"nobody"}`: "to:", `{"to":{}}`: "to must be a list", `{"tls":"perhaps"}`: "tls must be true or false",
		`{"server":7}`: "server must be a text", `{"password":7}`: "password must be a text", `{"ca":"none"}`: "ca:", `{"from":""}`: "from is required", `{"to":null}`: "to is required", `{"sever":"x"}`: "unknown field sever",
		`{"kinds":["weather"]}`: "kinds: ", `{"severity":"bad"}`: "severity: ",
	} {
		a.do("POST", methods, body).refused(t, 400, want)
	}
}

func TestATestMailIsSentAndTheAnswerSaysWhatTheServerSaid(t *testing.T) {
	a := newAppliance(t)
	a.do("POST", methods+"/actions", `{"action":"test"}`).refused(t, 400, "no mail server is set")
	var refuses atomic.Bool
	s := mailtest.New(t, mailtest.Options{Answer: func(c string) string {
		return map[bool]string{true: "550 5.1.1 nobody here"}[refuses.Load() && strings.HasPrefix(c, "RCPT")]
	}})
	a.must(200, "POST", methods, fmt.Sprintf(`{"server":"127.0.0.1:%d","from":"lb@example.com","to":"ops@example.com"}`, s.Port))
	a.must(200, "POST", methods+"/actions?dry_run=true", `{"action":"test"}`)
	if len(s.Mails()) != 0 {
		t.Error("a dry run sent a mail")
	}
	a.must(200, "POST", methods+"/actions", `{"action":"test"}`).want(t, "params.answer", "2.0.0 taken as 1")
	if mails := s.Mails(); len(mails) != 1 || mails[0].To != "ops@example.com" {
		t.Errorf("%+v", mails)
	}
	refuses.Store(true)
	a.do("POST", methods+"/actions", `{"action":"test"}`).refused(t, 503, "1 of 1 mails were not taken", "nobody here")
	a.do("POST", methods+"/actions", `{"action":"send"}`).refused(t, 400, "action must be test")
}

func TestAlertsAreListedChangedAndSwitched(t *testing.T) {
	a := newAppliance(t)
	r := a.must(200, "GET", alerts, "")
	for i, name := range []string{"backends", "certificates", "cluster", "interfaces", "limits", "packages"} {
		r.want(t, fmt.Sprintf("params.%d.alert", i), name)
		r.want(t, fmt.Sprintf("params.%d.status", i), "enabled")
		r.want(t, fmt.Sprintf("params.%d.active", i), fmt.Sprint(i < 2 || name == "limits"))
	}
	if a.must(200, "GET", "/system/notifications", "").at("params.0.description") != r.at("params.0.description") || r.at("params.0.description") == "" {
		t.Error("descriptions")
	}
	a.must(200, "POST", alerts+"/backends/actions?dry_run=true", `{"action":"disable"}`)
	a.must(200, "POST", alerts+"/backends/actions", `{"action":"disable"}`).want(t, "params.status", "disabled")
	a.do("POST", alerts+"/backends/actions", `{"action":"disable"}`).refused(t, 400, "disabled already")
	a.must(200, "POST", alerts+"/backends/actions", `{"action":"enable"}`).want(t, "params.status", "enabled")
	a.do("POST", alerts+"/backends/actions", `{"action":"enable"}`).refused(t, 400, "enabled already")
	a.do("POST", alerts+"/backends/actions", `{"action":"start"}`).refused(t, 400, "enable and disable")
	a.do("POST", alerts+"/weather/actions", `{"action":"enable"}`).refused(t, 404, "weather")

	a.must(200, "GET", alerts+"/backends", "").want(t, "params.avoidflappingtime", 1)
	r = a.must(200, "POST", alerts+"/backends", `{"prefix":"[lb]","avoidflappingtime":"30"}`)
	r.want(t, "params.prefix", "[lb]")
	r.want(t, "params.avoidflappingtime", 30)
	a.must(200, "POST", alerts+"/backends", `{"avoidflappingtime":null}`).want(t, "params.avoidflappingtime", 1)
	for _, body := range []string{`{"avoidflappingtime":-1}`, `{"avoidflappingtime":3601}`, `{"avoidflappingtime":"x"}`, `{"prefix":"a\nb"}`, `{"prefix":7}`} {
		a.do("POST", alerts+"/backends", body).refused(t, 400)
	}
	a.must(200, "POST", alerts+"/cluster", `{"prefix":"(c)"}`)
	a.must(200, "GET", alerts+"/cluster", "").want(t, "params.prefix", "(c)")
	a.must(200, "POST", alerts+"/interfaces", `{"interfaces":["eth0","eth1.7"]}`)
	a.must(200, "GET", alerts+"/interfaces", "").want(t, "params.interfaces.1", "eth1.7")
	a.do("POST", alerts+"/interfaces", `{"interfaces":["../x"]}`).refused(t, 400, "no name of an interface")
}

func TestEachWayIsChosenFor(t *testing.T) {
	a := newAppliance(t)
	const ways = "/system/notifications/methods/"
	for _, way := range []string{"syslog", "scripts"} {
		r := a.must(200, "GET", ways+way, "")
		r.want(t, "params.enabled", "true")
		r.want(t, "params.severity", "info")
		if !strings.Contains(r.raw, `"kinds": []`) {
			t.Error(r.raw)
		}
		a.must(200, "PUT", ways+way+"?dry_run=true", `{"enabled":"false"}`)
		a.must(200, "GET", ways+way, "").want(t, "params.enabled", "true")
		r = a.must(200, "PUT", ways+way, `{"enabled":false,"kinds":"farm-start,backend-down","severity":"warning"}`)
		r.want(t, "params.enabled", "false")
		r.want(t, "params.kinds.1", "backend-down")
		r.want(t, "params.severity", "warning")
		a.must(200, "PUT", ways+way, `{"enabled":"true"}`).want(t, "params.kinds.0", "farm-start")
		r = a.must(200, "PUT", ways+way, `{"kinds":null,"severity":null}`)
		r.want(t, "params.severity", "info")
		if !strings.Contains(r.raw, `"kinds": []`) {
			t.Error(r.raw)
		}
		for body, want := range map[string]string{`{"kinds":["weather"]}`: "kinds:", `{"severity":"bad"}`: "severity:", `{"enabled":"perhaps"}`: "enabled must be", `{"kinds":["farm-start","farm-start"]}`: "given twice"} {
			a.do("PUT", ways+way, body).refused(t, 400, want)
		}
	}
	a.must(200, "PUT", ways+"syslog", `{"severity":"error"}`)
	a.must(200, "GET", ways+"scripts", "").want(t, "params.severity", "info")
	r := a.must(200, "PUT", methods, `{"kinds":["backend-down"],"severity":"warning"}`)
	r.want(t, "params.kinds.0", "backend-down")
	r.want(t, "params.severity", "warning")
	r = a.must(200, "GET", "/system/notifications/kinds", "")
	got := map[string]bool{}
	for i := range event.Kinds() {
		of := func(field string) any { return r.at(fmt.Sprintf("params.%d.%s", i, field)) }
		got[fmt.Sprint(of("kind"), of("alert"), of("severities"))] = of("description") != ""
	}
	for _, want := range []string{"farm-status backends [info warning error]", "limit-reached limits [info warning]", "revision-applied  [info]"} {
		kind, rest, _ := strings.Cut(want, " ")
		alert, severities, _ := strings.Cut(rest, " ")
		if key := kind + alert + severities; !got[key] {
			t.Errorf("no %s in %v", key, got)
		}
	}
}

func TestTheLanguageIsOneOfFour(t *testing.T) {
	a := newAppliance(t)
	a.must(200, "GET", "/system/language", "").want(t, "params.lang", "en")
	a.must(200, "POST", "/system/language?dry_run=true", `{"language":"de"}`)
	a.must(200, "GET", "/system/language", "").want(t, "params.lang", "en")
	for _, l := range []string{"es", "de", "fr", "en", "fr"} {
		a.must(200, "POST", "/system/language", `{"language":"`+l+`"}`).want(t, "params.lang", l)
	}
	a.must(200, "GET", "/system/info", "").want(t, "params.language", "fr")
	a.do("POST", "/system/language", `{"language":"tlh"}`).refused(t, 400, "en, es, de, fr")
	a.do("POST", "/system/language", `{"language":null}`).refused(t, 400)
}

func TestTheLicenceSaysThatThereIsNone(t *testing.T) {
	a := newAppliance(t)
	text := a.must(200, "GET", "/system/license/txt", "")
	if !strings.HasPrefix(text.raw, "Sluice has no licence yet") || !strings.Contains(text.raw, "github.com/wneessen/go-mail") || text.header.Get("Content-Type") != "text/plain; charset=utf-8" {
		t.Errorf("%s: %.200s", text.header.Get("Content-Type"), text.raw)
	}
	page := a.must(200, "GET", "/system/license/html", "")
	if !strings.HasPrefix(page.raw, "<!DOCTYPE html>") || !strings.Contains(page.raw, "owner has to choose") || page.header.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Errorf("%.200s", page.raw)
	}
}

func TestUpdatesOfTheSystemAreListed(t *testing.T) {
	r := newAppliance(t).must(200, "GET", "/system/packages", "")
	for path, want := range map[string]any{"status": "Updates available", "last_check": "2026-01-02T03:04:05Z", "number": 1, "packages.0.name": "zip", "packages.0.security": "true", "message": "1 package can be updated."} {
		r.want(t, "params."+path, want)
	}
}

func TestTheActivationCertificateIsKeptAndReadByAll(t *testing.T) {
	a := newAppliance(t)
	const path = "/certificates/activation"
	a.do("GET", path, "").refused(t, 404, "no activation certificate")
	a.do("GET", path+"/info", "").refused(t, 404)
	a.do("DELETE", path, "").refused(t, 404)
	pem := certstest.NewAuthority(t, "vendor", clock()).Issue("lb7.example.com").CertPEM()
	a.must(200, "POST", path+"?dry_run=true", pem, "Content-Type", "application/x-pem-file")
	a.do("GET", path, "").refused(t, 404)
	a.must(200, "POST", path, pem, "Content-Type", "application/x-pem-file")
	if got := a.must(200, "GET", path, ""); got.raw != pem {
		t.Errorf("%s", got.raw)
	}
	r := a.must(200, "GET", path+"/info", "")
	r.want(t, "params.type", "unknown")
	if days, _ := r.at("params.days_to_expire").(float64); days < 1 || r.at("params.status") == "" {
		t.Errorf("%s", r.raw)
	}
	a.do("POST", path, "hello", "Content-Type", "application/x-pem-file").refused(t, 400, "no certificate in PEM")
	a.must(200, "DELETE", path, "")
	a.do("GET", path, "").refused(t, 404)
}

const hooks = "/system/notifications/methods/webhooks"

func TestWebhooksAreMadeChangedAndTestedAndTheirSecretIsNeverShown(t *testing.T) {
	a := newAppliance(t)
	var status atomic.Int32
	status.Store(204)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(int(status.Load())) }))
	t.Cleanup(receiver.Close)
	const secret = "hunter2-hunter2-hunter2"
	body := fmt.Sprintf(`{"name":"ops","url":"%s/in","secret":"%s","kinds":["backend-down"],"severity":"warning"}`, receiver.URL, secret)
	all := []reply{a.must(200, "POST", hooks+"?dry_run=true", body)}
	if r := a.must(200, "GET", hooks, ""); r.at("params.0") != nil {
		t.Errorf("a dry run created a webhook: %s", r.raw)
	}
	r := a.must(201, "POST", hooks, body)
	for path, want := range map[string]any{"name": "ops", "url": receiver.URL + "/in", "secret": "***", "kinds.0": "backend-down", "severity": "warning", "enabled": "true", "sent": 0, "problem": ""} {
		r.want(t, "params."+path, want)
	}
	if warning, _ := r.at("warning").(string); !strings.Contains(warning, "clear text") {
		t.Errorf("%s", r.raw)
	}
	all = append(all, r, a.must(200, "PUT", hooks+"/ops", `{"secret":"***","kinds":null,"severity":null,"enabled":"false"}`))
	r = a.must(200, "GET", hooks+"/ops", "")
	r.want(t, "params.severity", "info")
	r.want(t, "params.enabled", "false")
	if r.at("params.kinds.0") != nil {
		t.Errorf("%s", r.raw)
	}
	a.must(200, "POST", hooks+"/ops/actions?dry_run=true", `{"action":"test"}`)
	a.must(200, "POST", hooks+"/ops/actions", `{"action":"test"}`).want(t, "params.answer", "204 No Content")
	status.Store(403)
	a.do("POST", hooks+"/ops/actions", `{"action":"test"}`).refused(t, 503, "it answers 403 Forbidden")
	a.do("POST", hooks+"/ops/actions", `{"action":"send"}`).refused(t, 400, "action must be test")
	all = append(all, r, a.must(200, "GET", hooks, ""), a.must(200, "GET", "/audit", ""), a.must(200, "GET", "/config", ""))
	for _, r := range all {
		if strings.Contains(r.raw, secret) || strings.Contains(a.log.String(), secret) {
			t.Errorf("the secret is in %s", r.raw)
		}
	}
	for body, want := range map[string]string{
		`{"url":"ftp://x"}`: "url:", `{"url":"https://ann:pw@x/"}`: "url:", `{"secret":"short"}`: "secret:", `{"secret":null}`: "secret:", `{"secret":7}`: "secret must be a text", `{"kinds":["weather"]}`: "kinds:", `{"kinds":" , "}`: "kinds:",
		`{"kinds":{}}`: "kinds must be a list", `{"severity":"bad"}`: "severity:", `{"enabled":"perhaps"}`: "enabled must be true or false", `{"ca":"none"}`: "ca:", `{"name":"x"}`: "unknown field name",
	} {
		a.do("PUT", hooks+"/ops", body).refused(t, 400, want)
	}
	a.do("POST", hooks, body).refused(t, 400, "exists already")
	a.do("POST", hooks, `{"name":"x","url":"https://x/"}`).refused(t, 400, "secret is required")
	a.do("POST", hooks, `{"name":"../x","url":"https://x/","secret":"`+secret+`"}`).refused(t, 400, "name:")
	for _, call := range [][3]string{{"GET", "/none", ""}, {"PUT", "/none", `{"enabled":"true"}`}, {"DELETE", "/none", ""}, {"POST", "/none/actions", `{"action":"test"}`}} {
		a.do(call[0], hooks+call[1], call[2]).refused(t, 404, "none")
	}
	a.must(200, "DELETE", hooks+"/ops?dry_run=true", "")
	a.must(200, "GET", hooks+"/ops", "")
	a.must(200, "DELETE", hooks+"/ops", "")
	a.do("GET", hooks+"/ops", "").refused(t, 404, "ops")
}
