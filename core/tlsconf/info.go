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

// Bounds of a chain. OpenSSL refuses chains of more than 100 KiB; every
// handshake sends it whole.
const (
	MaxChain      = 10
	MaxChainBytes = 100 << 10
	MaxNames      = 1000
)

// Info is what can be told of a certificate without its key.
type Info struct {
	// Names are those it covers, in its order: "www.example.com",
	// "*.example.com", addresses. Empty when it can only be the default.
	Names     []string
	Subject   string // of the leaf, as RFC 2253 writes it
	Issuer    string
	Serial    string // hexadecimal
	NotBefore time.Time
	NotAfter  time.Time
	// Key is its kind and size: "RSA 2048", "ECDSA P-256", "Ed25519".
	Key string
	// MustStaple certificates are refused by clients that see no OCSP staple.
	MustStaple bool

	patterns []pattern
	kind     keyKind
	flaws    []string // what does not depend on the time
	chain    []*x509.Certificate
}

// Inspect reads a chain of DER certificates, leaf first, and tells what it
// covers. The error says why no farm could use it: too long, a key of a kind
// or size that is not supported, unreadable. Being expired is no error, see
// Warnings.
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

// CheckCertificate is Inspect and checks the private key too: of a kind TLS
// can use, and that of the certificate.
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

// Covers reports whether the certificate matches a name a client asks for.
func (i *Info) Covers(name string) bool {
	ix := newIndex([][]pattern{i.patterns}, []keyKind{i.kind})
	exact, wildcard := ix.find(name)
	return len(exact)+len(wildcard) > 0
}

// DaysLeft is how many whole days the certificate is valid for; negative once
// it has expired.
func (i *Info) DaysLeft(now time.Time) int {
	return int(math.Floor(i.NotAfter.Sub(now).Hours() / 24))
}

// Warnings are reasons why clients might refuse the certificate now. It is
// served nonetheless: a farm with a bad certificate is better off than none.
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

// flawsOf are the warnings that time does not change.
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

// mustStaple reports the TLS feature extension with status_request (RFC 7633).
func mustStaple(c *x509.Certificate) bool {
	for _, e := range c.Extensions {
		if e.Id.String() == "1.3.6.1.5.5.7.1.24" && bytes.Contains(e.Value, []byte{0x02, 0x01, 0x05}) {
			return true
		}
	}
	return false
}
