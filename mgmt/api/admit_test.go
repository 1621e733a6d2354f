package api_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/mgmt/api"
	"github.com/sluicelb/sluice/mgmt/api/apitest"
	"github.com/sluicelb/sluice/mgmt/api/certificates"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/certs"
)

// slowCertificates lets others change the appliance while a certificate waits for its turn.
type slowCertificates struct {
	certificates.Certificates
	wait func()
}

func (s slowCertificates) UploadOver(
	ctx context.Context, by apply.Author, name string, pem []byte, mode certs.Mode, fingerprint string,
) (certs.View, []string, error) {
	s.wait()
	return s.Certificates.UploadOver(ctx, by, name, pem, mode, fingerprint)
}

// send1 sends a request written as "METHOD PATH BODY" with a key.
func (a *appliance) send1(key, request string) reply {
	a.t.Helper()
	method, rest, _ := strings.Cut(request, " ")
	path, body, _ := strings.Cut(rest, " ")
	return a.send(method, api.Base+path, body, "ZAPI_KEY", key)
}

// waiting is an appliance of the shop, on which ann may do everything to it, and which has a
// pending change of hers.
func waiting(t *testing.T, pending bool) *appliance {
	var a *appliance
	a = divided(t, func(d *apitest.Parts) {
		d.Certificates = slowCertificates{d.Certificates, func() {
			if a != nil {
				twice{meanwhile: a.meanwhile}.wait()
			}
		}}
	})
	a.must(200, "PUT", "/rbac/roles/ops", `{"farm":{"delete":"true"},"certificate":{"upload":"true"}}`)
	if pending {
		if r := a.as("PUT", "/farms/shop?confirm=5m", `{"vport":8090}`); r.status != 200 {
			t.Fatal(r.raw)
		}
	}
	return a
}

