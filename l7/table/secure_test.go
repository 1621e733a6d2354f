package table_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/l7test"
)

func TestFarmsWithTLSGuardHostsAndCertificates(t *testing.T) {
	t.Parallel()
	p := newPlanner(t, nil, web())
	p.cfg.Certificates = []farm.Certificate{l7test.Certificate(t, "ec.pem", "a.test"), l7test.Certificate(t, "other.pem", "b.test")}
	p.edit(func(h *farm.HTTP) {
		h.TLS, h.Trusted = &farm.TLS{Certificates: []string{"ec.pem", "other.pem"}, StrictHost: true}, l7test.Networks("192.0.2.0/24")
	})
	p.secured, p.sni = true, "a.test"
	p.want("its own host", ask("GET", "/"), "web <- ")
	p.want("another's host", "GET / HTTP/1.1\r\nHost: b.test\r\n\r\n", "421 host of another certificate")
	p.want("without a host", "GET / HTTP/1.0\r\n\r\n", "web <- ")
	p.want("certificates of others", ask("GET", "/", "X-SSL-Subject: me"), "X-SSL-Subject: me\n")
	p.cfg.Authorities = []farm.Authority{{Name: "ca", Certificates: [][]byte{authority(t)}}}
	p.edit(func(h *farm.HTTP) { h.TLS.Clients, h.TLS.ClientCA = farm.ClientAuthOptional, "ca" })
	p.want("certificates of ours", ask("GET", "/", "X-SSL-Subject: me"), "!X-SSL-Subject")
	p.secured = false
	p.want("without TLS", "GET / HTTP/1.1\r\nHost: b.test\r\n\r\n", "web <- ")
}

// authority returns a CA certificate as DER.
func authority(t *testing.T) []byte {
	t.Helper()
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ca"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return der
}
