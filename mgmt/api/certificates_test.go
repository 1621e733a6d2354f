package api_test

import (
	"bytes"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/api"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/certs/certstest"
)

var pemBody = []string{"Content-Type", "application/x-pem-file"}

// root issues the certificates of these tests.
var (
	rootOnce sync.Once
	rootCA   *certstest.Authority
)

func root(t testing.TB) *certstest.Authority {
	rootOnce.Do(func() { rootCA = certstest.NewAuthority(t, "root", clock()) })
	return rootCA
}

// certificate uploads a new certificate for a host.
func (a *appliance) certificate(name, host string) *certstest.Authority {
	a.t.Helper()
	leaf := root(a.t).Issue(host)
	a.must(201, "POST", "/certificates/"+name, leaf.FullPEM(), pemBody...)
	return leaf
}

// authorities uploads an authority list.
func (a *appliance) authorities(name string) {
	a.t.Helper()
	a.must(201, "POST", "/certificates/ca/"+name, root(a.t).CertPEM(), pemBody...)
}

// https turns the shop into an https farm with that certificate.
func (a *appliance) https(name string) {
	a.t.Helper()
	a.shop(1)
	a.must(200, "PUT", "/farms/shop", `{"listener":"https","certificates":["`+name+`"]}`)
}

func (a *appliance) inForce(name string) *farm.Certificate {
	a.engine.mu.Lock()
	defer a.engine.mu.Unlock()
	for i := range a.engine.inForce.Certificates {
		if a.engine.inForce.Certificates[i].Name == name {
			return &a.engine.inForce.Certificates[i]
		}
	}
	return nil
}

func TestACertificateIsUploadedListedDownloadedAndDeleted(t *testing.T) {
	a := newAppliance(t)
	mid := root(t).Intermediate("mid")
	leaf := mid.Issue("shop.example")
	r := a.must(201, "POST", "/certificates/shop", leaf.KeyPEM()+mid.CertPEM()+leaf.CertPEM(), pemBody...)
	for path, want := range map[string]any{
		"params.file": "shop.pem", "params.type": "Certificate", "params.CN": "shop.example", "params.issuer": "mid", "params.status": "valid", "params.key": "",
		"params.days_left": 90, "params.names.0": "shop.example", "params.key_type": "ECDSA P-256", "params.chain_length": 2, "params.appliance": "false",
		"params.author": "root (key 1)", "params.must_staple": "false", "params.ocsp.stapled": "false", "params.ocsp.next_update": nil, "params.used_by.0": nil,
		"params.expiration": "2026-04-02T03:04:05Z", "params.added": "2026-01-02T03:04:05Z", "message": "The certificate shop.pem has been uploaded.", "warning": nil,
	} {
		r.want(t, path, want)
	}
	list := a.must(200, "GET", "/certificates", "")
	list.want(t, "params.0.file", "api.pem")
	list.want(t, "params.0.appliance", "true")
	list.want(t, "params.1.file", "shop.pem")
	a.must(200, "GET", "/certificates/shop.pem/status", "").want(t, "params.CN", "shop.example")

	down := a.must(200, "GET", "/certificates/shop.pem", "")
	if down.raw != leaf.ChainPEM() || down.header.Get("Content-Type") != "application/x-download" || down.header.Get("Content-Disposition") != `attachment; filename="shop.pem"` {
		t.Errorf("%v\n%s", down.header, down.raw)
	}
	info := a.must(200, "GET", "/certificates/shop.pem/info", "")
	if !strings.Contains(info.raw, "Subject: CN=shop.example") || info.header.Get("Content-Type") != "text/plain; charset=utf-8" {
		t.Errorf("%v\n%s", info.header, info.raw)
	}
	a.must(200, "DELETE", "/certificates/shop.pem", "").want(t, "success", "true")
	for _, path := range []string{"/certificates/shop.pem", "/certificates/shop.pem/info", "/certificates/shop.pem/status"} {
		a.do("GET", path, "").refused(t, 404, "shop.pem", "does not exist")
	}
	a.do("DELETE", "/certificates/shop.pem", "").refused(t, 404)
	if log := a.log.String(); !strings.Contains(log, `msg="certificate deleted" name=shop.pem by="root (key 1)" source="api 198.51.100.7"`) {
		t.Errorf("log:\n%s", log)
	}
}

