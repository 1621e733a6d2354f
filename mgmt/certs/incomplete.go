package certs

import (
	"bytes"
	"crypto/x509"
	"fmt"
	"sync"
)

// systemRoots are the authorities that the system trusts, nil without such a list.
var systemRoots = sync.OnceValue(func() *x509.CertPool {
	pool, err := x509.SystemCertPool()
	if err != nil {
		return nil
	}
	return pool
})

// missingIssuer names the issuer of a certificate that was uploaded alone, unless its clients
// may know that issuer: it is a root of the system or in a list of authorities. Blank: the
// chain is complete as far as can be seen. Of a longer chain the last issuer is taken for
// the root, which clients have.
func (b *Book) missingIssuer(chain []*x509.Certificate) string {
	leaf := chain[0]
	if len(chain) > 1 || bytes.Equal(leaf.RawIssuer, leaf.RawSubject) || b.knownIssuer(leaf) {
		return ""
	}
	return nameOf(leaf.Issuer)
}

// knownIssuer reports whether trust may begin right above a certificate.
func (b *Book) knownIssuer(leaf *x509.Certificate) bool {
	for _, list := range b.allAuthorities() {
		for _, c := range list.certs {
			if bytes.Equal(c.RawSubject, leaf.RawIssuer) && bytes.Equal(c.RawSubject, c.RawIssuer) && leaf.CheckSignatureFrom(c) == nil {
				return true
			}
		}
	}
	roots := systemRoots()
	if roots == nil {
		return false
	}
	// The date is one at which it is valid: expiry is reported elsewhere.
	_, err := leaf.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: leaf.NotAfter, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}})
	return err == nil
}

// incomplete is the warning about an upload without an intermediate certificate.
func incomplete(issuer string, leaf *x509.Certificate) string {
	text := fmt.Sprintf("the upload has no certificate of the issuer %s: unless that is a root that clients have, they refuse the certificate; upload it with the intermediate certificate", issuer)
	if len(leaf.IssuingCertificateURL) > 0 {
		text += " from " + clean(leaf.IssuingCertificateURL[0])
	}
	return text
}
