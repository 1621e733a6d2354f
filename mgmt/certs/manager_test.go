package certs_test

import (
	"bytes"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/certs"
	"github.com/sluicelb/sluice/mgmt/certs/certstest"
	"github.com/sluicelb/sluice/mgmt/validate/field"
)

func fields() certs.RequestFields {
	return certs.RequestFields{FQDN: "new.example", Country: "de", State: "Baden-Württemberg", Locality: "Ulm", Organization: "Example Ltd", Division: "Web", Mail: "admin@example.com"}
}

func TestAnUploadIsListedAndOutlivesTheProcess(t *testing.T) {
	h := newHouse(t)
	mid := h.root.Intermediate("mid")
	leaf := mid.Issue("shop.example")
	h.upload("shop", leaf.FullPEM(), certs.Create)
	for range 2 {
		v, err := h.Get("shop.pem")
		if err != nil || v.CN != "shop.example" || v.Issuer != "mid" || v.Status != certs.StatusValid || v.DaysLeft != 90 || v.KeyType != "ECDSA P-256" ||
			v.ChainLength != 2 || v.Author != "root" || !v.Added.Equal(now) || strings.Join(v.Names, ",") != "shop.example" || !strings.Contains(info(leaf.Cert), "SHA-256 Fingerprint: "+v.Fingerprint+"\n") {
			t.Errorf("%v %+v", err, v)
		}
		chain, err := h.Download("shop.pem")
		if err != nil || string(chain) != leaf.ChainPEM() {
			t.Errorf("download: %v\n%s", err, chain)
		}
		h.open()
	}
	if log := h.log.String(); !strings.Contains(log, `msg="certificate uploaded" name=shop.pem by=root source=cli subject=shop.example expires=2026-04-`) {
		t.Errorf("log:\n%s", log)
	}
}

func TestModesOfAnUpload(t *testing.T) {
	h := newHouse(t)
	one, two := h.root.Issue("one.example").FullPEM(), h.root.Issue("two.example").FullPEM()
	if _, _, err := h.Upload(t.Context(), by, "x", []byte(one), certs.Replace); !errors.Is(err, certs.ErrNotFound) {
		t.Errorf("replace of a missing certificate: %v", err)
	}
	h.upload("x", one, certs.Put)
	if _, _, err := h.Upload(t.Context(), by, "x.pem", []byte(two), certs.Create); !errors.Is(err, certs.ErrExists) {
		t.Errorf("create of an existing certificate: %v", err)
	}
	if v, _ := h.Get("x.pem"); v.CN != "one.example" {
		t.Errorf("it became %s, want %s", v.CN, "one.example")
	}
	if v := h.upload("x", two, certs.Replace); v.CN != "two.example" {
		t.Errorf("it is %s, want %s", v.CN, "two.example")
	}
	h.upload("x", one, certs.Put)
	if _, _, err := h.Upload(t.Context(), by, "../x", []byte(one), certs.Put); err == nil {
		t.Error("a path is accepted as a name")
	}
	seen, _ := h.Get("x.pem")
	for _, mode := range []certs.Mode{certs.Replace, certs.Put} {
		for name, fingerprint := range map[string]string{"x": "AB:CD", "y": seen.Fingerprint} {
			_, _, err := h.UploadOver(t.Context(), by, name, []byte(two), mode, fingerprint)
			if gone := name == "y" && mode == certs.Replace; !gone && !errors.Is(err, certs.ErrReplaced) || gone && !errors.Is(err, certs.ErrNotFound) {
				t.Errorf("mode %d, %s, want %s: %v", mode, name, fingerprint, err)
			}
		}
	}
	if v, _ := h.Get("x.pem"); v.CN != "one.example" {
		t.Errorf("it became %s, want %s", v.CN, "one.example")
	}
	if _, _, err := h.UploadOver(t.Context(), by, "x", []byte(two), certs.Replace, strings.ToLower(seen.Fingerprint)); err != nil {
		t.Error(err)
	}
	if !strings.Contains(h.log.String(), `msg="certificate replaced" name=x.pem by=root`) {
		t.Errorf("log:\n%s", h.log)
	}
}

func TestAReplacedCertificateIsInForceWhenTheUploadReturns(t *testing.T) {
	h := newHouse(t)
	first, second := h.root.Issue("shop.example"), h.root.Issue("shop.example")
	h.upload("shop", first.FullPEM(), certs.Create)
	h.must(h.https("shop", 443, farm.TLS{Certificates: []string{"shop.pem"}}))
	if got := h.inForce("shop.pem"); got == nil || !bytes.Equal(got.Key, first.KeyDER()) || !bytes.Equal(got.Chain[0], first.Cert.Raw) {
		t.Fatalf("in force: %v", got)
	}
	_, before := h.applier.Current()
	h.upload("shop", second.FullPEM(), certs.Replace)
	if got := h.inForce("shop.pem"); !bytes.Equal(got.Key, second.KeyDER()) || !bytes.Equal(got.Chain[0], second.Cert.Raw) {
		t.Error("the old one is in force")
	}
	if _, after := h.applier.Current(); after.Number != before.Number {
		t.Error("a revision was written")
	}
	published := h.pub.Published()
	h.upload("unused", first.FullPEM(), certs.Create)
	if h.pub.Published() != published {
		t.Error("published although no farm uses it")
	}
}

func TestARefusedReplacementChangesNothing(t *testing.T) {
	h := newHouse(t)
	first, second := h.root.Issue("shop.example"), h.root.Issue("shop.example")
	h.upload("shop", first.FullPEM(), certs.Create)
	h.must(h.https("shop", 443, farm.TLS{Certificates: []string{"shop.pem"}}))
	stays := func(why string) {
		t.Helper()
		v, _ := h.Get("shop.pem")
		all, err := h.store.Certificates()
		h.must(err)
		if got := h.inForce("shop.pem"); !bytes.Equal(got.Chain[0], first.Cert.Raw) || !bytes.Equal(all[0].Chain[0], first.Cert.Raw) || v.Added != now {
			t.Errorf("%s: the new one is in force or kept", why)
		}
	}
	h.refusing("this chain is odd")
	h.pass(1e9)
	_, _, err := h.Upload(t.Context(), by, "shop", []byte(second.FullPEM()), certs.Replace)
	var refused *apply.Refused
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "this chain is odd") {
		t.Errorf("got %v", err)
	}
	h.refusing("")
	stays("refused by the engine")
	h.pub.Answer(func(*farm.Config) (apply.Outcome, error) { return apply.Outcome{}, apply.ErrUnavailable })
	if _, _, err := h.Upload(t.Context(), by, "shop", []byte(second.FullPEM()), certs.Replace); !errors.Is(err, apply.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
	stays("no engine")
	h.open()
	later := h.root.Issue("shop.example", func(c *x509.Certificate) { c.NotBefore = now.AddDate(0, 0, 2) })
	if _, _, err := h.Upload(t.Context(), by, "shop", []byte(later.FullPEM()), certs.Replace); err == nil || !strings.Contains(err.Error(), "not valid before 2026-01-04") {
		t.Errorf("not valid yet: %v", err)
	}
	h.store.Close() // the disk is gone
	if _, _, err := h.Upload(t.Context(), by, "shop", []byte(second.FullPEM()), certs.Replace); err == nil {
		t.Error("kept nowhere, and yet accepted")
	}
	if got := h.inForce("shop.pem"); !bytes.Equal(got.Chain[0], first.Cert.Raw) {
		t.Error("the new one is in force, but lost with the next start")
	}
	h.open()
	stays("closed store")
}