func TestBothBasesServeCertificates(t *testing.T) {
	a := newAppliance(t)
	a.certificate("shop", "shop.example")
	for _, path := range []string{"/certificates", "/certificates/shop.pem", "/certificates/shop.pem/info", "/certificates/ca", "/ciphers", "/certificates/ocsp"} {
		ours, theirs := a.do("GET", path, ""), a.send("GET", api.FamilyBase+path, "", "ZAPI_KEY", a.key)
		if ours.status != 200 || ours.raw != theirs.raw {
			t.Errorf("%s: %d %d\n%s\n%s", path, ours.status, theirs.status, ours.raw, theirs.raw)
		}
		wantHeaders(t, path, ours.header)
	}
}

func TestNamesWithBlanksAndBracketsAreReached(t *testing.T) {
	a := newAppliance(t)
	for _, name := range []string{"a%20b", "shop(2)", "a%20(b)%20c", "x@y", "*.example.com", "*_example.com", "calendar", "pemx", "ocsp-1", "_x"} {
		a.certificate(name, "shop.example")
		plain := strings.ReplaceAll(name, "%20", " ") + ".pem"
		a.must(200, "GET", "/certificates/"+name+".pem/status", "").want(t, "params.file", plain)
		if got := a.must(200, "GET", "/certificates/"+name+".pem", "").header.Get("Content-Disposition"); got != fmt.Sprintf("attachment; filename=%q", plain) {
			t.Errorf("%s", got)
		}
		a.must(200, "DELETE", "/certificates/"+name+".pem", "")
	}
	for _, name := range []string{"..%2fx", "%2e%2e", "a%00b", "a%0ab", "%24(id)", "a%2520b", "a%25b"} {
		a.do("POST", "/certificates/"+name, "x", pemBody...).refused(t, 404)
	}
	for _, name := range []string{"-rf", "$(id)", "pem.pem", "0", "ca.pem", "a.csr", "a.key", "shоp", "%20a", "letsencryptz.pem", strings.Repeat("a", 10<<10)} {
		r := a.do("POST", "/certificates/"+name, root(t).Issue("x.example").FullPEM(), pemBody...)
		if name == "shоp" { // not ASCII, so the path has an escape
			r.refused(t, 404)
			continue
		}
		r.refused(t, 400, "name")
	}
	a.do("GET", "/certificates/a.pem;x", "").refused(t, 404)
}

func TestAnExistingNameIsReplacedOnlyOnPurpose(t *testing.T) {
	a := newAppliance(t)
	a.https("api.pem")
	first := a.certificate("shop", "shop.example")
	a.must(201, "POST", "/farms/shop/certificates", `{"file":"shop.pem"}`)
	second, third := root(t).Issue("shop.example"), root(t).Issue("shop.example")
	a.do("POST", "/certificates/shop", second.FullPEM(), pemBody...).refused(t, 400, "shop.pem", "exists already")
	a.do("POST", "/certificates/shop?replace=false", second.FullPEM(), pemBody...).refused(t, 400, "exists")
	a.do("POST", "/certificates/shop?replace=yes", second.FullPEM(), pemBody...).refused(t, 400, "replace")
	if got := a.inForce("shop.pem"); !bytes.Equal(got.Key, first.KeyDER()) {
		t.Fatal("it was replaced")
	}
	_, before := a.applier.Current()
	a.must(200, "PUT", "/certificates/shop.pem", second.FullPEM(), pemBody...).want(t, "params.used_by.0", "farm shop")
	if got := a.inForce("shop.pem"); !bytes.Equal(got.Key, second.KeyDER()) {
		t.Error("PUT: the old one is in force")
	}
	a.must(201, "POST", "/certificates/shop?replace=true", third.FullPEM(), pemBody...)
	if got := a.inForce("shop.pem"); !bytes.Equal(got.Key, third.KeyDER()) {
		t.Error("replace=true: the old one is in force")
	}
	if _, after := a.applier.Current(); after != before {
		t.Error("a revision was written")
	}
	a.do("PUT", "/certificates/none", second.FullPEM(), pemBody...).refused(t, 404, "none.pem")
	a.must(201, "POST", "/certificates/none?replace=true", second.FullPEM(), pemBody...)
}

