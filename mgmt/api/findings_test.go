package api_test

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/stats"
	"github.com/sluicelb/sluice/mgmt/api/apitest"
	"github.com/sluicelb/sluice/mgmt/recorder"
	"github.com/sluicelb/sluice/mgmt/timeseries"
)

// found summarises the findings of a response: severity, code and object.
func found(r reply) (out []string) {
	list, _ := r.at("params").([]any)
	for _, one := range list {
		f := one.(map[string]any)
		text := fmt.Sprint(f["severity"], " ", f["code"])
		for _, name := range []string{"farm", "service", "backend", "certificate"} {
			if v, has := f[name]; has {
				text += fmt.Sprint(" ", v)
			}
		}
		out = append(out, text)
	}
	return out
}

func wantFound(t *testing.T, r reply, want ...string) {
	t.Helper()
	if got := found(r); !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}

func TestFindingsAreOfTheFarmsTheCallerSees(t *testing.T) {
	a := newAppliance(t)
	a.shop(1)
	a.must(201, "POST", "/farms", `{"farmname":"other","profile":"http","vip":"192.0.2.10","vport":81}`)
	a.must(201, "POST", "/farms/other/services", `{"id":"none"}`)
	a.certificate("spare", "spare.example")
	wantFound(t, a.must(200, "GET", "/lint", ""), "info service-never-hit shop web", "warning service-empty other none", "info certificate-unused spare.pem")
	wantFound(t, a.must(200, "GET", "/farms/other/lint", ""), "warning service-empty other none")
	wantFound(t, a.must(200, "GET", "/lint?severity=warning", ""), "warning service-empty other none")
	a.must(404, "GET", "/farms/none/lint", "")
	a.people()
	a.must(201, "POST", "/rbac/groups/team/farms", `{"name":"shop"}`)
	wantFound(t, a.as("GET", "/lint", ""), "info service-never-hit shop web")
	if r := a.as("GET", "/farms/other/lint", ""); r.status != 404 {
		t.Errorf("a farm outside the user's groups: %d %s", r.status, r.raw)
	}
	// Callers who see all farms also need the permission to see certificates.
	a.must(201, "POST", "/rbac/groups/team/farms", `{"name":"other"}`)
	wantFound(t, a.as("GET", "/lint", ""), "info service-never-hit shop web", "warning service-empty other none")
	a.must(200, "PUT", "/rbac/roles/ops", `{"certificate":{"show":"true"}}`)
	wantFound(t, a.as("GET", "/lint", ""), "info service-never-hit shop web", "warning service-empty other none", "info certificate-unused spare.pem")
	a.must(200, "DELETE", "/rbac/groups/team/farms/other", "")
	wantFound(t, a.as("GET", "/lint", ""), "info service-never-hit shop web")
}

func TestFindingsHaveTheirEvidence(t *testing.T) {
	since := clock().Add(-30 * time.Hour)
	a := newAppliance(t, func(d *apitest.Parts) { d.Findings.Since = func(uint32) time.Time { return since } })
	a.shop(2)
	a.must(201, "POST", "/farms/shop/services", `{"id":"sub"}`)
	a.must(200, "PUT", "/farms/shop/services/sub", `{"urlp":"^/sub"}`)
	a.must(201, "POST", "/farms/shop/services/sub/backends", `{"ip":"10.0.0.9","port":8080}`)
	web := a.config().Farms[0].HTTP.Services[0].Backends
	a.engine.backends[web[0].ID] = stats.Backend{Requests: 7}
	a.engine.health[web[1].ID] = farm.StatusDown
	r := a.must(200, "GET", "/farms/shop/lint", "")
	wantFound(t, r, "warning service-shadowed shop sub", "warning backend-down shop web 1")
	r.want(t, "params.0.by", "web")
	r.want(t, "params.0.example.path", "/sub")
	r.want(t, "params.0.example.host", "www.example.com")
	r.want(t, "params.1.since", since.Format(time.RFC3339))
	r.want(t, "params.1.evidence", "down since "+since.Format(time.RFC3339)+"; 0 requests were ever sent to it")
	a.must(200, "PUT", "/farms/shop/services/web", `{"split":1}`)
	a.must(200, "PUT", "/farms/shop/services/sub/backends/0", `{"priority":3}`)
	wantFound(t, a.must(200, "GET", "/farms/shop/lint", ""), "warning service-shadowed shop sub", "warning backend-down shop web 1", "warning setting-idle shop web", "warning backend-unreachable shop sub 0")
}

func TestLoginsOfConnectionsAreFoundByWhatWasCounted(t *testing.T) {
	a := newAppliance(t)
	a.shop(1)
	backend := a.config().Farms[0].HTTP.Services[0].Backends[0].ID
	a.engine.backends[backend] = stats.Backend{Requests: 7, Logins: 2}
	wantFound(t, a.must(200, "GET", "/farms/shop/lint", ""))
	a.must(200, "PUT", "/farms/shop/services/web", `{"backendprotocol":"h2"}`)
	r := a.must(200, "GET", "/farms/shop/lint", "")
	wantFound(t, r, "warning connection-login shop web")
	r.want(t, "params.0.evidence", "2 responses of its backends with status 401 asked for NTLM or Negotiate")
}

