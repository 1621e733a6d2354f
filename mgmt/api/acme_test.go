package api_test

import (
	"context"
	"net/netip"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/mgmt/acme"
	"github.com/sluicelb/sluice/mgmt/api/apitest"
	"github.com/sluicelb/sluice/mgmt/api/certificates"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/certs"
)

// orders is an ACME that issues every requested certificate, or fails.
type orders struct {
	certificates.ACME
	fail    error
	request acme.Request
	renewal acme.Renewal
	force   bool
	at      acme.Target
	deleted string
}

func (o *orders) view(name string) (acme.View, error) {
	return acme.View{View: certs.View{Name: name, Status: certs.StatusValid}, Domains: []string{"www.sluice.test"}, Challenge: acme.HTTP01, Renewal: o.renewal}, o.fail
}

func (o *orders) Order(_ context.Context, _ apply.Author, q acme.Request) (acme.View, error) {
	o.request = q
	return o.view(q.Domains[0] + ".pem")
}

func (o *orders) Renew(_ context.Context, _ apply.Author, name string, force bool, at acme.Target) (acme.View, error) {
	o.force, o.at = force, at
	return o.view(name)
}

func (o *orders) CheckSettings(acme.Settings) error { return nil }
func (o *orders) CheckOrder(q acme.Request) error {
	if len(q.Domains) == 0 {
		return &acme.Error{Kind: acme.Invalid, Message: "domains: 1 to 100 names are needed"}
	}
	return nil
}
func (o *orders) CheckRenewal(string, acme.Target) error { return nil }
func (o *orders) SetRenewal(_ apply.Author, name string, n acme.Renewal) (acme.View, error) {
	o.renewal = n
	return o.view(name)
}

func (o *orders) Get(name string) (acme.View, error) { return o.view(name) }
func (o *orders) Delete(_ context.Context, _ apply.Author, name string) error {
	o.deleted = name
	return o.fail
}

func (o *orders) List() []acme.View {
	v, _ := o.view("www.sluice.test.pem")
	return []acme.View{v}
}

func withOrders(t *testing.T) (*appliance, *orders) {
	o := &orders{}
	return newAppliance(t, func(d *apitest.Parts) { o.ACME, d.ACME = d.ACME, o }), o
}

func TestCertificatesAreOrderedUnderBothNames(t *testing.T) {
	for _, all := range []string{"/certificates/letsencryptz", "/certificates/letsencrypt"} {
		a, o := withOrders(t)
		a.must(201, "POST", "/farms", `{"farmname":"web","profile":"http","vip":"192.0.2.10","vport":80}`)
		a.must(200, "PUT", all+"/config", `{"email": "ops@sluice.test"}`)
		a.must(200, "GET", all+"/config", "").want(t, "params.email", "ops@sluice.test")
		r := a.must(201, "POST", all, `{"domains": ["www.sluice.test", "b.test"], "test": "true", "farmname": "web"}`)
		r.want(t, "params.file", "www.sluice.test.pem")
		r.want(t, "params.wildcard", "false")
		if !o.request.Test || o.request.Farm != "web" || strings.Join(o.request.Domains, " ") != "www.sluice.test b.test" {
			t.Errorf("ordered was %+v", o.request)
		}
		a.must(200, "PUT", all+"/www.sluice.test.pem", `{"autorenewal": "true", "force_renewal": "false", "restart": true, "vip": "192.0.2.1"}`).want(t, "params.autorenewal.vip", "192.0.2.1")
		if !o.renewal.Auto || !o.renewal.Restart || o.renewal.Force {
			t.Errorf("the renewal is %+v", o.renewal)
		}
		a.must(200, "POST", all+"/www.sluice.test/actions", `{"action": "renew", "force_renewal": "true", "vip": "192.0.2.1"}`)
		if !o.force || o.at.VIP != netip.MustParseAddr("192.0.2.1") {
			t.Errorf("renewed with force %v at %s", o.force, o.at)
		}
		a.must(200, "GET", all, "").want(t, "params.0.autorenewal.status", "true")
		a.must(200, "GET", all+"/www.sluice.test.pem", "").want(t, "params.domains.0", "www.sluice.test")
		a.must(200, "DELETE", all+"/www.sluice.test.pem", "").want(t, "success", "true")
		if o.deleted != "www.sluice.test.pem" {
			t.Errorf("deleted was %q", o.deleted)
		}
	}
}