// A change that waited is refused if the caller lost the right to it, or to the farm that has the
// name by then. It leaves everything unchanged. Its response masks hidden farms.
func TestAChangeThatWaitedNeedsItsRightsStill(t *testing.T) {
	const (
		shop       = `POST /farms {"farmname":"shop","profile":"http","vip":"192.0.2.10","vport":88}`
		noFarm     = "DELETE /rbac/groups/team/farms/shop"
		noModify   = `PUT /rbac/roles/ops {"farm":{"modify":"false","action":"false","delete":"false"}}`
		noKey      = `PUT /rbac/users/ann {"zapikey":"Other0123456789"}`
		noUser     = "DELETE /rbac/users/ann"
		noGroup    = "DELETE /rbac/groups/team/users/ann"
		noUpload   = `PUT /rbac/roles/ops {"certificate":{"upload":"false"}}`
		modify     = `PUT /farms/shop {"resurrectime":33}`
		remove     = "DELETE /farms/shop"
		restart    = `PUT /farms/shop/actions {"action":"restart"}`
		writes     = `POST /transactions {"writes":[{"method":"PUT","path":"/farms/shop","body":{"contimeout":3}}]}`
		confirm    = "POST /history/pending/confirm"
		takeBack   = "DELETE /pending"
		document   = "PUT /config farms: []"
		rollback   = `POST /history/rollback {"revision":1}`
		replaceOwn = "PUT /certificates/ours.pem "
		newFarm    = `POST /farms {"farmname":"newest","profile":"http","vip":"192.0.2.10","vport":88}`
	)
	everything := []string{"POST /rbac/groups/team/farms dns", "POST /rbac/groups/team/farms theirs"}
	for _, c := range []struct {
		request   string
		before    []string
		meanwhile []string
		status    int
	}{
		{modify, nil, []string{noFarm}, 404},
		{modify, nil, []string{noModify}, 403},
		{modify, nil, []string{noKey}, 401},
		{modify, nil, []string{noUser}, 401},
		{modify, nil, []string{noGroup}, 403},
		{modify, nil, []string{remove, shop}, 404},
		{remove, nil, []string{remove, shop}, 404},
		{restart, nil, []string{remove, shop}, 404},
		{remove, nil, []string{noFarm}, 404},
		{remove, nil, []string{noModify}, 403},
		{restart, nil, []string{noFarm}, 404},
		{restart, nil, []string{noModify}, 403},
		{restart, nil, []string{noKey}, 401},
		{writes, nil, []string{noFarm}, 404},
		{writes, nil, []string{noModify}, 403},
		{writes, nil, []string{noKey}, 401},
		{writes, nil, []string{remove, shop}, 404},
		{document, everything, []string{newFarm}, 403},
		{rollback, everything, []string{newFarm}, 403},
		{confirm, nil, []string{noFarm}, 403},
		{confirm, nil, []string{noKey}, 401},
		{confirm, nil, []string{noModify}, 403},
		{takeBack, nil, []string{noFarm}, 403},
		{takeBack, nil, []string{noUser}, 401},
		{replaceOwn, nil, []string{noUpload}, 403},
		{replaceOwn, nil, []string{noKey}, 401},
		{replaceOwn, nil, []string{`PUT /farms/theirs {"certificates":["served.pem","ours.pem"]}`}, 403},
		{`PUT /monitoring/fg/mine {"interval":7}`,
			[]string{`POST /monitoring/fg {"name":"mine","command":"check_tcp -H HOST -p PORT"}`},
			[]string{"DELETE /farms/dns/fg/hidden-alive", `POST /farms/dns/fg {"name":"mine"}`}, 403},
		{`PUT /farms/shop {"vport":8444}`, nil,
			[]string{`PUT /farms/theirs {"newfarmname":"hidden","vport":8444}`}, 400},
	} {
		pending := c.request == confirm || c.request == takeBack
		a := waiting(t, pending)
		do := func(list []string) {
			for _, one := range list {
				if name, is := strings.CutPrefix(one, "POST /rbac/groups/team/farms "); is {
					one = fmt.Sprintf(`POST /rbac/groups/team/farms {"name":%q}`, name)
				}
				if r := a.send1(a.key, one); r.status >= 300 {
					t.Fatalf("%s: %s", one, r.raw)
				}
			}
		}
		do(c.before)
		_, revision := a.applier.Current()
		var now uint64
		*a.meanwhile = func() {
			do(c.meanwhile)
			_, later := a.applier.Current()
			now = later.Number
		}
		request := strings.Replace(c.request, "/history/pending/", fmt.Sprintf("/history/%d/", revision.Number), 1)
		if request == replaceOwn {
			request += root(t).Issue("ours.example").FullPEM()
		}
		r := a.send1(annsKey, request)
		r.refused(t, c.status)
		_, is := a.applier.Current()
		kept := now != 0 && is.Number == now && pending == (a.applier.Pending() != nil)
		if !kept || strings.Contains(r.raw, "hidden") {
			t.Errorf("%s, after %s: revision %d, want %d: %s", c.request, c.meanwhile, is.Number, now, r.raw)
		}
	}
}

// Root, too, changes the farm that was looked at, or none.
func TestAChangeThatWaitedMeetsNoNamesake(t *testing.T) {
	for _, request := range []string{
		`PUT /farms/shop {"resurrectime":33}`, "DELETE /farms/shop",
		`PUT /farms/shop/actions {"action":"restart"}`, `POST /farms/shop/services {"id":"x"}`,
	} {
		a := newAppliance(t)
		a.shop(1)
		*a.meanwhile = func() {
			a.must(200, "DELETE", "/farms/shop", "")
			a.must(201, "POST", "/farms", newShop)
		}
		a.send1(a.key, request).refused(t, 409, "the farm shop was deleted meanwhile")
	}
}