func TestAServiceIsNeverHitWhenNothingWasWrittenDownEither(t *testing.T) {
	a := newAppliance(t)
	a.shop(1)
	f := a.config().Farms[0]
	write := func(back time.Duration, value float64) {
		name := recorder.OfBackend(f.HTTP.Services[0].Backends[0].ID, "requests")
		a.numbers.Write(recorder.Farm(f.ID), clock().Add(-back), []timeseries.Value{{Series: name, Value: value}})
	}
	write(10*time.Minute, 0)
	r := a.must(200, "GET", "/lint", "")
	wantFound(t, r, "info service-never-hit shop web")
	if at, err := time.Parse(time.RFC3339, fmt.Sprint(r.at("params.0.since"))); err != nil || clock().Sub(at) < 10*time.Minute || clock().Sub(at) > 11*time.Minute {
		t.Errorf("since %v", r.at("params.0.since"))
	}
	write(5*time.Minute, 0.2)
	wantFound(t, a.must(200, "GET", "/lint", ""))
}

func TestWhatTheKernelCountedIsNotTakenForNothing(t *testing.T) {
	var refused error
	a := newAppliance(t, func(d *apitest.Parts) {
		d.KernelTraffic = func(context.Context) (stats.Traffic, error) { return stats.Traffic{}, refused }
	})
	a.dns(1)
	a.must(200, "PUT", "/farms/dns", `{"nattype":"dnat","protocol":"udp","datapath":"kernel"}`)
	a.engine.health[a.config().Farms[0].L4.Backends[0].ID] = farm.StatusDown
	r := a.must(200, "GET", "/lint", "")
	if !strings.Contains(fmt.Sprint(r.at("params.0.evidence")), "0 requests were ever sent") {
		t.Errorf("%s", r.raw)
	}
	refused = errors.New("netd does not answer")
	r = a.must(200, "GET", "/lint", "")
	wantFound(t, r, "info backend-down dns 0", "info farm-unchecked dns")
	if strings.Contains(r.raw, "were ever sent") {
		t.Errorf("%s", r.raw)
	}
}

func TestCertificatesOfFarmsAreToldOfWithTheirUsers(t *testing.T) {
	a := newAppliance(t)
	a.shop(1)
	a.must(201, "POST", "/certificates/soon", root(t).Issue("shop.example", func(c *x509.Certificate) {
		c.NotAfter, c.IssuingCertificateURL = clock().Add(20*24*time.Hour), []string{"http://ca.example/ca.crt"}
	}).FullPEM(), pemBody...)
	a.must(200, "PUT", "/farms/shop", `{"listener":"https","certificates":["soon.pem"]}`)
	a.engine.backends[a.config().Farms[0].HTTP.Services[0].Backends[0].ID] = stats.Backend{Requests: 7}
	r := a.must(200, "GET", "/lint", "")
	wantFound(t, r, "warning certificate-incomplete soon.pem", "warning certificate-expires soon.pem")
	a.authorities("clients") // contain the issuing root
	wantFound(t, a.must(200, "GET", "/lint", ""), "warning certificate-expires soon.pem")
	a.must(200, "PUT", "/farms/shop/actions", `{"action":"stop"}`)
	wantFound(t, a.must(200, "GET", "/farms/shop/lint", ""), "info certificate-unused soon.pem")
}

// More addresses than fit, an unusable address, and a name that no longer exists.
func TestHostNamesAreLookedAt(t *testing.T) {
	a := newAppliance(t)
	var list []string
	for i := range 70 {
		list = append(list, fmt.Sprintf("10.0.0.%d", i+1))
	}
	a.names.Set("many.example", strings.Join(list, ","))
	a.must(201, "POST", "/farms", `{"farmname":"names","profile":"gslb","vip":"127.0.0.1","vport":"5353"}`)
	a.must(201, "POST", "/farms/names/services", `{"id":"web","algorithm":"roundrobin"}`)
	a.must(201, "POST", "/farms/names/services/web/backends", `{"ip":"many.example","resolve":"all"}`)
	r := a.must(200, "GET", "/farms/names/lint", "")
	wantFound(t, r, "warning addresses-unused names web 1")
	r.want(t, "params.0.evidence", "unused addresses: 6 (10.0.0.65, 10.0.0.66, 10.0.0.67, 10.0.0.68 …)")
	a.names.Set("many.example", "")
	r = a.must(200, "GET", "/farms/names/lint", "")
	wantFound(t, r, "warning name-gone names web 1")
	a.names.Withdraw("many.example")
	wantFound(t, a.must(200, "GET", "/farms/names/lint", ""), "error name-gone names web 1")
}
