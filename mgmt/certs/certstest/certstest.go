// Package certstest creates certification authorities, certificates and an OCSP responder
// for tests.
package certstest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"software.sslmate.com/src/go-pkcs12"
)

var serial atomic.Int64

// Authority is a certification authority, or a certificate with its key.
type Authority struct {
	t    testing.TB
	Cert *x509.Certificate
	Key  crypto.Signer
	// Issuer is the signer; nil if self-signed.
	Issuer *Authority
}

// NewAuthority creates a root, valid from the day before now for ten years.
func NewAuthority(t testing.TB, name string, now time.Time) *Authority {
	t.Helper()
	return (&Authority{t: t}).issue(caTemplate(name, now), NewKey(t))
}

// NewKey creates an ECDSA key, which is cheap.
func NewKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func caTemplate(name string, now time.Time) *x509.Certificate {
	return &x509.Certificate{Subject: pkix.Name{CommonName: name}, NotBefore: now.AddDate(0, 0, -1), NotAfter: now.AddDate(10, 0, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign | x509.KeyUsageDigitalSignature}
}

// Intermediate creates a subordinate authority.
func (a *Authority) Intermediate(name string, change ...func(*x509.Certificate)) *Authority {
	a.t.Helper()
	template := caTemplate(name, a.Cert.NotBefore.AddDate(0, 0, 1))
	for _, f := range change {
		f(template)
	}
	return a.issue(template, NewKey(a.t))
}

// Issue creates a certificate for a host name, valid for 90 days; change may alter the
// template.
func (a *Authority) Issue(host string, change ...func(*x509.Certificate)) *Authority {
	a.t.Helper()
	return a.IssueFor(NewKey(a.t), host, change...)
}

// IssueFor is Issue for an existing key.
func (a *Authority) IssueFor(key crypto.Signer, host string, change ...func(*x509.Certificate)) *Authority {
	a.t.Helper()
	now := a.Cert.NotBefore.AddDate(0, 0, 1)
	template := &x509.Certificate{Subject: pkix.Name{CommonName: host}, NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(0, 0, 90),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	if addr := net.ParseIP(host); addr != nil {
		template.IPAddresses = []net.IP{addr}
	} else {
		template.DNSNames = []string{host}
	}
	for _, f := range change {
		f(template)
	}
	return a.issue(template, key)
}

// Sign issues the certificate requested by a CSR and returns it as PEM.
func (a *Authority) Sign(csr []byte, change ...func(*x509.Certificate)) string {
	a.t.Helper()
	block, _ := pem.Decode(csr)
	if block == nil {
		a.t.Fatalf("no CSR in %s", csr)
	}
	r, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		a.t.Fatal(err)
	}
	if err := r.CheckSignature(); err != nil {
		a.t.Fatal(err)
	}
	now := a.Cert.NotBefore.AddDate(0, 0, 1)
	template := &x509.Certificate{Subject: r.Subject, DNSNames: r.DNSNames, IPAddresses: r.IPAddresses, NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(0, 0, 90)}
	for _, f := range change {
		f(template)
	}
	return PEM("CERTIFICATE", a.sign(template, r.PublicKey).Raw)
}

func (a *Authority) issue(template *x509.Certificate, key crypto.Signer) *Authority {
	a.t.Helper()
	out := &Authority{t: a.t, Key: key}
	if a.Cert == nil { // a root signs itself
		out.Cert = template
		out.Cert = out.sign(template, key.Public())
		return out
	}
	out.Issuer = a
	out.Cert = a.sign(template, key.Public())
	return out
}

func (a *Authority) sign(template *x509.Certificate, pub crypto.PublicKey) *x509.Certificate {
	a.t.Helper()
	template.SerialNumber = big.NewInt(serial.Add(1))
	der, err := x509.CreateCertificate(rand.Reader, template, a.Cert, pub, a.Key)
	if err != nil {
		a.t.Fatal(err)
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return c
}

// CertPEM returns the certificate as PEM.
func (a *Authority) CertPEM() string { return PEM("CERTIFICATE", a.Cert.Raw) }

// KeyDER returns the private key in PKCS #8.
func (a *Authority) KeyDER() []byte {
	der, err := x509.MarshalPKCS8PrivateKey(a.Key)
	if err != nil {
		a.t.Fatal(err)
	}
	return der
}

// KeyPEM returns the private key as PEM.
func (a *Authority) KeyPEM() string { return PEM("PRIVATE KEY", a.KeyDER()) }

// ChainPEM returns the certificate and its issuers except the root.
func (a *Authority) ChainPEM() string {
	out := a.CertPEM()
	for up := a.Issuer; up != nil && up.Issuer != nil; up = up.Issuer {
		out += up.CertPEM()
	}
	return out
}

// FullPEM returns an upload: the chain and the key.
func (a *Authority) FullPEM() string { return a.ChainPEM() + a.KeyPEM() }

// PKCS12 returns the certificate with its chain and key as a PKCS #12 file.
func (a *Authority) PKCS12(t testing.TB, password string) []byte {
	t.Helper()
	var chain []*x509.Certificate
	for by := a.Issuer; by != nil && by.Issuer != nil; by = by.Issuer {
		chain = append(chain, by.Cert)
	}
	out, err := pkcs12.Modern.Encode(a.Key, a.Cert, chain, password)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// CRL returns a revocation list of this authority in DER.
func (a *Authority) CRL(thisUpdate, nextUpdate time.Time, revoked ...*big.Int) []byte {
	a.t.Helper()
	list := &x509.RevocationList{Number: big.NewInt(serial.Add(1)), ThisUpdate: thisUpdate, NextUpdate: nextUpdate}
	for _, number := range revoked {
		list.RevokedCertificateEntries = append(list.RevokedCertificateEntries, x509.RevocationListEntry{SerialNumber: number, RevocationTime: thisUpdate})
	}
	der, err := x509.CreateRevocationList(rand.Reader, list, a.Cert, a.Key)
	if err != nil {
		a.t.Fatal(err)
	}
	return der
}

// PEM encodes one block.
func PEM(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

// TLS returns the certificate for crypto/tls.
func (a *Authority) TLS() tls.Certificate {
	return tls.Certificate{Certificate: [][]byte{a.Cert.Raw}, PrivateKey: a.Key, Leaf: a.Cert}
}
