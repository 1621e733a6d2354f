package certs

import (
	"crypto"
	"crypto/rsa"
	"crypto/x509"
	"fmt"
	"slices"
	"time"

	"github.com/sluicelb/sluice/core/tlsconf"
)

// Bundle is a valid upload: a chain, leaf first, and the key.
type Bundle struct {
	Chain []*x509.Certificate
	// Key is nil if the upload had none and one of the known keys fits.
	Key crypto.Signer
	// Known is the position of that key, valid only if Key is nil.
	Known int
	// Warnings are about accepted but probably unintended content.
	Warnings []string
}

// Leaf returns the leaf certificate.
func (b *Bundle) Leaf() *x509.Certificate { return b.Chain[0] }

// Parse reads an upload: PEM blocks in any order with a certificate, its chain and its
// private key. The key may be missing if it is one of known, the public keys of local CSRs.
// It rejects what could not serve clients at time now; the error is an *Error.
func Parse(raw []byte, now time.Time, known ...crypto.PublicKey) (*Bundle, error) {
	if len(raw) > MaxPEM {
		return nil, invalid("the upload has %d bytes, at most %d are taken", len(raw), MaxPEM)
	}
	p, err := split(trimmed(raw), MaxChain)
	if err != nil {
		return nil, err
	}
	if len(p.lists) > 0 {
		return nil, invalid("the upload has a CRL: those belong to the authorities that clients are verified by (/certificates/ca)")
	}
	if len(p.certificates) == 0 {
		return nil, invalid("the upload has no certificate in PEM: blocks begin with -----BEGIN CERTIFICATE-----")
	}
	out := &Bundle{}
	if len(p.keys) == 1 { // read first: problems of keys are more frequent than problems of certificates
		if out.Key, err = parseKey(p.keys[0]); err != nil {
			return nil, err
		}
	}
	certificates, err := parseChain(p.certificates)
	if err != nil {
		return nil, err
	}
	leaf, err := out.findLeaf(certificates, known)
	if err != nil {
		return nil, err
	}
	rest := slices.Delete(slices.Clone(certificates), leaf, leaf+1)
	if out.Chain, rest, err = order(certificates[leaf], rest); err != nil {
		return nil, err
	}
	for _, c := range rest {
		out.warn("one of two certificates of " + called(c) + " was left out, the one issued by " + nameOf(c.Issuer))
	}
	return out, out.check(now)
}

// findLeaf returns the position of the certificate that the key belongs to.
func (b *Bundle) findLeaf(certificates []*x509.Certificate, known []crypto.PublicKey) (int, error) {
	leaf := -1
	for i, c := range certificates {
		fits := -1
		if b.Key != nil {
			if sameKey(b.Key.Public(), c.PublicKey) {
				fits = 0
			}
		} else {
			fits = slices.IndexFunc(known, func(k crypto.PublicKey) bool { return sameKey(k, c.PublicKey) })
		}
		if fits < 0 {
			continue
		}
		if leaf >= 0 {
			return -1, invalid("two certificates of the upload (%s, %s) belong to the key: leave out the older one", called(certificates[leaf]), called(c))
		}
		leaf, b.Known = i, fits
	}
	switch {
	case leaf >= 0:
		return leaf, nil
	case b.Key != nil:
		return -1, invalid("the private key does not belong to the certificate of %s", called(certificates[0]))
	}
	return -1, invalid("the upload has no private key, and the certificate of %s is none for a key that was made here with a CSR", called(certificates[0]))
}

// check rejects a bundle that could not serve clients, by the engine's rules and by date.
func (b *Bundle) check(now time.Time) error {
	for _, c := range b.Chain {
		if !now.Before(c.NotAfter) {
			return invalid("the certificate of %s expired on %s", called(c), day(c.NotAfter))
		}
	}
	info, err := tlsconf.Inspect(rawCertificates(b.Chain))
	if err != nil {
		return invalid("no farm could use the certificate: %s", clean(err.Error()))
	}
	for _, text := range info.Warnings(now) {
		b.warn(clean("the certificate: " + text))
	}
	for _, c := range b.Chain {
		if k, is := c.PublicKey.(*rsa.PublicKey); is && k.N.BitLen() < strongRSA {
			b.warn(fmt.Sprintf("the RSA key of %s has %d bits, and many clients refuse fewer than %d: use RSA 2048 or ECDSA P-256", called(c), k.N.BitLen(), strongRSA))
		}
	}
	if days := daysLeft(b.Leaf(), now); days <= soon {
		b.warn("the certificate expires on " + day(b.Leaf().NotAfter))
	}
	return nil
}

func (b *Bundle) warn(text string) { b.Warnings = append(b.Warnings, text) }

func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }
