package certs_test

import (
	"bytes"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/certs"
	"github.com/sluicelb/sluice/mgmt/certs/certstest"
	"github.com/sluicelb/sluice/mgmt/store"
)

func (h *house) authorities(name, pem string, mode certs.Mode) (certs.AuthorityView, []string) {
	h.t.Helper()
	v, warnings, err := h.UploadAuthority(h.t.Context(), by, name, []byte(pem), mode)
	if err != nil {
		h.t.Fatal(err)
	}
	return v, warnings
}

func crl(a *certstest.Authority, revoked ...*big.Int) string {
	return certstest.PEM("X509 CRL", a.CRL(now.Add(-time.Hour), now.AddDate(0, 0, 7), revoked...))
}

func (h *house) list(name string) *farm.Authority {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range h.took.Authorities {
		if h.took.Authorities[i].Name == name {
			return &h.took.Authorities[i]
		}
	}
	return nil
}

func TestAuthoritiesAreListedAndOutliveTheProcess(t *testing.T) {
	h := newHouse(t)
	other := certstest.NewAuthority(t, "other", now)
	h.authorities("clients.pem", h.root.CertPEM()+other.CertPEM()+crl(h.root, big.NewInt(7), big.NewInt(8)), certs.Create)
	for range 2 {
		v, err := h.Authority("clients")
		if err != nil || len(v.Certificates) != 2 || v.Certificates[0].CN != "root" || v.Status != certs.StatusValid || v.Author != "root" ||
			len(v.CRLs) != 1 || v.CRLs[0].Entries != 2 || v.CRLs[0].Issuer != "root" || v.CRLs[0].Outdated || v.Problem != "" {
			t.Errorf("%v %+v", err, v)
		}
		h.open()
	}
	pem, err := h.DownloadAuthority("clients")
	if err != nil || !strings.HasPrefix(string(pem), h.root.CertPEM()+other.CertPEM()+"-----BEGIN X509 CRL-----") {
		t.Errorf("%v\n%s", err, pem)
	}
	text, err := h.DescribeAuthority("clients")
	if err != nil || !strings.Contains(string(text), "Subject: CN=other") || !strings.Contains(string(text), "Revoked Certificates: 2") {
		t.Errorf("%v\n%s", err, text)
	}
	if !strings.Contains(h.log.String(), `msg="authorities uploaded" name=clients by=root source=cli certificates=2 crls=1`) {
		t.Errorf("log:\n%s", h.log)
	}
	h.pass(8 * 24 * time.Hour)
	if v, _ := h.Authority("clients"); !v.CRLs[0].Outdated || !strings.Contains(v.Problem, "CRL of root is outdated since 2026-01-09") {
		t.Errorf("%+v", v)
	}
	h.Look(t.Context())
	if !strings.Contains(h.log.String(), `msg="authorities need care" name=clients`) {
		t.Errorf("log:\n%s", h.log)
	}
}