// A replacement lists the services that lose a name, and needs force. It can be undone.
func TestAReplacementThatTakesNamesIsForced(t *testing.T) {
	a := newAppliance(t)
	a.https("api.pem")
	first := a.certificate("shop", "shop.example")
	a.must(201, "POST", "/farms/shop/certificates", `{"file":"shop.pem"}`)
	a.must(200, "DELETE", "/farms/shop/certificates/api.pem", "")
	other := root(t).Issue("other.example").FullPEM()
	p12, err := json.Marshal(map[string]string{"name": "shop.pem", "replace": "true", "pkcs12": base64.StdEncoding.EncodeToString([]byte(other))})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range [][]string{
		{"PUT", "/certificates/shop.pem", other}, {"PUT", "/certificates/shop", other}, {"POST", "/certificates/shop?replace=true", other}, {"POST", "/certificates/pkcs12", string(p12)},
	} {
		kind := pemBody
		if c[1] == "/certificates/pkcs12" {
			kind = nil
		}
		and := map[bool]string{true: "&", false: "?"}[strings.Contains(c[1], "?")]
		r := a.do(c[0], c[1], c[2], kind...)
		r.refused(t, 409, "shop.pem is in use", "shop.example", "service", "farm shop", "force=true", "--yes")
		r.want(t, "code", "force")
		r = a.must(200, c[0], c[1]+and+"dry_run=true", c[2], kind...)
		r.want(t, "params.needs_force", "true")
		r.want(t, "params.diff", "--- names of shop.pem\n+++ names of shop.pem\n-shop.example\n+other.example\n")
		if warning, _ := r.at("params.warnings.0").(string); !strings.Contains(warning, "shop.example (service") {
			t.Errorf("warning %q", warning)
		}
		a.must(200, c[0], c[1]+and+"dry_run=true&force=true", c[2], kind...)
		a.do(c[0], c[1]+and+"force=1", c[2], kind...).refused(t, 400, "force")
		// Somebody replaced it meanwhile.
		for _, query := range []string{"", "&force=true", "&dry_run=true", "&force=true&dry_run=true"} {
			a.do(c[0], c[1]+and+"fingerprint=AB:CD"+query, c[2], kind...).refused(t, 412, "shop.pem has been replaced meanwhile")
		}
		seen := strings.ToLower(fmt.Sprint(a.must(200, "GET", "/certificates/shop.pem/status", "").at("params.fingerprint")))
		a.must(200, c[0], c[1]+and+"force=true&dry_run=true&fingerprint="+seen, c[2], kind...)
	}
	a.do("POST", "/certificates/gone?replace=true&fingerprint=AB:CD", other, pemBody...).refused(t, 412, "gone.pem has been replaced meanwhile")
	if got := a.inForce("shop.pem"); !bytes.Equal(got.Key, first.KeyDER()) {
		t.Fatal("it was replaced")
	}
	a.must(200, "PUT", "/certificates/shop.pem?force=true", other, pemBody...).want(t, "params.previous.names.0", "shop.example")
	if log := a.log.String(); !strings.Contains(log, "lost=shop.example new=other.example") {
		t.Errorf("log:\n%s", log)
	}
	const back = "/certificates/shop.pem/actions"
	now := a.must(200, "GET", "/certificates/shop.pem/status", "")
	seen, before := fmt.Sprint(now.at("params.fingerprint")), fmt.Sprint(now.at("params.previous.fingerprint"))
	for _, c := range [][2]string{{before, before}, {seen, seen}, {"nonsense", before}} { // somebody replaced it meanwhile
		body := fmt.Sprintf(`{"action":"restore","fingerprint":%q,"previous":%q}`, c[0], c[1])
		for _, query := range []string{"", "?force=true", "?force=true&dry_run=true"} {
			a.do("POST", back+query, body).refused(t, 412, "shop.pem has been replaced meanwhile")
		}
	}
	a.must(200, "POST", back+"?force=true&dry_run=true", fmt.Sprintf(`{"action":"restore","fingerprint":%q,"previous":%q}`, strings.ReplaceAll(seen, ":", ""), strings.ToLower(before)))
	a.do("POST", back, `{"action":"restore"}`).refused(t, 409, "other.example (service") // this one would be lost in turn
	a.must(200, "POST", back+"?force=true", `{"action":"restore"}`).want(t, "params.names.0", "shop.example")
	if got := a.inForce("shop.pem"); !bytes.Equal(got.Key, first.KeyDER()) {
		t.Error("the old one is not in force")
	}
	a.must(200, "GET", "/certificates/shop.pem/status", "").want(t, "params.previous.names.0", "other.example")
	a.do("POST", back, `{"action":"undo"}`).refused(t, 400, "action")
	a.certificate("fresh", "a.example")
	a.do("POST", "/certificates/fresh.pem/actions", `{"action":"restore"}`).refused(t, 400, "nothing is kept")
	a.do("POST", "/certificates/none.pem/actions", `{"action":"restore"}`).refused(t, 404, "none.pem")
	a.must(200, "PUT", "/certificates/fresh.pem", other, pemBody...) // unused
}

