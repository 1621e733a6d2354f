package l7test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
)

// Certificate returns a self-signed certificate for the given host names, with an ECDSA
// P-256 key, or an RSA key if name is rsa.pem.
func Certificate(t testing.TB, name string, hosts ...string) farm.Certificate {
	t.Helper()
	var key crypto.Signer
	var err error
	if name == "rsa.pem" {
		key, err = rsa.GenerateKey(rand.Reader, 2048)
	} else {
		key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	}
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: name}, DNSNames: hosts,
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	chain, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return farm.Certificate{Name: name, Chain: [][]byte{chain}, Key: sealed}
}

// KeyPair returns the certificate for crypto/tls.
func KeyPair(t testing.TB, c farm.Certificate) tls.Certificate {
	t.Helper()
	key, err := x509.ParsePKCS8PrivateKey(c.Key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: c.Chain, PrivateKey: key}
}
