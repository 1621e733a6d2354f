package tlsconf

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"fmt"
	"math/big"
	"time"
)

// staple is the validity period of an OCSP response; the zero value is never valid.
type staple struct{ from, until time.Time }

func (s staple) holds(now time.Time) bool {
	return !s.until.IsZero() && !now.Before(s.from) && now.Before(s.until)
}

// The parts of an OCSP response (RFC 6960 §4.2.1) that are used. mgmt has verified the
// signature, and clients verify it.
type (
	ocspResponse struct {
		Status   asn1.Enumerated
		Response ocspBytes `asn1:"explicit,tag:0,optional"`
	}
	ocspBytes struct {
		Type     asn1.ObjectIdentifier
		Response []byte
	}
	ocspBasic struct {
		Data      ocspData
		Algorithm pkix.AlgorithmIdentifier
		Signature asn1.BitString
		Chain     asn1.RawValue `asn1:"optional,explicit,tag:0"`
	}
	ocspData struct {
		Raw       asn1.RawContent
		Version   int `asn1:"optional,default:0,explicit,tag:0"`
		Responder asn1.RawValue
		Produced  time.Time `asn1:"generalized"`
		Answers   []ocspAnswer
	}
	ocspAnswer struct {
		ID         ocspID
		Good       asn1.Flag        `asn1:"tag:0,optional"`
		Revoked    ocspRevoked      `asn1:"tag:1,optional"`
		Unknown    asn1.Flag        `asn1:"tag:2,optional"`
		ThisUpdate time.Time        `asn1:"generalized"`
		NextUpdate time.Time        `asn1:"generalized,explicit,tag:0,optional"`
		Extensions []pkix.Extension `asn1:"explicit,tag:1,optional"`
	}
	ocspID struct {
		Algorithm           pkix.AlgorithmIdentifier
		NameHash, IssuerKey []byte
		Serial              *big.Int
	}
	ocspRevoked struct {
		At     time.Time       `asn1:"generalized"`
		Reason asn1.Enumerated `asn1:"explicit,tag:0,optional"`
	}
)

var oidBasicOCSP = asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 48, 1, 1}

// maxStaple is the maximum size of a response in bytes. Every handshake includes it.
const maxStaple = 16 << 10

// parseStaple returns the period in which a response may be stapled to leaf. It rejects
// responses without NextUpdate, because outdated ones could not be recognised.
func parseStaple(der []byte, leaf *x509.Certificate) (staple, error) {
	if len(der) > maxStaple {
		return staple{}, fmt.Errorf("the OCSP response has %d bytes: at most %d are stapled", len(der), maxStaple)
	}
	var outer ocspResponse
	if err := whole(der, &outer); err != nil {
		return staple{}, fmt.Errorf("the OCSP response cannot be read: %w", err)
	}
	if outer.Status != 0 || !outer.Response.Type.Equal(oidBasicOCSP) {
		return staple{}, fmt.Errorf("the OCSP response is no answer: status %d", outer.Status)
	}
	var basic ocspBasic
	if err := whole(outer.Response.Response, &basic); err != nil {
		return staple{}, fmt.Errorf("the OCSP response cannot be read: %w", err)
	}
	for i := range basic.Data.Answers {
		if a := &basic.Data.Answers[i]; a.ID.Serial.Cmp(leaf.SerialNumber) == 0 {
			return a.staple()
		}
	}
	return staple{}, errors.New("the OCSP response is about another certificate")
}

func (a *ocspAnswer) staple() (staple, error) {
	switch {
	case !bool(a.Good):
		return staple{}, errors.New("the OCSP response does not call the certificate good")
	case a.NextUpdate.IsZero():
		return staple{}, errors.New("the OCSP response does not say how long it holds")
	}
	return staple{a.ThisUpdate, a.NextUpdate}, nil
}

func whole(der []byte, into any) error {
	rest, err := asn1.Unmarshal(der, into)
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("%d bytes follow it", len(rest))
	}
	return err
}
