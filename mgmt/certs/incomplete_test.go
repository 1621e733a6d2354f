package certs_test

import (
	"crypto/x509"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/mgmt/certs"
	"github.com/sluicelb/sluice/mgmt/certs/certstest"
)

// A certificate that comes without that of its issuer is reported, unless the issuer is a
// root that is known here, or the chain goes on above it.
func TestAMissingIntermediateIsReported(t *testing.T) {
	h := newHouse(t)
	other := certstest.NewAuthority(t, "known root", now)
	if _, _, err := h.UploadAuthority(t.Context(), by, "known", []byte(other.CertPEM()), certs.Create); err != nil {
		t.Fatal(err)
	}
	mid := h.root.Intermediate("mid")
	leaf := mid.Issue("shop.example", func(c *x509.Certificate) { c.IssuingCertificateURL = []string{"http://ca.example/mid.crt"} })
	direct, known := h.root.Issue("shop.example"), other.Issue("shop.example")
	for name, c := range map[string]struct{ pem, issuer string }{
		"alone":          {leaf.CertPEM() + leaf.KeyPEM(), "mid"},
		"with it":        {leaf.CertPEM() + mid.CertPEM() + leaf.KeyPEM(), ""},
		"with the root":  {leaf.FullPEM() + h.root.CertPEM(), ""},
		"of a root":      {direct.CertPEM() + direct.KeyPEM(), "root"}, // which nobody here knows as one
		"of a known one": {known.CertPEM() + known.KeyPEM(), ""},
		"self-signed":    {h.root.CertPEM() + h.root.KeyPEM(), ""},
	} {
		v, warnings, err := h.Upload(t.Context(), by, "shop", []byte(c.pem), certs.Put)
		said := strings.Join(warnings, "; ")
		if err != nil || v.MissingIssuer != c.issuer || strings.Contains(said, "no certificate of the issuer "+c.issuer) != (c.issuer != "") || strings.Contains(said, "http://ca.example/mid.crt") != (name == "alone") {
			t.Errorf("%s: %q, %q, %v", name, v.MissingIssuer, said, err)
		}
	}
	// A list of authorities that comes later says that the issuer is known.
	h.upload("direct", direct.CertPEM()+direct.KeyPEM(), certs.Create)
	if _, _, err := h.UploadAuthority(t.Context(), by, "root", []byte(h.root.CertPEM()), certs.Create); err != nil {
		t.Fatal(err)
	}
	if v, err := h.Get("direct.pem"); err != nil || v.MissingIssuer != "" {
		t.Errorf("%q, %v", v.MissingIssuer, err)
	}
}