func TestARefusedReplacementLeavesTheOldInForce(t *testing.T) {
	a := newAppliance(t)
	a.certificate("shop", "shop.example")
	a.https("shop.pem")
	before := a.must(200, "GET", "/certificates/shop.pem", "").raw
	next := root(t).Issue("shop.example").FullPEM()
	a.engine.refuse = &apply.Refused{Reason: "not this chain"}
	a.do("PUT", "/certificates/shop.pem", next, pemBody...).refused(t, 409, "not this chain")
	a.engine.refuse = apply.ErrUnavailable
	if r := a.do("PUT", "/certificates/shop.pem", next, pemBody...); r.header.Get("Retry-After") == "" {
		t.Errorf("%d %s", r.status, r.raw)
	} else {
		r.refused(t, 503, "nothing was changed")
	}
	a.engine.refuse = nil
	if after := a.must(200, "GET", "/certificates/shop.pem", "").raw; after != before {
		t.Error("the new one was kept")
	}
	a.do("PUT", "/certificates/shop.pem", next, append(pemBody, "If-Match", `"1"`)...).refused(t, 412)
}

func TestBadUploadsAreRefusedWithTheirReason(t *testing.T) {
	a := newAppliance(t)
	leaf, other := root(t).Issue("shop.example"), root(t).Issue("other.example")
	for name, c := range map[string]struct {
		body   string
		status int
		says   string
	}{
		"empty":           {"", 400, "no certificate"},
		"no key":          {leaf.CertPEM(), 400, "no private key"},
		"wrong key":       {leaf.CertPEM() + other.KeyPEM(), 400, "does not belong to the certificate of shop.example"},
		"thousand keys":   {strings.Repeat(leaf.KeyPEM(), 1000), 400, "more than one private key"},
		"large":           {leaf.FullPEM() + strings.Repeat("\n", 256<<10), 413, "262144"},
		"two and a chain": {leaf.FullPEM() + other.CertPEM(), 400, "does not belong to the chain"},
	} {
		r := a.do("POST", "/certificates/x", c.body, pemBody...)
		if r.refused(t, c.status, c.says); strings.Contains(r.raw, "MII") {
			t.Errorf("%s: the answer shows the upload\n%s", name, r.raw)
		}
	}
	a.do("POST", "/certificates/x", leaf.FullPEM(), "Content-Type", "application/x-www-form-urlencoded").refused(t, 415, "application/x-pem-file")
	a.must(201, "POST", "/certificates/x", leaf.FullPEM(), "Content-Type", "text/plain")
	if n := len(a.must(200, "GET", "/certificates", "").body["params"].([]any)); n != 2 {
		t.Errorf("%d certificates", n)
	}
}

const csrBody = `{"name":"new","fqdn":"new.example","country":"DE","state":"Bayern","locality":"Ulm","organization":"Example Ltd","division":"Web","mail":"a@example.com","san":"www.new.example, 192.0.2.7"}`

func TestACSRBecomesACertificate(t *testing.T) {
	a := newAppliance(t)
	r := a.must(201, "POST", "/certificates", csrBody)
	for path, want := range map[string]any{"params.file": "new.csr", "params.type": "CSR", "params.status": "unknown", "params.key": "new.key", "params.key_type": "RSA 2048",
		"params.CN": "new.example", "params.expiration": nil, "params.days_left": nil, "params.creation": "2026-01-02T03:04:05Z", "params.names.2": "192.0.2.7"} {
		r.want(t, path, want)
	}
	csr := a.must(200, "GET", "/certificates/new.csr", "")
	if csr.raw != r.at("params.csr") || !strings.HasPrefix(csr.raw, "-----BEGIN CERTIFICATE REQUEST-----") || csr.header.Get("Content-Disposition") != `attachment; filename="new.csr"` {
		t.Errorf("%s", csr.raw)
	}
	a.do("GET", "/certificates/new.key", "").refused(t, 403, "private keys never leave the appliance")
	a.do("GET", "/certificates/none.key", "").refused(t, 403, "private keys never leave the appliance")
	a.do("POST", "/certificates", csrBody).refused(t, 400, "new.csr", "exists")
	a.must(200, "GET", "/certificates/new.csr/info", "")
	signed := root(t).Sign([]byte(csr.raw))
	r = a.must(201, "POST", "/certificates/pem", quoteAny(map[string]string{"name": "live", "ca": signed, "intermediates": root(t).CertPEM()}))
	r.want(t, "params.file", "live.pem")
	r.want(t, "params.key_type", "RSA 2048")
	a.do("GET", "/certificates/new.csr", "").refused(t, 404)
	a.https("live.pem")
	if a.inForce("live.pem") == nil {
		t.Error("not in force")
	}
	a.must(201, "POST", "/certificates", strings.ReplaceAll(csrBody, `"new"`, `"gone"`))
	a.must(200, "DELETE", "/certificates/gone.csr", "")
}