func TestACSRIsCompletedByItsCertificate(t *testing.T) {
	h := newHouse(t)
	f := fields()
	f.Names = []string{"WWW.new.example", "192.0.2.7", "2001:db8::1", "new.example"}
	v, err := h.Request(t.Context(), by, "new", f)
	h.must(err)
	if v.Name != "new.csr" || !v.CSR || v.Status != certs.StatusUnknown || v.KeyType != "RSA 2048" || v.CN != "new.example" {
		t.Errorf("%+v", v)
	}
	if got := strings.Join(v.Names, " "); got != "new.example www.new.example 192.0.2.7 2001:db8::1" {
		t.Errorf("names %s, want %s", got, "new.example www.new.example 192.0.2.7 2001:db8::1")
	}
	if !strings.Contains(h.log.String(), `msg="CSR created" name=new.csr by=root source=cli subject=new.example`) {
		t.Errorf("log:\n%s", h.log)
	}
	if _, err := h.Request(t.Context(), by, "new", fields()); !errors.Is(err, certs.ErrExists) {
		t.Errorf("twice: %v", err)
	}
	h.open()
	csr, err := h.Download("new.csr")
	h.must(err)
	block, _ := pem.Decode(csr)
	r, err := x509.ParseCertificateRequest(block.Bytes)
	h.must(err)
	if want := "Subject: CN=new.example,OU=Web,O=Example Ltd,L=Ulm,ST=Baden-Württemberg,C=DE,emailAddress=admin@example.com\n"; true {
		if text, err := h.Describe("new.csr"); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%v\n%s", err, text)
		}
	}
	if !bytes.Contains(r.RawSubject, append([]byte{0x16, 17}, "admin@example.com"...)) { // IA5String
		t.Errorf("the mail address is no IA5String: %x", r.RawSubject)
	}
	signed := h.root.Sign(csr)
	if _, _, err := h.Upload(t.Context(), by, "stranger", []byte(h.root.Issue("x.example").CertPEM()), certs.Create); err == nil || !strings.Contains(err.Error(), "no private key") {
		t.Errorf("no key anywhere: %v", err)
	}
	got := h.upload("live", signed+h.root.CertPEM(), certs.Create)
	if got.CN != "new.example" || got.KeyType != "RSA 2048" || got.Status != certs.StatusValid {
		t.Errorf("%+v", got)
	}
	if _, err := h.Get("new.csr"); !errors.Is(err, certs.ErrNotFound) {
		t.Errorf("the CSR is still there: %v", err)
	}
	h.open()
	if list := h.List(); len(list) != 1 || list[0].Name != "live.pem" {
		t.Errorf("%+v", list)
	}
	h.must(h.https("shop", 443, farm.TLS{Certificates: []string{"live.pem"}}))
	key, err := x509.ParsePKCS8PrivateKey(h.inForce("live.pem").Key)
	h.must(err)
	if !key.(*rsa.PrivateKey).PublicKey.Equal(r.PublicKey) {
		t.Error("another key")
	}
	// On renewal, the key is already known.
	if v := h.upload("live", h.root.Sign(csr, func(c *x509.Certificate) { c.NotAfter = now.AddDate(0, 0, 200) }), certs.Replace); v.DaysLeft != 200 {
		t.Errorf("%+v", v)
	}
}

func TestFieldsOfACSR(t *testing.T) {
	h := newHouse(t)
	for want, change := range map[string]func(*certs.RequestFields){
		"fqdn":                        func(f *certs.RequestFields) { f.FQDN = "" },
		"fqdn must":                   func(f *certs.RequestFields) { f.FQDN = "a b" },
		"got \"*.*.x\"":               func(f *certs.RequestFields) { f.FQDN = "*.*.x" },
		"fqdn must be a host":         func(f *certs.RequestFields) { f.FQDN = "$(id).example" },
		"country":                     func(f *certs.RequestFields) { f.Country = "DEU" },
		"state is required":           func(f *certs.RequestFields) { f.State = " " },
		"locality must be":            func(f *certs.RequestFields) { f.Locality = "St.Gallen" },
		"hyphens and dots":            func(f *certs.RequestFields) { f.Locality = "Baden-Baden" },
		"organization must be":        func(f *certs.RequestFields) { f.Organization = "Example-Ltd" },
		"state must have":             func(f *certs.RequestFields) { f.State = strings.Repeat("ü", 129) },
		"locality must have":          func(f *certs.RequestFields) { f.Locality = strings.Repeat("x", 129) },
		"division must have":          func(f *certs.RequestFields) { f.Division = strings.Repeat("x", 65) },
		"got \"" + longMail(256)[:60]: func(f *certs.RequestFields) { f.Mail = longMail(256) },
		"got \"" + longHost(254)[:60]: func(f *certs.RequestFields) { f.FQDN = longHost(254) },
		"organization must hav":       func(f *certs.RequestFields) { f.Organization = strings.Repeat("x", 65) },
		"division must be":            func(f *certs.RequestFields) { f.Division = "a\nb" },
		"mail must be":                func(f *certs.RequestFields) { f.Mail = "Root <root@example.com>" },
		"got \"rööt@example":          func(f *certs.RequestFields) { f.Mail = "rööt@example.com" },
		"san must be":                 func(f *certs.RequestFields) { f.Names = []string{"ok.example", "not ok"} },
		"san: 101":                    func(f *certs.RequestFields) { f.Names = make([]string, 101) },
	} {
		f := fields()
		change(&f)
		var refused *certs.Error
		if _, err := h.Request(t.Context(), by, "new", f); !errors.As(err, &refused) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", want, err)
		}
	}
	f := fields()
	f.FQDN = "*.new.example"
	if v, err := h.Request(t.Context(), by, "wild", f); err != nil || v.CN != "*.new.example" {
		t.Errorf("wildcard: %v %+v", err, v)
	}
	// All fields at their limits; a common name has 64 letters.
	f.State, f.Locality, f.Organization, f.Division = strings.Repeat("ü", 128), strings.Repeat("x", 128), strings.Repeat("x", 64), strings.Repeat("x", 64)
	f.FQDN, f.Mail, f.Names = longHost(253), longMail(255), nil
	for i := range 100 {
		f.Names = append(f.Names, fmt.Sprintf("n%d.example", i))
	}
	if v, err := h.Request(t.Context(), by, "long", f); err != nil || v.Names[0] != f.FQDN || len(v.Names) != 101 || v.CN == f.FQDN {
		t.Errorf("long: %v %+v", err, v)
	}
	for length, want := range map[int]bool{64: true, 65: false} {
		f.FQDN = longHost(length)
		if v, err := h.Request(t.Context(), by, fmt.Sprint("n", length), f); err != nil || (v.CN == f.FQDN) != want {
			t.Errorf("a name of %d letters: %v %+v", length, err, v)
		}
	}
}

