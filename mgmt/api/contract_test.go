//go:build !race

// These tests send one request at a time, so there is nothing for the race detector, which
// would take minutes.

package api_test

import (
	"context"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/mgmt/acme"
	"github.com/sluicelb/sluice/mgmt/api"
	"github.com/sluicelb/sluice/mgmt/api/apitest"
	"github.com/sluicelb/sluice/mgmt/api/contracttest"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/geoip/geoiptest"
	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/recorder"
)

// target returns an appliance for the contract tests of its document.
func target(t *testing.T, a *appliance) *contracttest.Target {
	server := httptest.NewServer(a.server.Handler())
	t.Cleanup(server.Close)
	authority := root(t)
	leaf := authority.Issue("www.sluice.test")
	return &contracttest.Target{
		URL: server.URL + api.Base, Key: a.key, VIP: "192.0.2.10", Client: server.Client(), State: a.written, Password: rootPassword,
		Files: map[string]string{"certificate": leaf.FullPEM(), "renewed": authority.Issue("www.sluice.test").FullPEM(), "chain": leaf.ChainPEM(), "key": leaf.KeyPEM(), "pkcs12": string(leaf.PKCS12(t, "")), "authority": authority.CertPEM(),
			"geoip": string(geoiptest.Database(t, "Test-City", geoiptest.Place{Net: "192.0.2.0/24", Country: "DE", Continent: "EU", At: []float64{48.14, 11.58}})),
			"crl":   string(authority.CRL(clock(), clock().Add(time.Hour)))},
		Recorded: a.recordAll,
		Names:    map[string]string{"interface": "eth0", "disk": "root", "log": "sluice-audit.log", "ordered": ordered},
	}
}

// recordAll records statistics of all objects.
func (a *appliance) recordAll() {
	a.recorded(recorder.System, seriesNames(recorder.OfSystem)...)
	a.recorded(recorder.Disk("/"), "used", "total")
	a.recorded(recorder.Interface("eth0"), "in", "out")
	cfg := a.config()
	for i := range cfg.Farms {
		a.recorded(recorder.Farm(cfg.Farms[i].ID), seriesNames(recorder.OfFarm(&cfg.Farms[i]))...)
	}
}

// ordered is the only ordered certificate.
const ordered = "www.sluice.test.pem"

// oneOrder is an ACME with one ordered certificate and no authority.
type oneOrder struct{ *orders }

func (o oneOrder) known(name string) error {
	if name != ordered {
		return &acme.Error{Kind: acme.Missing, Message: "the certificate does not exist, or was not ordered here"}
	}
	return nil
}

func (o oneOrder) Get(name string) (acme.View, error) {
	v, _ := o.orders.Get(name)
	return v, o.known(name)
}

func (o oneOrder) SetRenewal(by apply.Author, name string, n acme.Renewal) (acme.View, error) {
	v, _ := o.orders.SetRenewal(by, name, n)
	return v, o.known(name)
}

func (o oneOrder) Renew(ctx context.Context, by apply.Author, name string, force bool, at acme.Target) (acme.View, error) {
	v, _ := o.orders.Renew(ctx, by, name, force, at)
	return v, o.known(name)
}

func (o oneOrder) Delete(_ context.Context, _ apply.Author, name string) error { return o.known(name) }

// bounded sets the dependencies for tests of the document: one ordered certificate, and no
// counting of DNS queries, which takes seconds.
func bounded(d *apitest.Parts) { d.ACME, d.Traffic.Tally = oneOrder{&orders{ACME: d.ACME}}, nil }

// The API behaves as documented for every operation and every kind of request.
func TestTheAPIIsWhatItsDocumentSays(t *testing.T) {
	watch, _, start := watchable(t)
	a := newAppliance(t, watch, bounded)
	start(a.config())
	contracttest.Drive(t, target(t, a), contracttest.Read(t, []byte(a.must(200, "GET", "/openapi.json", "").raw)))
}

// The permissions in the table are enforced for every operation and every request. Without
// the permission the response is 403, before any other check.
func TestTheAPIIsOpenToExactlyWhoMayUseIt(t *testing.T) {
	watch, _, start := watchable(t)
	a := newAppliance(t, watch, bounded)
	start(a.config())
	document := contracttest.Read(t, []byte(a.must(200, "GET", "/openapi.json", "").raw))
	for _, role := range []string{"monitoring", "management", "readonly", "administration"} {
		r, err := a.users.Role(role)
		if err != nil {
			t.Fatal(err)
		}
		contracttest.DriveAs(t, target(t, a), document, role, func(permission string) bool {
			return permission == string(rbac.Open) || r.May(rbac.Permission(permission))
		})
		a.must(200, "PUT", "/config", `{"farms":[]}`, "Content-Type", "application/json")
	}
}

// The properties of single requests hold for any sequence of them. The long form runs for
// SLUICE_E2E_WALK, five minutes by default.
func TestTheAPIIsWhatItsDocumentSaysInAnyOrder(t *testing.T) {
	watch, _, start := watchable(t)
	a := newAppliance(t, watch, bounded)
	start(a.config())
	seed, long := rand.Uint64(), 2*time.Second
	if text := os.Getenv("SLUICE_E2E_SEED"); text != "" { // of a failed run
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	if contracttest.Long() {
		long = 5 * time.Minute
	}
	if text := os.Getenv("SLUICE_E2E_WALK"); text != "" {
		var err error
		if long, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("seed %d", seed)
	defer func() {
		if t.Failed() {
			t.Log(strings.Join(a.log.Lines("level=ERROR"), "\n"))
		}
	}()
	contracttest.Walk(t, target(t, a), contracttest.Read(t, []byte(a.must(200, "GET", "/openapi.json", "").raw)), seed, time.Now().Add(long))
}

// Every list can be filtered by each field of its rows.
func TestListsAreFilteredByEachFieldTheyShow(t *testing.T) {
	a := newAppliance(t, bounded)
	contracttest.Filters(t, target(t, a), contracttest.Read(t, []byte(a.must(200, "GET", "/openapi.json", "").raw)))
}