func TestInvalidAuthorityListsAreRefused(t *testing.T) {
	h := newHouse(t)
	leaf := h.root.Issue("shop.example")
	twice := crl(h.root) + crl(h.root)
	for name, c := range map[string]struct{ text, says string }{
		"empty":        {"", "no certificate in PEM"},
		"damaged":      {h.root.CertPEM() + certstest.PEM("CERTIFICATE", h.root.Cert.Raw[1:]), "certificate 2 of the upload"},
		"a key":        {leaf.FullPEM(), "private key"},
		"a server":     {leaf.CertPEM(), "neither an authority's nor self-signed"},
		"its own name": {certstest.NewAuthority(t, "shop.example", now).Issue("shop.example").CertPEM(), "neither an authority's nor self-signed"},
		"too large":    {strings.Repeat("x", certs.MaxAuthorityPEM+1), "at most 1048576"},
		"too many":     {strings.Repeat(h.root.CertPEM(), 501), "more than 500 certificates"},
		"foreign CRL":  {h.root.CertPEM() + crl(certstest.NewAuthority(t, "other", now)), "of other, was not signed by an authority of the list"},
		"forged CRL":   {h.root.CertPEM() + crl(certstest.NewAuthority(t, "root", now)), "was not signed"},
		"old CRL":      {h.root.CertPEM() + certstest.PEM("X509 CRL", h.root.CRL(now.AddDate(0, 0, -9), now.AddDate(0, 0, -2))), "should have been replaced on 2025-12-31"},
		"two CRLs":     {h.root.CertPEM() + twice, "second of root"},
		"broken CRL":   {h.root.CertPEM() + certstest.PEM("X509 CRL", []byte("x")), "CRL 1 of the upload cannot be read"},
	} {
		var refused *certs.Error
		if _, _, err := h.UploadAuthority(t.Context(), by, "x", []byte(c.text), certs.Create); !errors.As(err, &refused) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if len(h.Authorities()) != 0 {
		t.Error("something was kept")
	}
	_, warnings := h.authorities("x", h.root.CertPEM()+h.root.Intermediate("gone", func(c *x509.Certificate) { c.NotAfter = now }).CertPEM(), certs.Create)
	_, more := h.authorities("y", h.root.CertPEM()+h.root.Intermediate("early", func(c *x509.Certificate) { c.NotBefore = now.Add(time.Hour) }).CertPEM(), certs.Create)
	if len(more) != 1 || !strings.Contains(more[0], "early is not valid yet") {
		t.Errorf("warnings %v", more)
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0], "gone has expired") {
		t.Errorf("warnings %v", warnings)
	}
	var sixtyFive string
	for i := range 65 {
		a := certstest.NewAuthority(t, fmt.Sprint("authority ", i), now)
		sixtyFive += a.CertPEM() + crl(a)
		if i == 63 {
			h.authorities("lists", sixtyFive, certs.Create)
		}
	}
	if _, _, err := h.UploadAuthority(t.Context(), by, "more", []byte(sixtyFive), certs.Create); err == nil || !strings.Contains(err.Error(), "65 CRLs, at most 64") {
		t.Errorf("65 CRLs: %v", err)
	}
	large := h.root.CertPEM() + strings.Repeat("x", certs.MaxAuthorityPEM-len(h.root.CertPEM()))
	h.authorities("large", large, certs.Create)
	alone := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "one server"}, NotBefore: now.AddDate(0, 0, -1), NotAfter: now.AddDate(1, 0, 0)}
	key := certstest.NewKey(t)
	self, err := x509.CreateCertificate(rand.Reader, alone, alone, key.Public(), key)
	h.must(err)
	h.authorities("pinned", certstest.PEM("CERTIFICATE", self), certs.Create)
}

// CRLs that the engine cannot use, e.g. delta CRLs, are rejected. A damaged list is
// reported by name, and cannot be used or get CRLs. A missing list is not found.
func TestADamagedListOfAuthoritiesIsNamed(t *testing.T) {
	h := newHouse(t)
	root := h.root.Cert.Raw
	for name, rec := range map[string]store.Authority{
		"certificate": {Certificates: [][]byte{root, root[:100]}}, "crl": {Certificates: [][]byte{root}, Revoked: [][]byte{[]byte("x")}},
	} {
		rec.Name = name
		h.must(h.store.PutAuthority(rec))
		h.open()
		if v, err := h.Authority(name); err != nil || v.Status != certs.StatusInvalid || !strings.Contains(v.Problem, "upload it again") {
			t.Errorf("%s: %+v, %v", name, v, err)
		}
		if h.AuthorityExists(name) || h.AuthorityExists("none") {
			t.Errorf("%s: it can be used", name)
		}
		if _, err := h.ReplaceCRLs(t.Context(), by, name, []byte(crl(h.root))); err == nil || !strings.Contains(err.Error(), "upload it again") {
			t.Errorf("%s: it gets CRLs: %v", name, err)
		}
		if err := h.https("shop", 443, farm.TLS{Certificates: []string{certs.ApplianceName}, ClientCA: name}); err == nil {
			t.Errorf("%s: a farm names it", name)
		}
		if !strings.Contains(h.log.String(), `msg="authority list cannot be used" name=`+name) {
			t.Errorf("%s: log:\n%s", name, h.log)
		}
	}
	_, view := h.Authority("none")
	_, download := h.DownloadAuthority("none")
	_, describe := h.DescribeAuthority("none")
	_, certificate := h.Download("none.pem")
	for what, err := range map[string]error{"view": view, "download": download, "describe": describe, "certificate": certificate, "delete": h.DeleteAuthority(t.Context(), by, "none")} {
		if !errors.Is(err, certs.ErrNotFound) {
			t.Errorf("%s of a missing list: %v", what, err)
		}
	}
}