// longHost returns a host name of that length.
func longHost(length int) string {
	return strings.Repeat("x", (length-7)%2) + strings.Repeat("x.", (length-7)/2) + "example"
}

// longMail returns a mail address of that length.
func longMail(length int) string { return strings.Repeat("m", 20) + "@" + longHost(length-21) }

// A pending change that is not confirmed returns to a configuration, whose objects must exist.
func TestObjectsOfAPendingRevertCannotBeDeleted(t *testing.T) {
	h := newHouse(t)
	h.upload("old", h.root.Issue("shop.example").FullPEM(), certs.Create)
	h.upload("new", h.root.Issue("shop.example").FullPEM(), certs.Create)
	h.upload("free", h.root.Issue("free.example").FullPEM(), certs.Create)
	_, _, err := h.UploadAuthority(t.Context(), by, "clients", []byte(h.root.CertPEM()), certs.Create)
	h.must(err)
	h.must(h.https("shop", 443, farm.TLS{Certificates: []string{"old.pem"}, Clients: farm.ClientAuthRequired, ClientCA: "clients"}))
	trial := apply.OnTrial(t.Context(), apply.Trial{Wait: time.Hour})
	done, err := h.applier.Change(trial, by, "", 0, func(cfg *farm.Config) error {
		tls := cfg.Farms[0].HTTP.TLS
		tls.Certificates, tls.Clients, tls.ClientCA = []string{"new.pem"}, "", ""
		return nil
	})
	h.must(err)
	for name, remove := range map[string]func() error{
		"old.pem": func() error { return h.Delete(t.Context(), by, "old.pem") },
		"new.pem": func() error { return h.Delete(t.Context(), by, "new.pem") },
		"clients": func() error { return h.DeleteAuthority(t.Context(), by, "clients") },
	} {
		if err := remove(); !errors.Is(err, certs.ErrInUse) {
			t.Errorf("%s: %v", name, err)
		}
	}
	h.must(h.Delete(t.Context(), by, "free.pem"))
	_, err = h.applier.TakeBack(t.Context(), by, done.Revision.Number)
	h.must(err)
	if problems := h.applier.Problems(); len(problems) != 0 {
		t.Errorf("reverted: %v", problems)
	}
	done, err = h.applier.Change(trial, by, "", 0, func(cfg *farm.Config) error {
		cfg.Farms[0].HTTP.TLS.Certificates = []string{"new.pem"}
		return nil
	})
	h.must(err)
	h.must(h.applier.Confirm(t.Context(), by, done.Revision.Number, apply.Confirmed))
	h.must(h.Delete(t.Context(), by, "old.pem"))
}

