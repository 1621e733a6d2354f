package tlsconf

import (
	"bytes"
	"crypto/x509"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/sluicelb/sluice/core/farm"
)

// Limits of a chain. OpenSSL rejects chains of more than 100 KiB, and every handshake
// sends the whole chain.
const (
	MaxChain      = 10
	MaxChainBytes = 100 << 10
	MaxNames      = 1000
)

// Info describes a certificate without its key.
type Info struct {
	// Names are the covered names in order: "www.example.com", "*.example.com",
	// addresses. They are empty if the certificate is only usable as the default.
	Names     []string
	Subject   string // of the leaf, in the format of RFC 2253
	Issuer    string
	Serial    string // hexadecimal
	NotBefore time.Time
	NotAfter  time.Time
	// Key is the kind and size of the key: "RSA 2048", "ECDSA P-256", "Ed25519".
	Key string
	// MustStaple means that clients reject the certificate without an OCSP staple.
	MustStaple bool

	patterns []pattern
	kind     keyKind
	flaws    []string // warnings that do not depend on the time
	chain    []*x509.Certificate
}

// Inspect parses a chain of DER certificates, leaf first, and describes it. It returns
// an error if no farm could use the chain: too long, unreadable, or with an unsupported
// kind or size of key. Expiry is not an error; see Warnings.
func Inspect(chain [][]byte) (*Info, error) {
	parsed, err := parseChain(chain)
	if err != nil {
		return nil, err
	}
	leaf := parsed[0]
	kind, key, err := keyOf(leaf)
	if err != nil {
		return nil, err
	}
	patterns := patternsOf(leaf)
	if len(patterns) > MaxNames {
		return nil, fmt.Errorf("it covers %d names: at most %d are accepted", len(patterns), MaxNames)
	}
	info := &Info{
		Subject: leaf.Subject.String(), Issuer: leaf.Issuer.String(), Serial: fmt.Sprintf("%x", leaf.SerialNumber),
		NotBefore: leaf.NotBefore, NotAfter: leaf.NotAfter, Key: key, MustStaple: mustStaple(leaf),
		patterns: patterns, kind: kind, flaws: flawsOf(parsed, patterns), chain: parsed,
	}
	for _, p := range patterns {
		info.Names = append(info.Names, p.String())
	}
	return info, nil
}

// CheckCertificate is Inspect plus a check of the private key. It must be usable in TLS
// and match the certificate.
func CheckCertificate(c *farm.Certificate) (*Info, error) {
	_, info, err := loadPair(c)
	return info, err
}

func parseChain(chain [][]byte) ([]*x509.Certificate, error) {
	size := 0
	for _, der := range chain {
		size += len(der)
	}
	switch {
	case len(chain) == 0:
		return nil, errors.New("it holds no certificate")
	case len(chain) > MaxChain:
		return nil, fmt.Errorf("its chain has %d certificates: at most %d are accepted", len(chain), MaxChain)
	case size > MaxChainBytes:
		return nil, fmt.Errorf("its chain has %d bytes: clients accept %d", size, MaxChainBytes)
	}
	parsed := make([]*x509.Certificate, len(chain))
	for i, der := range chain {
		c, err := x509.ParseCertificate(der)
		if err != nil {
			return nil, fmt.Errorf("certificate %d of its chain cannot be read: %w", i, err)
		}
		if _, _, err := keyOf(c); err != nil {
			return nil, fmt.Errorf("certificate %d of its chain: %w", i, err)
		}
		parsed[i] = c
	}
	return parsed, nil
}

// Covers reports whether the certificate covers name.
func (i *Info) Covers(name string) bool {
	ix := newIndex([][]pattern{i.patterns}, []keyKind{i.kind})
	exact, wildcard := ix.find(name)
	return len(exact)+len(wildcard) > 0
}

// DaysLeft returns the number of whole days of validity left; it is negative after
// expiry.
func (i *Info) DaysLeft(now time.Time) int {
	return int(math.Floor(i.NotAfter.Sub(now).Hours() / 24))
}

// Warnings returns the reasons why clients might reject the certificate at now. It is
// served nonetheless, because a bad certificate is better than none.
func (i *Info) Warnings(now time.Time) []string {
	var w []string
	if now.Before(i.NotBefore) {
		w = append(w, "it is not valid before "+day(i.NotBefore))
	}
	for n, c := range i.chain {
		if now.After(c.NotAfter) {
			w = append(w, fmt.Sprintf("%s expired on %s", which(n), day(c.NotAfter)))
		}
	}
	return append(w, i.flaws...)
}

func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }

func which(n int) string {
	if n == 0 {
		return "it"
	}
	return fmt.Sprintf("certificate %d of its chain", n)
}

// flawsOf returns the warnings that do not depend on the time.
func flawsOf(chain []*x509.Certificate, patterns []pattern) []string {
	var flaws []string
	leaf := chain[0]
	if len(patterns) == 0 {
		flaws = append(flaws, "it covers no name: only the first place of a list uses it")
	}
	if len(leaf.DNSNames)+len(leaf.IPAddresses) == 0 {
		flaws = append(flaws, "it has no subject alternative name: browsers refuse it")
	}
	if usages := leaf.ExtKeyUsage; len(usages)+len(leaf.UnknownExtKeyUsage) > 0 &&
		!slices.Contains(usages, x509.ExtKeyUsageServerAuth) && !slices.Contains(usages, x509.ExtKeyUsageAny) {
		flaws = append(flaws, "its extended key usage is not that of a server")
	}
	if leaf.KeyUsage != 0 && leaf.KeyUsage&x509.KeyUsageDigitalSignature == 0 {
		flaws = append(flaws, "its key usage does not allow signatures, which all but the RSA key exchange need")
	}
	for n, c := range chain {
		if _, key, _ := keyOf(c); rsaBits(c) > 0 && rsaBits(c) < comfortableRSA {
			flaws = append(flaws, fmt.Sprintf("%s has a short key: %s", which(n), key))
		}
		if selfIssued := bytes.Equal(c.RawSubject, c.RawIssuer); weakSignature(c) && !selfIssued {
			flaws = append(flaws, fmt.Sprintf("%s is signed with %s", which(n), c.SignatureAlgorithm))
		}
		if n > 0 && !bytes.Equal(chain[n-1].RawIssuer, c.RawSubject) {
			flaws = append(flaws, fmt.Sprintf("certificate %d of its chain did not issue the one before it: check the order", n))
		}
	}
	return flaws
}

func weakSignature(c *x509.Certificate) bool {
	switch c.SignatureAlgorithm {
	case x509.MD2WithRSA, x509.MD5WithRSA, x509.SHA1WithRSA, x509.ECDSAWithSHA1, x509.DSAWithSHA1:
		return true
	}
	return false
}

// mustStaple reports whether the certificate has the TLS feature status_request (RFC
// 7633).
func mustStaple(c *x509.Certificate) bool {
	for _, e := range c.Extensions {
		if e.Id.String() == "1.3.6.1.5.5.7.1.24" && bytes.Contains(e.Value, []byte{0x02, 0x01, 0x05}) {
			return true
		}
	}
	return false
}
