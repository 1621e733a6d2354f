package certs_test

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/mgmt/certs"
	"github.com/sluicelb/sluice/mgmt/certs/certstest"
)

// A certificate without its intermediate authority is reported. A missing root, known or
// unknown, is acceptable.
func TestAMissingIntermediateIsReported(t *testing.T) {
	h := newHouse(t)
	other := certstest.NewAuthority(t, "known root", now)
	if _, _, err := h.UploadAuthority(t.Context(), by, "known", []byte(other.CertPEM()), certs.Create); err != nil {
		t.Fatal(err)
	}
	mid := h.root.Intermediate("mid")
	leaf := mid.Issue("shop.example", func(c *x509.Certificate) { c.IssuingCertificateURL = []string{"http://ca.example/mid.crt"} })
	direct, known := h.root.Issue("shop.example"), other.Issue("shop.example")
	silent := mid.Issue("shop.example")
	named := mid.Issue("shop.example", withIssuer(t, mid.Cert))
	rooted := h.root.Issue("shop.example", withIssuer(t, h.root.Cert))
	low := mid.Intermediate("low", withIssuer(t, mid.Cert))
	deep := low.Issue("shop.example")
	above := other.Intermediate("listed mid")
	if _, _, err := h.UploadAuthority(t.Context(), by, "above", []byte(above.CertPEM()), certs.Create); err != nil {
		t.Fatal(err)
	}
	listed := above.Issue("shop.example")
	for name, c := range map[string]struct{ pem, issuer string }{
		"alone":          {leaf.CertPEM() + leaf.KeyPEM(), "mid"},
		"with it":        {leaf.CertPEM() + mid.CertPEM() + leaf.KeyPEM(), ""},
		"with the root":  {leaf.FullPEM() + h.root.CertPEM(), ""},
		"of a root":      {direct.CertPEM() + direct.KeyPEM(), ""}, // a private root, which clients have
		"without AIA":    {silent.CertPEM() + silent.KeyPEM(), ""}, // as far as can be determined
		"named by AKI":   {named.CertPEM() + named.KeyPEM(), "mid"},
		"AKI of a root":  {rooted.CertPEM() + rooted.KeyPEM(), ""},
		"half a chain":   {deep.CertPEM() + low.CertPEM() + deep.KeyPEM(), "mid"}, // low states that mid is not a root
		"a listed one":   {listed.CertPEM() + listed.KeyPEM(), "listed mid"},
		"of a known one": {known.CertPEM() + known.KeyPEM(), ""},
		"self-signed":    {h.root.CertPEM() + h.root.KeyPEM(), ""},
	} {
		v, warnings, err := h.Upload(t.Context(), by, "shop", []byte(c.pem), certs.Put)
		said := strings.Join(warnings, "; ")
		if err != nil || v.MissingIssuer != c.issuer || strings.Contains(said, "no certificate of the issuer "+c.issuer) != (c.issuer != "") || strings.Contains(said, "http://ca.example/mid.crt") != (name == "alone") {
			t.Errorf("%s: %q, %q, %v", name, v.MissingIssuer, said, err)
		}
	}
	// A list uploaded later shows that the issuer is a root.
	far := h.root.Issue("shop.example", func(c *x509.Certificate) { c.IssuingCertificateURL = []string{"http://ca.example/root.crt"} })
	if v := h.upload("direct", far.CertPEM()+far.KeyPEM(), certs.Create); v.MissingIssuer != "root" {
		t.Errorf("got %q, want %q", v.MissingIssuer, "root")
	}
	if _, _, err := h.UploadAuthority(t.Context(), by, "root", []byte(h.root.CertPEM()), certs.Create); err != nil {
		t.Fatal(err)
	}
	if v, err := h.Get("direct.pem"); err != nil || v.MissingIssuer != "" {
		t.Errorf("got %q, %v, want \"\"", v.MissingIssuer, err)
	}
}

// withIssuer identifies the issuer's certificate by its own issuer, like OpenSSL with
// authorityKeyIdentifier=issuer:always.
func withIssuer(t *testing.T, issuer *x509.Certificate) func(*x509.Certificate) {
	t.Helper()
	return func(c *x509.Certificate) {
		name, err := asn1.Marshal(asn1.RawValue{Class: asn1.ClassContextSpecific, Tag: 4, IsCompound: true, Bytes: issuer.RawIssuer})
		if err != nil {
			t.Fatal(err)
		}
		names, err := asn1.Marshal(asn1.RawValue{Class: asn1.ClassContextSpecific, Tag: 1, IsCompound: true, Bytes: name})
		if err != nil {
			t.Fatal(err)
		}
		value, err := asn1.Marshal(asn1.RawValue{Tag: asn1.TagSequence, IsCompound: true, Bytes: names})
		if err != nil {
			t.Fatal(err)
		}
		c.ExtraExtensions = append(c.ExtraExtensions, pkix.Extension{Id: asn1.ObjectIdentifier{2, 5, 29, 35}, Value: value})
	}
}