func TestWhatAnOrderCannotBeIsRefused(t *testing.T) {
	a, o := withOrders(t)
	a.must(201, "POST", "/farms", `{"farmname":"web","profile":"http","vip":"192.0.2.10","vport":80}`)
	const all = "/certificates/letsencryptz"
	for _, body := range []string{`{"farmname": "web"}`, `{"domains": "www.sluice.test"}`, `{"domains": [1]}`, `{"domains": ["a.test"], "vip": "x"}`,
		`{"domains": ["a.test"], "test": 1}`, `{"domains": ["a.test"], "farmname": 1}`, `{"domains": ["a.test"], "other": 1}`} {
		if r := a.do("POST", all, body); r.status != 400 {
			t.Errorf("%s: status %d\n%s", body, r.status, r.raw)
		}
	}
	a.do("POST", all+"/a.pem/actions", `{"action": "test"}`).refused(t, 400, "action")
	a.do("PUT", all+"/a.pem", `{"vip": "192.0.2.1"}`).refused(t, 400, "autorenewal")
	a.do("PUT", all+"/config", `{"email": "nobody"}`).refused(t, 400, "email")
	for kind, status := range map[acme.Kind]int{acme.Invalid: 400, acme.Missing: 404, acme.Busy: 409, acme.Unreachable: 503} {
		o.fail = &acme.Error{Kind: kind, Message: "this is why"}
		a.do("POST", all, `{"domains": ["a.test"], "vip": "192.0.2.1"}`).refused(t, status, "this is why")
	}
	o.fail = certs.ErrInUse
	a.do("DELETE", all+"/a.pem", "").refused(t, 400, "in use")
}

func TestNothingWasOrderedAtFirst(t *testing.T) {
	a := newAppliance(t)
	if n := len(a.must(200, "GET", "/certificates/letsencryptz", "").body["params"].([]any)); n != 0 {
		t.Errorf("%d certificates", n)
	}
	a.do("GET", "/certificates/letsencryptz/a.pem", "").refused(t, 404, "a.pem")
	a.do("POST", "/certificates/letsencryptz", `{"domains": ["*.sluice.test"], "vip": "192.0.2.1"}`).refused(t, 400, "wildcard")
	a.do("POST", "/certificates/letsencryptz", `{"domains": ["a.sluice.test"], "vip": "192.0.2.1"}`).refused(t, 400, "email")
	a.must(200, "PUT", "/certificates/letsencryptz/config", `{"email": "ops@sluice.test"}`)
	a.do("POST", "/certificates/letsencryptz", `{"domains": ["a.sluice.test"], "challenge": "x"}`).refused(t, 400, "one of http-01, dns-01")
	a.do("POST", "/certificates/letsencryptz", `{"domains": ["a.sluice.test"], "challenge": 5}`).refused(t, 400, "one of http-01, dns-01")
	a.do("POST", "/certificates/letsencryptz", `{"domains": ["*.sluice.test"], "challenge": "dns-01"}`).refused(t, 400, "no hook is set")
	for body, part := range map[string]string{
		`{"hook": "/bin/sh"}`: "no name of a program", `{"hook": 5}`: "hook must be a text", `{"dns_wait": 0}`: "1 to 900", `{"dns_wait": "x"}`: "1 to 900",
		`{"dns_servers": [5]}`: "list of texts", `{"dns_servers": ["ns"]}`: "address:port",
	} {
		a.do("PUT", "/certificates/letsencryptz/config", body).refused(t, 400, part)
	}
	a.must(200, "PUT", "/certificates/letsencryptz/config", `{"dns_wait": 7, "dns_servers": ["192.0.2.53:53"]}`).want(t, "params.dns_servers.0", "192.0.2.53:53")
	a.must(200, "PUT", "/certificates/letsencryptz/config", `{"dns_wait": null, "dns_servers": null}`).want(t, "params.dns_wait", 120)
}