func TestFieldsOfACSRAndOfParts(t *testing.T) {
	a := newAppliance(t)
	a.do("POST", "/certificates", strings.Replace(csrBody, "Example Ltd", "Example-Ltd", 1)).refused(t, 400, "organization", "without hyphens and dots")
	a.do("POST", "/certificates", strings.Replace(csrBody, `"DE"`, `"Germany"`, 1)).refused(t, 400, "country", "two letters")
	a.do("POST", "/certificates", strings.Replace(csrBody, `"new"`, `"a.b"`, 1)).refused(t, 400, "name")
	a.do("POST", "/certificates", strings.Replace(csrBody, `"mail"`, `"post"`, 1)).refused(t, 400, "mail is required")
	a.do("POST", "/certificates", strings.Replace(csrBody, `"Web"`, `5`, 1)).refused(t, 400, "division must be a text")
	for _, path := range []string{"/certificates", "/certificates/pem", "/certificates/ocsp"} {
		method := map[bool]string{true: "PUT", false: "POST"}[strings.HasSuffix(path, "ocsp")]
		if r := a.do(method, path, "{}"); r.status != 400 || r.at("params.0.name") == nil || r.body["error"] != nil {
			t.Errorf("%s: no help: %d %s", path, r.status, r.raw)
		}
	}
	leaf := root(t).Issue("shop.example")
	a.must(201, "POST", "/certificates/pem", quoteAny(map[string]string{"name": "shop", "key": leaf.KeyPEM(), "ca": leaf.CertPEM()})).want(t, "params.file", "shop.pem")
	a.do("POST", "/certificates/pem", quoteAny(map[string]string{"name": "shop", "key": leaf.KeyPEM(), "ca": leaf.CertPEM()})).refused(t, 400, "exists")
	a.do("POST", "/certificates/pem", quoteAny(map[string]string{"name": "x", "key": leaf.KeyPEM()})).refused(t, 400, "ca is required")
}

// PKCS #12 and DER files are uploaded without conversion. A password needs the form with
// fields.
func TestOtherFormsOfCertificatesAreUploaded(t *testing.T) {
	a := newAppliance(t)
	mid := root(t).Intermediate("mid")
	leaf := mid.Issue("shop.example", func(c *x509.Certificate) { c.IssuingCertificateURL = []string{"http://ca.example/mid.crt"} })
	const path = "/certificates/shop"
	closed, open := leaf.PKCS12(t, "s3cret-1"), leaf.PKCS12(t, "")
	a.send("POST", api.Base+path, string(closed), "ZAPI_KEY", a.key, "Content-Type", "application/x-pkcs12").refused(t, 400, "needs its password", "POST /certificates/pkcs12")
	body := func(name, password, file string, more ...string) string {
		of := map[string]string{"name": name, "password": password, "pkcs12": file}
		if len(more) > 0 {
			of["replace"] = more[0]
		}
		return quoteAny(of)
	}
	file := base64.StdEncoding.EncodeToString(closed)
	a.do("POST", "/certificates/pkcs12", body("shop", "", file)).refused(t, 400, "password: the PKCS #12 file needs its password")
	a.do("POST", "/certificates/pkcs12", body("shop", "s3cret-2", file)).refused(t, 400, "password: the password does not open")
	a.do("POST", "/certificates/pkcs12", body("shop", "s3cret-1", "?")).refused(t, 400, "pkcs12 must be the file in base64")
	r := a.must(201, "POST", "/certificates/pkcs12", body("shop", "s3cret-1", file))
	r.want(t, "params.chain_length", 2.0)
	r.want(t, "params.missing_issuer", "")
	a.do("POST", "/certificates/pkcs12", body("shop", "s3cret-1", file)).refused(t, 400, "exists")
	a.must(201, "POST", "/certificates/pkcs12", body("shop", "s3cret-1", file, "true"))
	if strings.Contains(a.log.String(), "s3cret") {
		t.Error("the password is logged")
	}
	for kind, content := range map[string][]byte{"application/x-pkcs12": open, "application/octet-stream": append(slices.Clone(leaf.Cert.Raw), leaf.KeyDER()...)} {
		if r := a.send("PUT", api.Base+"/certificates/shop.pem", string(content), "ZAPI_KEY", a.key, "Content-Type", kind); r.status != 200 {
			t.Errorf("%s: %s", kind, r.raw)
		}
	}
	r = a.must(200, "GET", "/certificates/shop.pem/status", "")
	r.want(t, "params.missing_issuer", map[float64]string{1: "mid", 2: ""}[r.at("params.chain_length").(float64)])
	if r := a.send("POST", api.Base+"/certificates/ca/clients", string(root(t).Cert.Raw), "ZAPI_KEY", a.key, "Content-Type", "application/pkix-cert"); r.status != 201 {
		t.Errorf("an authority: %s", r.raw)
	}
}