func TestObjectsInUseCannotBeDeleted(t *testing.T) {
	h := newHouse(t)
	h.upload("shop", h.root.Issue("shop.example").FullPEM(), certs.Create)
	h.upload("client", h.root.Issue("client.example").FullPEM(), certs.Create)
	_, _, err := h.UploadAuthority(t.Context(), by, "ca", []byte(h.root.CertPEM()), certs.Create)
	if err == nil {
		t.Error("a reserved name was accepted")
	}
	_, _, err = h.UploadAuthority(t.Context(), by, "clients", []byte(h.root.CertPEM()), certs.Create)
	h.must(err)
	h.must(h.https("shop", 443, farm.TLS{Certificates: []string{"shop.pem"}, Clients: farm.ClientAuthRequired, ClientCA: "clients"}))
	h.must(h.change(func(cfg *farm.Config) error {
		cfg.Farms[0].HTTP.Services[0].TLS = &farm.BackendTLS{Verify: farm.VerifyCA, CA: "clients", Certificate: "client.pem"}
		cfg.Farms[0].Stopped = true // even if it is stopped
		return nil
	}))
	if err := h.Delete(t.Context(), by, "shop.pem"); !errors.Is(err, certs.ErrInUse) || !strings.Contains(err.Error(), "by farm shop") {
		t.Errorf("got %v", err)
	}
	if err := h.Delete(t.Context(), by, "client.pem"); !errors.Is(err, certs.ErrInUse) || !strings.Contains(err.Error(), "service web of farm shop") {
		t.Errorf("got %v", err)
	}
	if err := h.DeleteAuthority(t.Context(), by, "clients"); !errors.Is(err, certs.ErrInUse) || !strings.Contains(err.Error(), "farm shop, service web of farm shop") {
		t.Errorf("got %v", err)
	}
	h.must(h.change(func(cfg *farm.Config) error { cfg.Farms = nil; return nil }))
	h.must(h.Delete(t.Context(), by, "shop.pem"))
	h.must(h.DeleteAuthority(t.Context(), by, "clients"))
	if err := h.Delete(t.Context(), by, "shop.pem"); !errors.Is(err, certs.ErrNotFound) {
		t.Errorf("twice: %v", err)
	}
	if err := h.DeleteAuthority(t.Context(), by, "clients"); !errors.Is(err, certs.ErrNotFound) {
		t.Errorf("twice: %v", err)
	}
	h.open()
	if list := h.List(); len(list) != 1 || len(h.Authorities()) != 0 {
		t.Errorf("%+v", list)
	}
	if !strings.Contains(h.log.String(), `msg="certificate deleted" name=shop.pem by=root source=cli`) || !strings.Contains(h.log.String(), `msg="authorities deleted" name=clients by=root source=cli`) {
		t.Errorf("log:\n%s", h.log)
	}
}