// If the disk rejects a deletion, the list stays and remains in use.
func TestFailedDeletionKeepsTheObject(t *testing.T) {
	h := newHouse(t)
	h.upload("shop", h.root.Issue("shop.example").FullPEM(), certs.Create)
	h.authorities("clients", h.root.CertPEM(), certs.Create)
	h.must(h.store.Close())
	if err := h.Delete(t.Context(), by, "shop.pem"); err == nil || !h.Exists("shop.pem") {
		t.Errorf("certificate: %v", err)
	}
	if err := h.DeleteAuthority(t.Context(), by, "clients"); err == nil || !h.AuthorityExists("clients") {
		t.Errorf("authorities: %v", err)
	}
}

// crowded is a store that is almost full of certificates and lists.
type crowded struct {
	*store.Store
	root []byte
}

func (c crowded) Certificates() (all []store.Certificate, err error) {
	for n := range certs.MaxCertificates - 1 {
		all = append(all, store.Certificate{Name: fmt.Sprint(n, ".pem"), Chain: [][]byte{c.root}})
	}
	return all, nil
}

func (c crowded) Authorities() (all []store.Authority, err error) {
	for n := range certs.MaxAuthorities - 1 {
		all = append(all, store.Authority{Name: fmt.Sprint(n), Certificates: [][]byte{c.root}})
	}
	return all, nil
}

func TestCertificatesAreLimited(t *testing.T) {
	if certs.MaxCertificates != 4096 || certs.MaxAuthorities != 256 {
		t.Errorf("%d certificates and %d lists are possible", certs.MaxCertificates, certs.MaxAuthorities)
	}
	h := newHouse(t)
	book, err := certs.Open(crowded{h.store, h.root.Cert.Raw}, certs.Options{Dir: h.dir, Now: h.now})
	h.must(err)
	h.Manager = certs.NewManager(book, h.applier)
	pem := h.root.Issue("shop.example").FullPEM()
	h.upload("last", pem, certs.Create)
	h.authorities("last", h.root.CertPEM(), certs.Create)
	_, _, upload := h.Upload(t.Context(), by, "more", []byte(pem), certs.Create)
	_, request := h.Request(t.Context(), by, "more", fields())
	_, _, list := h.UploadAuthority(t.Context(), by, "more", []byte(h.root.CertPEM()), certs.Create)
	for what, err := range map[string]error{"upload": upload, "request": request, "list": list} {
		if !errors.Is(err, certs.ErrFull) {
			t.Errorf("%s: %v", what, err)
		}
	}
	h.upload("last", pem, certs.Replace)
	h.authorities("last", h.root.CertPEM(), certs.Replace)
}

func TestUnusableCertificatesAreRefused(t *testing.T) {
	h := newHouse(t)
	delta, err := x509.CreateRevocationList(rand.Reader, &x509.RevocationList{Number: big.NewInt(9), ThisUpdate: now, NextUpdate: now.AddDate(0, 0, 7),
		ExtraExtensions: []pkix.Extension{{Id: asn1.ObjectIdentifier{2, 5, 29, 27}, Critical: true, Value: []byte{2, 1, 1}}}}, h.root.Cert, h.root.Key)
	h.must(err)
	var refused *certs.Error
	_, _, err = h.UploadAuthority(t.Context(), by, "x", []byte(h.root.CertPEM()+certstest.PEM("X509 CRL", delta)), certs.Create)
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "no farm could use the authority list") {
		t.Errorf("got %v", err)
	}
	long := h.root.Issue("long.example", func(c *x509.Certificate) {
		c.ExtraExtensions = []pkix.Extension{{Id: asn1.ObjectIdentifier{1, 2, 3}, Value: make([]byte, 110<<10)}}
	})
	if _, err := certs.Parse([]byte(long.FullPEM()), now); !errors.As(err, &refused) || !strings.Contains(err.Error(), "no farm could use the certificate") {
		t.Errorf("got %v", err)
	}
}

