package certs

import (
	"bytes"
	"crypto/x509"
	"slices"
)

// Limits of names in certificates. Beyond them, a certificate only serves to overload
// verifiers.
const (
	maxNames       = 500
	maxConstraints = 500
)

// parseChain reads certificates without duplicates.
func parseChain(ders [][]byte) ([]*x509.Certificate, error) {
	var out []*x509.Certificate
	for i, der := range ders {
		c, err := x509.ParseCertificate(der)
		if err != nil {
			return nil, invalid("certificate %d of the upload cannot be read: %s", i+1, clean(err.Error()))
		}
		if problem := keyProblem(c.PublicKey); problem != "" {
			return nil, invalid("certificate %d of the upload (%s) is for %s: %s", i+1, called(c), problem, allowedKeys)
		}
		if n := len(c.DNSNames) + len(c.IPAddresses) + len(c.EmailAddresses) + len(c.URIs); n > maxNames {
			return nil, invalid("certificate %d of the upload (%s) has %d names, at most %d are taken", i+1, called(c), n, maxNames)
		}
		if n := constraints(c); n > maxConstraints {
			return nil, invalid("certificate %d of the upload (%s) has %d name constraints, at most %d are taken", i+1, called(c), n, maxConstraints)
		}
		if !slices.ContainsFunc(out, c.Equal) {
			out = append(out, c)
		}
	}
	return out, nil
}

func constraints(c *x509.Certificate) int {
	return len(c.PermittedDNSDomains) + len(c.ExcludedDNSDomains) + len(c.PermittedIPRanges) + len(c.ExcludedIPRanges) +
		len(c.PermittedEmailAddresses) + len(c.ExcludedEmailAddresses) + len(c.PermittedURIDomains) + len(c.ExcludedURIDomains)
}

// order sorts a chain as TLS requires (RFC 8446 §4.4.2): the leaf, then each certificate's
// issuer. An authority may have several certificates, signed by different authorities; the
// chain contains one, and the others are returned as twins. All other certificates are
// rejected.
func order(leaf *x509.Certificate, rest []*x509.Certificate) (chain, twins []*x509.Certificate, err error) {
	chain = []*x509.Certificate{leaf}
	for {
		last := chain[len(chain)-1]
		if bytes.Equal(last.RawIssuer, last.RawSubject) {
			break
		}
		i, err := issuerOf(last, rest)
		if err != nil {
			return nil, nil, err
		}
		if i < 0 {
			break
		}
		chain = append(chain, rest[i])
		rest = slices.Delete(rest, i, i+1)
	}
	for _, c := range rest {
		if !slices.ContainsFunc(chain[1:], func(in *x509.Certificate) bool {
			return bytes.Equal(in.RawSubject, c.RawSubject) && sameKey(in.PublicKey, c.PublicKey)
		}) {
			return nil, nil, invalid("the certificate of %s does not belong to the chain of %s: nothing in the upload was issued by it", called(c), called(leaf))
		}
	}
	return chain, rest, nil
}

// issuerOf finds the issuer of c. It prefers one whose own issuer is also present, i.e. the
// longer chain. It returns -1 if there is none.
func issuerOf(c *x509.Certificate, among []*x509.Certificate) (int, error) {
	found := -1
	var broken error
	for i, candidate := range among {
		if !bytes.Equal(candidate.RawSubject, c.RawIssuer) {
			continue
		}
		if err := c.CheckSignatureFrom(candidate); err != nil {
			broken = invalid("the certificate of %s names %s as its issuer, but was not signed by the one in the upload: %s", called(c), called(candidate), clean(err.Error()))
			continue
		}
		if found < 0 || bytes.Equal(among[found].RawIssuer, among[found].RawSubject) {
			found = i
		}
	}
	if found < 0 && broken != nil {
		return -1, broken
	}
	return found, nil
}
