package certs

import (
	"bytes"
	"crypto/x509"
	"encoding/asn1"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/crypto/ocsp"
)

// idFeature is the extension TLS feature (RFC 7633); feature 5 requires stapling.
var idFeature = asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 1, 24}

const featureStaple = 5

func mustStaple(c *x509.Certificate) bool {
	for _, ext := range c.Extensions {
		if !ext.Id.Equal(idFeature) {
			continue
		}
		var features []int
		if _, err := asn1.Unmarshal(ext.Value, &features); err == nil && slices.Contains(features, featureStaple) {
			return true
		}
	}
	return false
}

// issuer returns the certificate that signed the leaf, nil if the chain lacks it.
func (e *entry) issuer() *x509.Certificate {
	if len(e.chain) < 2 || !bytes.Equal(e.chain[0].RawIssuer, e.chain[1].RawSubject) {
		return nil
	}
	return e.chain[1]
}

// stapled reports whether the certificate has a responder to query.
func (e *entry) stapled() bool {
	return e.broken == nil && e.request == nil && len(e.chain[0].OCSPServer) > 0 && e.issuer() != nil
}

// readStaple parses a stored response. It returns nil unless it is valid for this
// certificate.
func (e *entry) readStaple(der []byte) *ocsp.Response {
	issuer := e.issuer()
	if len(der) == 0 || issuer == nil {
		return nil
	}
	r, err := parseResponse(der, e.chain[0], issuer)
	if err != nil || r.Status != ocsp.Good {
		return nil
	}
	return r
}

// freshStaple returns the response to send at time now, nil if there is none. Clients treat
// an outdated one as an error.
func (e *entry) freshStaple(now time.Time) []byte {
	if e.staple == nil || ended(e.staple, now) {
		return nil
	}
	return e.rec.Staple
}

func ended(r *ocsp.Response, now time.Time) bool {
	return !r.NextUpdate.IsZero() && !now.Before(r.NextUpdate)
}

// parseResponse parses a response and verifies its signer: the issuer or its delegate (RFC
// 6960 §4.2.2.2).
func parseResponse(der []byte, leaf, issuer *x509.Certificate) (*ocsp.Response, error) {
	r, err := ocsp.ParseResponseForCert(der, leaf, issuer)
	if err != nil {
		return nil, err
	}
	if d := r.Certificate; d != nil && !d.Equal(issuer) && !slices.Contains(d.ExtKeyUsage, x509.ExtKeyUsageOCSPSigning) {
		return nil, errors.New("it was signed with a certificate that is not for OCSP")
	}
	return r, nil
}

// clockSkew is the tolerance for a responder's clock running ahead.
const clockSkew = 5 * time.Minute

// checkFresh returns the reason why a response must not be stapled now, or nil.
func checkFresh(r *ocsp.Response, now time.Time) error {
	switch {
	case r.Status == ocsp.Revoked:
		return &revoked{r.RevokedAt}
	case r.Status != ocsp.Good:
		return errors.New("the responder does not know the certificate")
	case now.Add(clockSkew).Before(r.ThisUpdate):
		return fmt.Errorf("the response is of the future (%s)", r.ThisUpdate.UTC().Format(time.RFC3339))
	case ended(r, now):
		return fmt.Errorf("the response was valid until %s", r.NextUpdate.UTC().Format(time.RFC3339))
	case r.Certificate != nil && !now.Before(r.Certificate.NotAfter):
		return errors.New("the responder's own certificate has expired")
	}
	return nil
}

// revoked is the error for a revoked certificate.
type revoked struct{ at time.Time }

func (r *revoked) Error() string { return "it was revoked on " + day(r.at) }
