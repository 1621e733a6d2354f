package tlsconf_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
)

// ca is a certification authority for tests.
type ca struct {
	t    testing.TB
	cert *x509.Certificate
	key  crypto.Signer
}

var (
	rsa2048 = sync.OnceValue(func() crypto.Signer { return must(rsa.GenerateKey(rand.Reader, 2048)) })
	rsa1024 = sync.OnceValue(func() crypto.Signer { return must(rsa.GenerateKey(rand.Reader, 1024)) })
	serials atomic.Int64
)

func p256() crypto.Signer { return must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)) }
func p384() crypto.Signer { return must(ecdsa.GenerateKey(elliptic.P384(), rand.Reader)) }
func edwards() crypto.Signer {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	return must(key, err)
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func newCA(t testing.TB, name string, change ...func(*x509.Certificate)) *ca {
	t.Helper()
	key := p256()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serials.Add(1)), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(1000 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
	for _, c := range change {
		c(template)
	}
	der := must(x509.CreateCertificate(rand.Reader, template, template, key.Public(), key))
	return &ca{t, must(x509.ParseCertificate(der)), key}
}

// below returns an authority whose certificate c signed.
func (c *ca) below(name string) *ca {
	key := p256()
	der := c.sign(key.Public(), func(x *x509.Certificate) {
		x.Subject.CommonName, x.DNSNames = name, nil
		x.IsCA, x.BasicConstraintsValid, x.KeyUsage, x.ExtKeyUsage = true, true, x509.KeyUsageCertSign|x509.KeyUsageCRLSign, nil
	})
	return &ca{c.t, must(x509.ParseCertificate(der)), key}
}

func (c *ca) sign(key crypto.PublicKey, change ...func(*x509.Certificate)) []byte {
	c.t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serials.Add(1)),
		NotBefore:    time.Now().Add(-time.Hour), NotAfter: time.Now().Add(100 * time.Hour),
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for _, f := range change {
		f(template)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, c.cert, key, c.key)
	if err != nil {
		c.t.Fatal(err)
	}
	return der
}

func dns(names ...string) func(*x509.Certificate) {
	return func(c *x509.Certificate) { c.DNSNames = names }
}

func common(name string) func(*x509.Certificate) {
	return func(c *x509.Certificate) { c.Subject.CommonName = name }
}

func address(ip string) func(*x509.Certificate) {
	return func(c *x509.Certificate) { c.IPAddresses = append(c.IPAddresses, net.ParseIP(ip)) }
}

func ended(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }

func pkcs8(key crypto.Signer) []byte { return must(x509.MarshalPKCS8PrivateKey(key)) }

// issue returns a certificate entry of a snapshot.
func (c *ca) issue(name string, key crypto.Signer, change ...func(*x509.Certificate)) farm.Certificate {
	return farm.Certificate{Name: name, Chain: [][]byte{c.sign(key.Public(), change...)}, Key: pkcs8(key)}
}

// authority returns an authority entry of a snapshot with c's certificate.
func (c *ca) authority(name string, crls ...[]byte) farm.Authority {
	return farm.Authority{Name: name, Certificates: [][]byte{c.cert.Raw}, Revoked: crls}
}

// crl returns a CRL with the given certificates, valid from an hour ago.
func (c *ca) crl(until time.Time, revoked ...[]byte) []byte {
	c.t.Helper()
	return c.crlFrom(time.Now().Add(-time.Hour), until, nil, revoked...)
}

func (c *ca) crlFrom(from, until time.Time, extensions []pkix.Extension, revoked ...[]byte) []byte {
	c.t.Helper()
	list := &x509.RevocationList{Number: big.NewInt(serials.Add(1)), ThisUpdate: from, NextUpdate: until, ExtraExtensions: extensions}
	for _, der := range revoked {
		list.RevokedCertificateEntries = append(list.RevokedCertificateEntries,
			x509.RevocationListEntry{SerialNumber: must(x509.ParseCertificate(der)).SerialNumber, RevocationTime: from})
	}
	der, err := x509.CreateRevocationList(rand.Reader, list, c.cert, c.key)
	if err != nil {
		c.t.Fatal(err)
	}
	return der
}

func (c *ca) pool() *x509.CertPool {
	p := x509.NewCertPool()
	p.AddCert(c.cert)
	return p
}

// clock is a clock set by tests.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func newClock() *clock { return &clock{at: time.Now()} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

func indexed(format string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf(format, i)
	}
	return out
}