func TestAUsedCertificateCannotBeDeletedAndSaysWhoUsesIt(t *testing.T) {
	a := newAppliance(t)
	a.certificate("shop", "shop.example")
	a.https("shop.pem")
	a.do("DELETE", "/certificates/shop.pem", "").refused(t, 400, "in use", "farm shop")
	a.do("DELETE", "/certificates/api.pem", "").refused(t, 400, "belongs to the appliance")
	a.do("PUT", "/certificates/api.pem", root(t).Issue("x").FullPEM(), pemBody...).refused(t, 400, "belongs to the appliance")
	a.do("PUT", "/farms/shop", `{"certificates":["none.pem"]}`).refused(t, 400, "none.pem", "does not exist: upload it first")
	a.do("PUT", "/config", "farms:\n  - {name: x, profile: http, vip: 192.0.2.10, vport: 99, listener: https, certificates: [none.pem]}\n", "Content-Type", "application/yaml").refused(t, 400, "none.pem")
	a.must(200, "PUT", "/farms/shop", `{"certificates":["api.pem"]}`)
	a.must(200, "DELETE", "/certificates/shop.pem", "")
	a.do("POST", "/history/rollback", `{"revision":4}`).refused(t, 400, "shop.pem", "does not exist") // its certificate is gone
}

func TestCertificatesOfAFarmAreAddedMovedAndRemoved(t *testing.T) {
	a := newAppliance(t)
	for _, name := range []string{"a", "b", "c"} {
		a.certificate(name, name+".example")
	}
	a.shop(1)
	a.do("POST", "/farms/shop/certificates", `{"file":"a.pem"}`).refused(t, 400, "listener to https")
	a.must(200, "PUT", "/farms/shop", `{"listener":"https","certificates":["a.pem"]}`)
	a.must(201, "POST", "/farms/shop/certificates", `{"file":"b"}`)
	r := a.must(201, "POST", "/farms/shop/certificates", `{"file":"c.pem"}`)
	r.want(t, "params.certlist.2.file", "c.pem")
	r.want(t, "params.certlist.2.id", 2)
	r.want(t, "status", "up")
	a.do("POST", "/farms/shop/certificates", `{"file":"b.pem"}`).refused(t, 400, "b.pem already")
	a.do("POST", "/farms/shop/certificates", `{"file":"none.pem"}`).refused(t, 404, "none.pem")
	a.do("POST", "/farms/none/certificates", `{"file":"a.pem"}`).refused(t, 404, "none")
	a.do("POST", "/farms/shop/certificates", `{"file":"../x"}`).refused(t, 400, "name")
	a.must(201, "POST", "/certificates", csrBody)
	a.do("POST", "/farms/shop/certificates", `{"file":"new.csr"}`).refused(t, 400, "new.csr")

	order := func(want string) {
		t.Helper()
		if got := strings.Join(a.config().Farm("shop").HTTP.TLS.Certificates, " "); got != want {
			t.Errorf("the order is %s, want %s", got, want)
		}
	}
	a.must(200, "POST", "/farms/shop/certificates/c.pem/actions", `{"position":0}`).want(t, "params.certlist.0.file", "c.pem")
	order("c.pem a.pem b.pem")
	a.must(200, "POST", "/farms/shop/certificates/c.pem/actions", `{"position":"2"}`)
	order("a.pem b.pem c.pem")
	a.do("POST", "/farms/shop/certificates/c.pem/actions", `{"position":3}`).refused(t, 400, "0 to 2")
	a.do("POST", "/farms/shop/certificates/c.pem/actions", `{"position":-1}`).refused(t, 400, "position")
	a.do("POST", "/farms/shop/certificates/none.pem/actions", `{"position":0}`).refused(t, 404, "none.pem")
	a.must(200, "DELETE", "/farms/shop/certificates/a.pem", "")
	order("b.pem c.pem")
	a.do("DELETE", "/farms/shop/certificates/a.pem", "").refused(t, 404, "does not have")
	a.must(200, "DELETE", "/farms/shop/certificates/c.pem", "")
	a.do("DELETE", "/farms/shop/certificates/b.pem", "").refused(t, 400, "last one")
	order("b.pem")
	a.must(200, "GET", "/farms/shop", "").want(t, "params.certlist.0.file", "b.pem")
}

func TestCipherPresets(t *testing.T) {
	r := newAppliance(t).must(200, "GET", "/ciphers", "")
	r.want(t, "params.0.ciphers", "all")
	r.want(t, "params.1.ciphers", "highsecurity")
	r.want(t, "params.2.ciphers", "customsecurity")
	flags, _ := os.ReadFile("/proc/cpuinfo")
	if has := strings.Contains(string(flags), " aes "); has != (r.at("params.3.ciphers") == "ssloffloading") {
		t.Errorf("AES %v\n%s", has, r.raw)
	}
}

func TestAuthoritiesAndTheirCRLs(t *testing.T) {
	a := newAppliance(t)
	now := clock()
	list := string(root(t).CRL(now, now.AddDate(0, 0, 7), big.NewInt(7)))
	a.authorities("clients")
	a.do("POST", "/certificates/ca/clients", root(t).CertPEM(), pemBody...).refused(t, 400, "exists")
	a.do("PUT", "/certificates/ca/none", root(t).CertPEM(), pemBody...).refused(t, 404, "none")
	a.do("POST", "/certificates/ca/x", root(t).Issue("x").FullPEM(), pemBody...).refused(t, 400, "private key")
	a.do("POST", "/certificates/ca/..x", root(t).CertPEM(), pemBody...).refused(t, 400, "name")
	a.must(200, "PUT", "/certificates/ca/clients/crl", list, "Content-Type", "application/pkix-crl").want(t, "params.crls.0.entries", 1)
	a.do("PUT", "/certificates/ca/clients/crl", "", pemBody...).refused(t, 400, "no CRL")
	a.do("PUT", "/certificates/ca/clients/crl", "rubbish", pemBody...).refused(t, 400, "cannot be read")
	r := a.must(200, "GET", "/certificates/ca", "")
	for path, want := range map[string]any{"params.0.name": "clients", "params.0.status": "valid", "params.0.certificates.0.CN": "root", "params.0.crls.0.issuer": "root",
		"params.0.crls.0.outdated": "false", "params.0.used_by.0": nil} {
		r.want(t, path, want)
	}
	a.must(200, "GET", "/certificates/ca/clients/status", "").want(t, "params.crls.0.next_update", "2026-01-09T03:04:05Z")
	if info := a.must(200, "GET", "/certificates/ca/clients/info", ""); !strings.Contains(info.raw, "Revoked Certificates: 1") {
		t.Errorf("%s", info.raw)
	}
	down := a.must(200, "GET", "/certificates/ca/clients", "")
	if !strings.Contains(down.raw, "X509 CRL") || down.header.Get("Content-Disposition") != `attachment; filename="clients.pem"` {
		t.Errorf("%v %s", down.header, down.raw)
	}
	a.https("api.pem")
	a.must(200, "PUT", "/farms/shop", `{"client_auth":"required","client_ca":"clients"}`)
	a.engine.mu.Lock()
	if got := a.engine.inForce.Authorities; len(got) != 1 || len(got[0].Revoked) != 1 {
		t.Errorf("in force: %d", len(got))
	}
	a.engine.mu.Unlock()
	a.do("DELETE", "/certificates/ca/clients", "").refused(t, 400, "farm shop")
	a.must(200, "DELETE", "/certificates/ca/clients/crl", "").want(t, "params.crls.0", nil)
	a.must(200, "PUT", "/farms/shop", `{"client_auth":""}`)
	a.must(200, "DELETE", "/certificates/ca/clients", "")
	a.do("GET", "/certificates/ca/clients", "").refused(t, 404)
	a.do("GET", "/certificates/ca/clients/info", "").refused(t, 404)
	a.must(200, "GET", "/certificates/ca", "").want(t, "params.0", nil)
}

func TestSettingsOfOCSP(t *testing.T) {
	a := newAppliance(t)
	a.must(200, "GET", "/certificates/ocsp", "").want(t, "params.enabled", "true")
	r := a.must(200, "PUT", "/certificates/ocsp", `{"private_responders":true}`)
	r.want(t, "params.private_responders", "true")
	r.want(t, "params.enabled", "true")
	a.must(200, "PUT", "/certificates/ocsp", `{"enabled":"false"}`)
	a.must(200, "GET", "/certificates/ocsp", "").want(t, "params.private_responders", "true")
	a.do("PUT", "/certificates/ocsp", `{"enabled":"maybe"}`).refused(t, 400, "true or false")
}

