package certs

import (
	"bytes"
	"crypto/x509"
	"encoding/asn1"
	"fmt"
	"sync"
)

// systemRoots returns the authorities trusted by the system, nil if unavailable.
var systemRoots = sync.OnceValue(func() *x509.CertPool {
	pool, err := x509.SystemCertPool()
	if err != nil {
		return nil
	}
	return pool
})

// missingIssuer names the issuer of the last certificate of a chain if it is an intermediate
// authority, which a server must send. Roots are optional, even private ones, because clients
// have them. It returns "" if the chain is complete as far as can be determined.
func (b *Book) missingIssuer(chain []*x509.Certificate) string {
	last := chain[len(chain)-1]
	if bytes.Equal(last.RawIssuer, last.RawSubject) {
		return ""
	}
	root, intermediate := b.listedIssuer(last)
	switch {
	case root:
		return ""
	case intermediate, belowIntermediate(last):
	case len(chain) > 1 || len(last.IssuingCertificateURL) == 0 || systemTrusts(last):
		// Certificates of intermediate authorities often contain the location of their root,
		// and server certificates the location of their intermediate.
		return ""
	}
	return nameOf(last.Issuer)
}

// listedIssuer looks for the issuer of a certificate in the authority lists.
func (b *Book) listedIssuer(of *x509.Certificate) (root, intermediate bool) {
	for _, list := range b.allAuthorities() {
		for _, c := range list.certs {
			if !bytes.Equal(c.RawSubject, of.RawIssuer) || of.CheckSignatureFrom(c) != nil {
				continue
			}
			if bytes.Equal(c.RawSubject, c.RawIssuer) {
				root = true
			} else {
				intermediate = true
			}
		}
	}
	return root, intermediate
}

// systemTrusts reports whether a system root issued a certificate.
func systemTrusts(c *x509.Certificate) bool {
	roots := systemRoots()
	if roots == nil {
		return false
	}
	// Use a date of validity, because expiry is reported elsewhere.
	_, err := c.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: c.NotAfter, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}})
	return err == nil
}

// authorityKey is the extension that identifies the issuer's certificate (RFC 5280
// §4.2.1.1).
type authorityKey struct {
	Key    []byte        `asn1:"optional,tag:0"`
	Issuer asn1.RawValue `asn1:"optional,tag:1"`
	Serial asn1.RawValue `asn1:"optional,tag:2"`
}

// directoryName is the tag of a distinguished name among an issuer's names.
const directoryName = 4

// belowIntermediate reports whether a certificate states that another authority signed its
// issuer, which is never the case for a root.
func belowIntermediate(c *x509.Certificate) bool {
	for _, e := range c.Extensions {
		var id authorityKey
		if !e.Id.Equal(asn1.ObjectIdentifier{2, 5, 29, 35}) {
			continue
		}
		if rest, err := asn1.Unmarshal(e.Value, &id); err != nil || len(rest) > 0 {
			return false
		}
		var name asn1.RawValue
		if _, err := asn1.Unmarshal(id.Issuer.Bytes, &name); err != nil || name.Class != asn1.ClassContextSpecific || name.Tag != directoryName {
			return false
		}
		return !bytes.Equal(name.Bytes, c.RawIssuer)
	}
	return false
}

// incomplete returns the warning about an upload without an intermediate certificate.
func incomplete(issuer string, leaf *x509.Certificate) string {
	text := fmt.Sprintf("the upload has no certificate of the issuer %s: unless that is a root that clients have, they refuse the certificate; upload it with the intermediate certificate", issuer)
	if len(leaf.IssuingCertificateURL) > 0 {
		text += " from " + clean(leaf.IssuingCertificateURL[0])
	}
	return text
}
