package tlsconf

import (
	"crypto/tls"
	"errors"
	"time"

	"github.com/sluicelb/sluice/core/farm"
)

// pair is a validated certificate chain with its private key. It is immutable, so
// snapshots share it.
type pair struct {
	info *Info
	tls  tls.Certificate
	// id is the digest of chain and key.
	id digest
}

func loadPair(c *farm.Certificate) (tls.Certificate, *Info, error) {
	info, err := Inspect(c.Chain)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	key, err := parseKey(c.Key)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	leaf := info.chain[0]
	if !belongs(key, leaf) {
		return tls.Certificate{}, nil, errors.New("the private key is not that of the certificate")
	}
	return tls.Certificate{Certificate: c.Chain, PrivateKey: key, Leaf: leaf}, info, nil
}

// served is a certificate of a listener: a pair with the OCSP staple of the snapshot.
type served struct {
	*pair
	stapled tls.Certificate
	staple  staple
}

func newServed(p *pair, der []byte) (*served, error) {
	s := &served{pair: p}
	if len(der) == 0 {
		return s, nil
	}
	var err error
	if s.staple, err = parseStaple(der, p.info.chain[0]); err != nil {
		return s, err
	}
	s.stapled = p.tls
	s.stapled.OCSPStaple = der
	return s, nil
}

// at returns the certificate to send at now. It includes the staple while that is
// valid.
func (s *served) at(now time.Time) *tls.Certificate {
	if s.staple.holds(now) {
		return &s.stapled
	}
	return &s.tls
}
