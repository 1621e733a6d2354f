package certs

import (
	"bytes"
	"crypto/x509"
	"slices"
	"time"

	"github.com/sluicelb/sluice/mgmt/store"
)

// Limits of an authority list.
const (
	// MaxAuthorityPEM bounds an upload of authorities in bytes, MaxCRL one of CRLs.
	MaxAuthorityPEM = 1 << 20
	MaxCRL          = 4 << 20
	// maxAuthorities and maxLists bound the certificates and CRLs of one list.
	maxAuthorities = 500
	maxLists       = 64
)

// authority is a list of certification authorities. It is immutable.
type authority struct {
	rec    store.Authority
	certs  []*x509.Certificate
	lists  []*x509.RevocationList
	broken error
}

func readAuthority(rec store.Authority) *authority {
	a := &authority{rec: rec}
	for _, der := range rec.Certificates {
		c, err := x509.ParseCertificate(der)
		if err != nil {
			a.broken = err
			return a
		}
		a.certs = append(a.certs, c)
	}
	for _, der := range rec.Revoked {
		l, err := x509.ParseRevocationList(der)
		if err != nil {
			a.broken = err
			return a
		}
		a.lists = append(a.lists, l)
	}
	return a
}

// parseAuthorities reads an upload of authorities and their optional CRLs.
func parseAuthorities(raw []byte, now time.Time) (certs []*x509.Certificate, lists []*x509.RevocationList, warnings []string, err error) {
	if len(raw) > MaxAuthorityPEM {
		return nil, nil, nil, invalid("the upload has %d bytes, at most %d are taken", len(raw), MaxAuthorityPEM)
	}
	p, err := split(trimmed(raw), maxAuthorities)
	if err != nil {
		return nil, nil, nil, err
	}
	if len(p.keys) > 0 {
		return nil, nil, nil, invalid("the upload has a private key: a list of authorities has certificates only, and is not kept as a secret")
	}
	if len(p.certificates) == 0 {
		return nil, nil, nil, invalid("the upload has no certificate in PEM: blocks begin with -----BEGIN CERTIFICATE-----")
	}
	if certs, err = parseChain(p.certificates); err != nil {
		return nil, nil, nil, err
	}
	for i, c := range certs {
		if !trustable(c) {
			return nil, nil, nil, invalid("certificate %d of the upload (%s) is neither an authority's nor self-signed: nothing can be verified by it", i+1, called(c))
		}
		switch statusAt(c, now) {
		case StatusExpired:
			warnings = append(warnings, "the certificate of "+called(c)+" has expired: nothing is verified by it")
		case StatusInvalid:
			warnings = append(warnings, "the certificate of "+called(c)+" is not valid yet")
		}
	}
	lists, err = parseLists(p.lists, certs, now)
	return certs, lists, warnings, err
}

// trustable reports whether a certificate can be a trust anchor: that of an authority, or a
// self-signed one, e.g. of a single server.
func trustable(c *x509.Certificate) bool {
	if c.BasicConstraintsValid && c.IsCA {
		return true
	}
	return bytes.Equal(c.RawSubject, c.RawIssuer) && c.CheckSignature(c.SignatureAlgorithm, c.RawTBSCertificate, c.Signature) == nil
}

// parseCRLs reads an upload of CRLs: PEM, or one in DER.
func parseCRLs(raw []byte, certs []*x509.Certificate, now time.Time) ([]*x509.RevocationList, error) {
	if len(raw) > MaxCRL {
		return nil, invalid("the upload has %d bytes, at most %d are taken", len(raw), MaxCRL)
	}
	ders := [][]byte{raw}
	if bytes.Contains(raw, []byte("-----BEGIN ")) {
		p, err := split(trimmed(raw), 0)
		if err != nil {
			return nil, err
		}
		if len(p.keys) > 0 {
			return nil, invalid("the upload has a private key: what is needed are CRLs")
		}
		ders = p.lists
	}
	if len(ders) == 0 || len(raw) == 0 {
		return nil, invalid("the upload has no CRL: blocks begin with -----BEGIN X509 CRL-----, and a single one may be DER")
	}
	return parseLists(ders, certs, now)
}

// parseLists reads CRLs, which must be signed by one of the authorities and be current. An
// outdated CRL would hide newer revocations.
func parseLists(ders [][]byte, certs []*x509.Certificate, now time.Time) ([]*x509.RevocationList, error) {
	if len(ders) > maxLists {
		return nil, invalid("the upload has %d CRLs, at most %d are taken", len(ders), maxLists)
	}
	var out []*x509.RevocationList
	for i, der := range ders {
		l, err := x509.ParseRevocationList(der)
		if err != nil {
			return nil, invalid("CRL %d of the upload cannot be read: %s", i+1, clean(err.Error()))
		}
		if signer(l, certs) == nil {
			return nil, invalid("CRL %d of the upload, of %s, was not signed by an authority of the list", i+1, nameOf(l.Issuer))
		}
		if outdated(l, now) {
			return nil, invalid("CRL %d of the upload, of %s, should have been replaced on %s: get the newest one", i+1, nameOf(l.Issuer), day(l.NextUpdate))
		}
		if slices.ContainsFunc(out, func(o *x509.RevocationList) bool { return bytes.Equal(o.RawIssuer, l.RawIssuer) }) {
			return nil, invalid("CRL %d of the upload is the second of %s: leave out the older one", i+1, nameOf(l.Issuer))
		}
		out = append(out, l)
	}
	return out, nil
}

func outdated(l *x509.RevocationList, now time.Time) bool {
	return !l.NextUpdate.IsZero() && !now.Before(l.NextUpdate)
}

// signer returns the authority that signed a CRL, nil if there is none.
func signer(l *x509.RevocationList, certs []*x509.Certificate) *x509.Certificate {
	for _, c := range certs {
		if bytes.Equal(c.RawSubject, l.RawIssuer) && l.CheckSignatureFrom(c) == nil {
			return c
		}
	}
	return nil
}

func rawCertificates(certs []*x509.Certificate) [][]byte {
	var out [][]byte
	for _, c := range certs {
		out = append(out, c.Raw)
	}
	return out
}

func rawLists(lists []*x509.RevocationList) [][]byte {
	var out [][]byte
	for _, l := range lists {
		out = append(out, l.Raw)
	}
	return out
}