func TestFarmCannotReferToMissingObjects(t *testing.T) {
	h := newHouse(t)
	h.upload("shop", h.root.Issue("shop.example").FullPEM(), certs.Create)
	_, err := h.Request(t.Context(), by, "new", fields())
	h.must(err)
	for want, tls := range map[string]farm.TLS{
		`farm "bad": certificates: the certificate "none.pem" does not exist`:   {Certificates: []string{"shop.pem", "none.pem"}},
		`farm "bad": client_ca: the authority list "clients" does not exist: u`: {Certificates: []string{"shop.pem"}, Clients: farm.ClientAuthOptional, ClientCA: "clients"},
	} {
		var broken *field.Error
		if err := h.https("bad", 443, tls); !errors.As(err, &broken) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	h.must(h.https("shop", 443, farm.TLS{Certificates: []string{"shop.pem"}}))
	err = h.change(func(cfg *farm.Config) error {
		cfg.Farms[0].HTTP.Services[0].TLS = &farm.BackendTLS{Certificate: "gone.pem"}
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), `farm "shop" service "web": httpsb_certificate: the certificate "gone.pem"`) {
		t.Errorf("got %v", err)
	}
	if h.Exists("new.csr") || h.Exists("none.pem") || !h.Exists("shop.pem") || h.AuthorityExists("clients") {
		t.Error("Exists")
	}
}

// A snapshot contains the certificates its farms refer to, each once, and no others.
func TestSnapshotHoldsOnlyUsedCertificates(t *testing.T) {
	h := newHouse(t)
	a := h.root.Issue("a.example")
	for _, name := range []string{"a", "b", "c", "unused"} {
		h.upload(name, a.FullPEM(), certs.Create)
	}
	list := h.root.CertPEM() + string(pem.EncodeToMemory(&pem.Block{Type: "X509 CRL", Bytes: h.root.CRL(now, now.AddDate(0, 0, 7), a.Cert.SerialNumber)}))
	for _, name := range []string{"clients", "backends", "unused"} {
		_, _, err := h.UploadAuthority(t.Context(), by, name, []byte(list), certs.Create)
		h.must(err)
	}
	h.must(h.https("one", 443, farm.TLS{Certificates: []string{"b.pem", "a.pem"}, Clients: farm.ClientAuthOptional, ClientCA: "clients"}))
	h.must(h.https("two", 444, farm.TLS{Certificates: []string{"a.pem"}, Clients: farm.ClientAuthOptional, ClientCA: "clients"}))
	h.must(h.change(func(cfg *farm.Config) error {
		cfg.Farms[1].HTTP.Services[0].TLS = &farm.BackendTLS{Certificate: "c.pem", CA: "backends", Verify: farm.VerifyCA}
		return nil
	}))
	var got []string
	h.mu.Lock()
	for _, c := range h.took.Certificates {
		got = append(got, fmt.Sprint(c.Name, len(c.Chain), bytes.Equal(c.Key, a.KeyDER())))
	}
	for _, c := range h.took.Authorities {
		got = append(got, fmt.Sprint(c.Name, len(c.Certificates), len(c.Revoked)))
	}
	h.mu.Unlock()
	if want := "a.pem1 true b.pem1 true c.pem1 true backends1 1 clients1 1"; strings.Join(got, " ") != want {
		t.Errorf("%s", strings.Join(got, " "))
	}
	if cfg, _ := h.applier.Current(); len(cfg.Certificates) != 0 || len(cfg.Authorities) != 0 {
		t.Error("the configuration in force has certificates itself")
	}
}

// A farm with two certificates continues with one of them. Without its authorities it must
// not run, as it would admit everybody.
func TestLostCertificateKeepsSafeFarmsRunning(t *testing.T) {
	h := newHouse(t)
	h.upload("a", h.root.Issue("a.example").FullPEM(), certs.Create)
	h.upload("b", h.root.Issue("b.example").FullPEM(), certs.Create)
	_, _, err := h.UploadAuthority(t.Context(), by, "clients", []byte(h.root.CertPEM()), certs.Create)
	h.must(err)
	h.must(h.https("two", 443, farm.TLS{Certificates: []string{"a.pem", "b.pem"}}))
	h.must(h.https("one", 444, farm.TLS{Certificates: []string{"a.pem"}}))
	h.must(h.https("closed", 445, farm.TLS{Certificates: []string{"b.pem"}, Clients: farm.ClientAuthOptional, ClientCA: "clients"}))
	h.must(h.https("backends", 446, farm.TLS{Certificates: []string{"b.pem"}}))
	h.must(h.change(func(cfg *farm.Config) error {
		cfg.Farm("backends").HTTP.Services[0].TLS = &farm.BackendTLS{CA: "clients", Verify: farm.VerifyCA}
		return nil
	}))
	h.must(h.https("shows", 447, farm.TLS{Certificates: []string{"b.pem"}}))
	h.must(h.change(func(cfg *farm.Config) error {
		cfg.Farm("shows").HTTP.Services[0].TLS = &farm.BackendTLS{Certificate: "a.pem"}
		return nil
	}))
	h.must(h.store.ChangeCertificates(nil, "a.pem")) // as after a partial restore
	h.must(h.store.DeleteAuthority("clients"))
	h.open()
	for name, stopped := range map[string]bool{"two": false, "one": true, "closed": true, "backends": true, "shows": false} {
		f := h.farm(name)
		if f.Stopped != stopped || (h.stops[f.ID] != "") != stopped {
			t.Errorf("%s: stopped %v, problem %q", name, f.Stopped, h.stops[f.ID])
		}
	}
	if f := h.farm("two"); strings.Join(f.HTTP.TLS.Certificates, " ") != "b.pem" {
		t.Errorf("two runs with %v", f.HTTP.TLS.Certificates)
	}
	if f := h.farm("shows"); f.HTTP.Services[0].TLS.Certificate != "" {
		t.Error("a certificate that is not there is named")
	}
	cfg, _ := h.applier.Current()
	if f := cfg.Farm("two"); len(f.HTTP.TLS.Certificates) != 2 || cfg.Farm("one").Stopped {
		t.Error("the configuration itself was changed")
	}
	if views := h.FarmCertificates(cfg.Farm("two")); len(views) != 2 || views[0].Status != certs.StatusInvalid || views[1].Status != certs.StatusValid {
		t.Errorf("%+v", views)
	}
}

// The private key exists only in the sealed memory for the engine.
func TestNoFileAndNoLogHasAPrivateKey(t *testing.T) {
	h := newHouse(t)
	leaf := h.root.Issue("shop.example")
	h.upload("shop", leaf.FullPEM(), certs.Create)
	h.must(h.https("shop", 443, farm.TLS{Certificates: []string{"shop.pem"}}))
	h.upload("shop", leaf.FullPEM(), certs.Replace)
	h.refusing("no")
	_, _, err := h.Upload(t.Context(), by, "shop", []byte(leaf.FullPEM()), certs.Replace)
	other := h.root.Issue("x.example")
	_, _, wrong := h.Upload(t.Context(), by, "x", []byte(other.CertPEM()+leaf.KeyPEM()), certs.Create)
	text := fmt.Sprint(err, wrong, h.log.String())
	der := leaf.KeyDER()
	secret := der[len(der)-100:]
	entries, _ := os.ReadDir(h.dir)
	for _, e := range entries {
		content, err := os.ReadFile(filepath.Join(h.dir, e.Name()))
		h.must(err)
		text += string(content)
	}
	if len(text) < 30000 {
		t.Fatal("too little text was searched")
	}
	for _, form := range []string{string(secret[20:60]), fmt.Sprintf("%x", secret[20:60]), base64.StdEncoding.EncodeToString(secret[1:61]), strings.Split(leaf.KeyPEM(), "\n")[1]} {
		if strings.Contains(text, form) {
			t.Errorf("the text contains the key as %q", form)
		}
	}
}

func TestTheApplianceCertificateCanBeUsedAndNotTouched(t *testing.T) {
	h := newHouse(t)
	own := h.root.Issue("lb.example")
	h.must(h.SetAppliance(own.TLS()))
	v, err := h.Get(certs.ApplianceName)
	if err != nil || !v.Appliance || v.Status != certs.StatusValid || v.CN != "lb.example" {
		t.Errorf("%v %+v", err, v)
	}
	h.must(h.https("shop", 443, farm.TLS{Certificates: []string{certs.ApplianceName}}))
	if got := h.inForce(certs.ApplianceName); got == nil || !bytes.Equal(got.Key, own.KeyDER()) {
		t.Errorf("in force: %v", got)
	}
	h.must(h.change(func(cfg *farm.Config) error { cfg.Farms = nil; return nil }))
	if err := h.Delete(t.Context(), by, certs.ApplianceName); err == nil || !strings.Contains(err.Error(), "belongs to the appliance") {
		t.Errorf("delete: %v", err)
	}
	for _, mode := range []certs.Mode{certs.Create, certs.Replace, certs.Put} {
		if _, _, err := h.Upload(t.Context(), by, "api", []byte(own.FullPEM()), mode); err == nil || !strings.Contains(err.Error(), "belongs to the appliance") {
			t.Errorf("upload: %v", err)
		}
	}
	if all, _ := h.store.Certificates(); len(all) != 0 {
		t.Error("it was written into the store")
	}
}

func TestStatusAndDaysLeft(t *testing.T) {
	h := newHouse(t)
	day := 24 * 60 * 60 * 1e9
	h.upload("shop", h.root.Issue("shop.example").FullPEM(), certs.Create)
	for _, c := range []struct {
		after  float64 // in days
		status certs.Status
		left   int
	}{{0, certs.StatusValid, 90}, {74, certs.StatusValid, 16}, {75, certs.StatusSoon, 15}, {89.5, certs.StatusSoon, 0}, {90, certs.StatusExpired, 0}, {91.5, certs.StatusExpired, -2}} {
		h.mu.Lock()
		h.clock = now.Add(time.Duration(c.after * day))
		h.mu.Unlock()
		if v, _ := h.Get("shop.pem"); v.Status != c.status || v.DaysLeft != c.left {
			t.Errorf("after %v days: %s, %d left", c.after, v.Status, v.DaysLeft)
		}
	}
	h.mu.Lock()
	h.clock = now.AddDate(0, 0, -1)
	h.mu.Unlock()
	if v, _ := h.Get("shop.pem"); v.Status != certs.StatusInvalid || !strings.Contains(v.Problem, "not valid before") {
		t.Errorf("before it began: %+v", v)
	}
}

// colons formats bytes like openssl.
func colons(b []byte) string { return strings.ReplaceAll(fmt.Sprintf("% X", b), " ", ":") }

// info returns the end of every certificate description.
func info(c *x509.Certificate) string {
	var b strings.Builder
	if len(c.SubjectKeyId) > 0 {
		fmt.Fprintf(&b, "    Subject Key Identifier: %s\n", colons(c.SubjectKeyId))
	}
	if len(c.AuthorityKeyId) > 0 {
		fmt.Fprintf(&b, "    Authority Key Identifier: %s\n", colons(c.AuthorityKeyId))
	}
	sum256, sum1 := sha256.Sum256(c.Raw), sha1.Sum(c.Raw)
	fmt.Fprintf(&b, "    SHA-256 Fingerprint: %s\n    SHA-1 Fingerprint: %s\n", colons(sum256[:]), colons(sum1[:]))
	return b.String()
}

func TestInfoDescribesTheCertificate(t *testing.T) {
	h := newHouse(t)
	mid := h.root.Intermediate("mid", func(c *x509.Certificate) { c.NotAfter = now.AddDate(0, 0, 10) })
	staple, _ := asn1.Marshal([]int{5})
	leaf := mid.Issue("shop.example", func(c *x509.Certificate) {
		c.Subject.Organization, c.DNSNames = []string{"Evil\x1b[31m\nName"}, []string{"shop.example", "www.example"}
		c.Subject.ExtraNames = []pkix.AttributeTypeAndValue{{Type: asn1.ObjectIdentifier{2, 5, 4, 4}, Value: "Smith"}}
		c.KeyUsage = 1<<9 - 1
		c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageOCSPSigning, x509.ExtKeyUsageIPSECUser}
		c.OCSPServer, c.CRLDistributionPoints, c.IssuingCertificateURL = []string{"http://ocsp.example"}, []string{"http://crl.example"}, []string{"http://ca.example"}
		c.ExtraExtensions = []pkix.Extension{{Id: asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 1, 24}, Value: staple}}
	})
	h.upload("shop", leaf.FullPEM(), certs.Create)
	f := fields()
	f.Names = []string{"www.new.example"}
	_, err := h.Request(t.Context(), by, "new", f)
	h.must(err)
	list, err := x509.ParseRevocationList(h.root.CRL(now.Add(-time.Hour), now.AddDate(0, 0, 7), big.NewInt(7)))
	h.must(err)
	h.authorities("clients", h.root.CertPEM()+certstest.PEM("X509 CRL", list.Raw), certs.Create)
	h.pass(8 * 24 * time.Hour)
	for _, c := range []struct {
		get        func(string) ([]byte, error)
		name, want string
	}{
		{h.Describe, "shop.pem", `Certificate:
    Version: 3
    Serial Number: ` + colons(leaf.Cert.SerialNumber.Bytes()) + `
    Signature Algorithm: ECDSA-SHA256
    Issuer: CN=mid
    Validity
        Not Before: 2026-01-02T02:04:05Z
        Not After : 2026-04-02T03:04:05Z (valid, 82 days left)
    Subject: CN=shop.example,O=Evil·[31m·Name,2.5.4.4=Smith
    Public Key: ECDSA P-256
    Subject Alternative Names: shop.example, www.example
    Key Usage: digital signature, content commitment, key encipherment, data encipherment, key agreement, certificate signing, CRL signing, encipher only, decipher only
    Extended Key Usage: TLS server, OCSP signing, other
    OCSP: http://ocsp.example
    CRL: http://crl.example
    Issuer's Certificate: http://ca.example
    TLS Feature: must staple
` + info(leaf.Cert) + `Certificate:
    Version: 3
    Serial Number: ` + colons(mid.Cert.SerialNumber.Bytes()) + `
    Signature Algorithm: ECDSA-SHA256
    Issuer: CN=root
    Validity
        Not Before: 2026-01-01T03:04:05Z
        Not After : 2026-01-12T03:04:05Z (about to expire, 2 days left)
    Subject: CN=mid
    Public Key: ECDSA P-256
    Authority: true
    Key Usage: digital signature, certificate signing, CRL signing
` + info(mid.Cert)},
		{h.Describe, "new.csr", `Certificate Request:
    Subject: CN=new.example,OU=Web,O=Example Ltd,L=Ulm,ST=Baden-Württemberg,C=DE,emailAddress=admin@example.com
    Public Key: RSA 2048
    Subject Alternative Names: new.example, www.new.example
    Signature Algorithm: SHA256-RSA
`},
		{h.DescribeAuthority, "clients", `Certificate:
    Version: 3
    Serial Number: ` + colons(h.root.Cert.SerialNumber.Bytes()) + `
    Signature Algorithm: ECDSA-SHA256
    Issuer: CN=root
    Validity
        Not Before: 2026-01-01T03:04:05Z
        Not After : 2036-01-02T03:04:05Z (valid, 3644 days left)
    Subject: CN=root
    Public Key: ECDSA P-256
    Authority: true
    Key Usage: digital signature, certificate signing, CRL signing
` + info(h.root.Cert) + `Certificate Revocation List:
    Issuer: CN=root
    Number: ` + list.Number.String() + `
    This Update: 2026-01-02T02:04:05Z
    Next Update: 2026-01-09T03:04:05Z (outdated)
    Revoked Certificates: 1
`},
	} {
		if text, err := c.get(c.name); err != nil || string(text) != c.want {
			t.Errorf("%s: %v\n%s\nwant\n%s", c.name, err, text, c.want)
		}
		if _, err := c.get("none.pem"); !errors.Is(err, certs.ErrNotFound) {
			t.Errorf("missing certificate: %v", err)
		}
	}
}