func TestACRLIsReplacedWhileFarmsRun(t *testing.T) {
	h := newHouse(t)
	h.upload("shop", h.root.Issue("shop.example").FullPEM(), certs.Create)
	h.authorities("clients", h.root.CertPEM()+crl(h.root), certs.Create)
	h.must(h.https("shop", 443, farm.TLS{Certificates: []string{"shop.pem"}, Clients: farm.ClientAuthRequired, ClientCA: "clients"}))
	der := h.root.CRL(now, now.AddDate(0, 0, 7), big.NewInt(42))
	v, err := h.ReplaceCRLs(t.Context(), by, "clients", der)
	if err != nil || v.CRLs[0].Entries != 1 || !bytes.Equal(h.list("clients").Revoked[0], der) {
		t.Fatalf("%v %+v", err, v)
	}
	if !strings.Contains(h.log.String(), `msg="CRLs replaced" name=clients by=root source=cli crls=1`) {
		t.Errorf("log:\n%s", h.log)
	}
	h.refusing("too many")
	if _, err := h.ReplaceCRLs(t.Context(), by, "clients", []byte(crl(h.root))); err == nil || !strings.Contains(err.Error(), "too many") {
		t.Errorf("got %v", err)
	}
	h.refusing("")
	if v, _ := h.Authority("clients"); v.CRLs[0].Entries != 1 {
		t.Error("the refused CRL is in the list")
	}
	for says, raw := range map[string][]byte{"no CRL": {}, "at most 4194304": make([]byte, certs.MaxCRL+1), "CRL 1 of the upload cannot": make([]byte, certs.MaxCRL), "cannot be read": []byte("rubbish"), "has no CRL": []byte(certstest.PEM("DH PARAMETERS", nil)), "more than 0 certificates": []byte(h.root.CertPEM()), "private key": []byte(h.root.KeyPEM())} {
		if _, err := h.ReplaceCRLs(t.Context(), by, "clients", raw); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: got %v", says, err)
		}
	}
	h.open()
	if got := h.list("clients"); !bytes.Equal(got.Revoked[0], der) {
		t.Error("the CRL was not kept")
	}
	if _, err := h.ReplaceCRLs(t.Context(), by, "clients", nil); err != nil || len(h.list("clients").Revoked) != 0 {
		t.Errorf("removal of the CRLs: %v", err)
	}
	if _, err := h.ReplaceCRLs(t.Context(), by, "none", der); !errors.Is(err, certs.ErrNotFound) {
		t.Errorf("got %v", err)
	}
}

func TestReplacedListKeepsCRLsOfRemainingAuthorities(t *testing.T) {
	h := newHouse(t)
	other := certstest.NewAuthority(t, "other", now)
	h.authorities("clients", h.root.CertPEM()+other.CertPEM()+crl(h.root)+crl(other, big.NewInt(1)), certs.Create)
	if _, _, err := h.UploadAuthority(t.Context(), by, "clients", []byte(other.CertPEM()), certs.Create); !errors.Is(err, certs.ErrExists) {
		t.Errorf("got %v", err)
	}
	v, warnings := h.authorities("clients", other.CertPEM(), certs.Replace)
	if len(v.CRLs) != 1 || v.CRLs[0].Issuer != "other" || len(warnings) != 1 || !strings.Contains(warnings[0], "CRL of root went") {
		t.Errorf("%+v %v", v.CRLs, warnings)
	}
	if v, _ := h.authorities("clients", other.CertPEM()+crl(other), certs.Put); v.CRLs[0].Entries != 0 {
		t.Error("the CRL of the upload was ignored")
	}
	if _, _, err := h.UploadAuthority(t.Context(), by, "none", []byte(other.CertPEM()), certs.Replace); !errors.Is(err, certs.ErrNotFound) {
		t.Errorf("got %v", err)
	}
}