// After uploads, changes and rejections, no response, log line, export or file contains a
// private key in any form.
func TestNoAnswerLogOrFileHasAPrivateKey(t *testing.T) {
	a := newAppliance(t)
	leaf := a.certificate("shop", "shop.example")
	a.authorities("clients")
	a.https("shop.pem")
	a.must(201, "POST", "/certificates", csrBody)
	a.must(200, "PUT", "/certificates/shop.pem", leaf.FullPEM(), append(pemBody, "Idempotency-Key", "1")...)
	a.must(200, "PUT", "/certificates/shop.pem", leaf.FullPEM(), append(pemBody, "Idempotency-Key", "1")...)
	a.must(201, "POST", "/keys", "")
	var seen strings.Builder
	a.engine.refuse = &apply.Refused{Reason: "no"}
	seen.WriteString(a.do("PUT", "/certificates/shop.pem", leaf.FullPEM(), pemBody...).raw)
	a.engine.refuse = fmt.Errorf("cannot publish %v", a.engine.inForce) // the worst possible content of an error
	seen.WriteString(a.do("PUT", "/certificates/shop.pem", leaf.FullPEM(), pemBody...).raw)
	a.engine.refuse = nil
	seen.WriteString(a.do("POST", "/certificates/wrong", root(t).CertPEM()+leaf.KeyPEM(), pemBody...).raw)
	routes := 0
	for _, route := range a.server.Routes() {
		if endless(route.Path) {
			continue
		}
		path := strings.NewReplacer("{farm}", "shop", "{service}", "web", "{backend}", "0", "{revision}", "3", "{key}", "2", "{authority}", "clients").Replace(route.Path)
		for _, name := range []string{"shop.pem", "new.csr", "new.key", "shop.key", "shop", "api.pem"} {
			if name != "shop.pem" && !strings.Contains(path, "{certificate}") {
				break
			}
			method := route.Method
			if method == "DELETE" {
				continue
			}
			for _, query := range []string{"", "?format=json", "?format=yaml"} {
				r := a.do(method, strings.ReplaceAll(path, "{certificate}", name)+query, map[bool]string{true: "", false: "{}"}[method == "GET"])
				seen.WriteString(r.raw)
				fmt.Fprint(&seen, r.header)
				routes++
			}
		}
	}
	for _, path := range []string{"/openapi.json", "/config"} {
		seen.WriteString(a.must(200, "GET", path, "").raw)
	}
	seen.WriteString(a.log.String())
	entries, err := os.ReadDir(a.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() {
			continue // recorded statistics
		}
		content, err := os.ReadFile(filepath.Join(a.dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		seen.Write(content)
	}
	records, err := a.store.Certificates() // the file compresses them
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(&seen, quoteAny(records))
	for _, r := range records {
		fmt.Fprintf(&seen, "%s", bytes.Join(append(r.Chain, r.Request, r.Key, r.Staple), nil))
	}
	if routes < 150 || len(entries) < 2 || seen.Len() < 100_000 {
		t.Fatalf("only %d requests, %d files, %d bytes were looked at", routes, len(entries), seen.Len())
	}
	for _, secret := range secretForms(t, a, leaf) {
		if strings.Contains(seen.String(), secret) {
			t.Errorf("a private key appears as %.40q", secret)
		}
	}
}

// secretForms lists the encodings in which the appliance's keys could appear.
func secretForms(t *testing.T, a *appliance, leaf *certstest.Authority) []string {
	a.https2("new")
	keys := [][]byte{leaf.KeyDER(), a.inForce("live.pem").Key}
	out := []string{"PRIVATE KEY"}
	for _, der := range keys {
		part := der[40:100]
		if len(der) > 1000 { // RSA: the part after the modulus
			part = der[600:660]
		}
		text, _ := json.Marshal(part)
		out = append(out, string(part), fmt.Sprintf("%x", part), fmt.Sprintf("%X", part), strings.Trim(string(text), `"`)[:40], fmt.Sprint(part)[:60],
			base64.StdEncoding.EncodeToString(part[1:])[:60], base64.StdEncoding.EncodeToString(part[2:])[:60], base64.RawURLEncoding.EncodeToString(part)[:60])
	}
	return out
}

// https2 completes a CSR and puts it into use. Its key is then visible only where it may
// be: to the engine.
func (a *appliance) https2(csr string) {
	a.t.Helper()
	signed := root(a.t).Sign([]byte(a.must(200, "GET", "/certificates/"+csr+".csr", "").raw))
	a.must(201, "POST", "/certificates/live", signed, pemBody...)
	a.must(201, "POST", "/farms/shop/certificates", `{"file":"live.pem"}`)
}