// The revision of If-Match is compared again when a change has the turn.
func TestIfMatchHoldsForChangesWithoutARevision(t *testing.T) {
	for _, c := range []struct {
		method, path, body string
		pending            bool
	}{
		{"PUT", "/farms/shop/actions", `{"action":"restart"}`, false},
		{"POST", "/history/4/confirm", "", true},
		{"DELETE", "/pending", "", true},
	} {
		a := newAppliance(t)
		a.shop(1)
		if c.pending {
			a.must(200, "PUT", "/farms/shop?confirm=5m", `{"vport":81}`)
		}
		_, rev := a.applier.Current()
		match := fmt.Sprintf(`"%d"`, rev.Number)
		published := a.engine.published
		a.do(c.method, c.path, c.body, "If-Match", `"1"`).refused(t, 412)
		*a.meanwhile = func() {
			a.must(201, "POST", "/farms", `{"farmname":"other","profile":"http","vip":"192.0.2.10","vport":99}`)
			published = a.engine.published
		}
		a.do(c.method, c.path, c.body, "If-Match", match).refused(t, 412)
		if (a.applier.Pending() != nil) != c.pending || a.engine.published != published {
			t.Errorf("%s %s: something was done", c.method, c.path)
		}
		a.must(200, c.method, c.path, c.body, "If-Match", fmt.Sprintf(`"%d"`, rev.Number+1))
	}
}

// An author who lost the right to make the change may only take it back.
func TestAnAuthorConfirmsOnlyWhatIsStillAllowed(t *testing.T) {
	for _, request := range []string{
		`PUT /farms/shop?confirm=5m {"vport":8090}`,
		"POST /transactions?confirm=5m " + transaction("PUT", "/farms/shop", `{"vport":8090}`),
	} {
		a := divided(t)
		if r := a.send1(annsKey, request); r.status != 200 {
			t.Fatal(r.raw)
		}
		_, rev := a.applier.Current()
		confirm := fmt.Sprintf("/history/%d/confirm", rev.Number)
		a.must(200, "PUT", "/rbac/roles/ops", `{"farm":{"modify":"false"}}`)
		a.as("POST", confirm, "").refused(t, 403, `"farm.modify"`)
		a.must(200, "PUT", "/rbac/roles/ops", `{"farm":{"modify":"true"}}`)
		if r := a.as("POST", confirm+"?dry_run=true", ""); r.status != 200 {
			t.Errorf("with the permission: %s", r.raw)
		}
		a.must(200, "PUT", "/rbac/roles/ops", `{"farm":{"modify":"false"}}`)
		if r := a.as("DELETE", "/pending", ""); r.status != 200 {
			t.Errorf("it is not taken back: %s", r.raw)
		}
	}
}

// A hidden farm and a missing one get the same response to every request.
func TestAHiddenFarmIsAsGoodAsNone(t *testing.T) {
	a := divided(t)
	a.must(200, "PUT", "/rbac/groups/team", `{"role":"administration"}`)
	for _, route := range a.server.Routes() {
		if !strings.Contains(route.Path, "{farm}") {
			continue
		}
		queries := []string{"", "?x=1", "?dry_run=maybe", "?confirm=never", "?guard=x", "?limit=x", "?force=perhaps"}
		for _, query := range queries {
			for _, body := range []string{"", "{", `{"nonsense":1}`} {
				ask := func(name string) string {
					path := filled(strings.ReplaceAll(route.Path, "{farm}", name))
					out := ""
					for range 2 {
						r := a.send(route.Method, api.Base+path+query, body, "ZAPI_KEY", annsKey,
							"Idempotency-Key", name+route.Path+query+body, "If-Match", `"1"`)
						out += fmt.Sprintf("%d %v %s\n", r.status, r.header, r.raw)
					}
					return strings.ReplaceAll(out, name, "NAME")
				}
				if hidden, missing := ask("theirs"), ask("quokka"); hidden != missing {
					t.Errorf("%s %s%s %s: hidden:\n%smissing:\n%s", route.Method, route.Path, query, body, hidden, missing)
				}
			}
		}
	}
}
