package sign

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/rdata"
)

// signatureSize is how long signatures of both algorithms are (RFC 6605 §4, RFC 8080 §4).
const signatureSize = 64

// Key is a key of a zone, ready to sign. Nothing of it changes.
type Key struct {
	tag       uint16
	algorithm uint8
	private   crypto.Signer
	// DNSKEY and CDS are the data of its records; those of CDNSKEY are DNSKEY's.
	DNSKEY, CDS []byte
}

// Keys are those of a zone.
type Keys struct {
	// active sign what is in the zone, all of them the list of keys: resolvers may trust
	// any one of them.
	active, all []*Key
	// Published are those the parent is to trust (RFC 7344 §4).
	Published []*Key
	signer    []byte // the name of the zone
}

// Open makes the keys of a zone, whose name in messages apex is, ready; nil where its
// answers are not signed. Private keys are no longer sealed here.
func Open(z *farm.Zone, apex []byte) (*Keys, error) {
	if z.Signing == "" {
		return nil, nil
	}
	out := &Keys{signer: apex}
	for i := range z.Keys {
		k, err := open(z.Name, &z.Keys[i])
		if err != nil {
			return nil, err
		}
		out.all = append(out.all, k)
		if z.Keys[i].State == farm.KeyActive {
			out.active = append(out.active, k)
		}
		if z.Keys[i].State != farm.KeyRetired {
			out.Published = append(out.Published, k)
		}
	}
	if len(out.active) == 0 {
		return nil, errors.New("no key signs it")
	}
	return out, nil
}

// All are the data of the DNSKEY records.
func (k *Keys) All() []*Key { return k.all }

func open(zone string, from *farm.ZoneKey) (*Key, error) {
	k := &Key{algorithm: rdata.KeyAlgorithm(from.Algorithm)}
	var err error
	if k.DNSKEY, k.CDS, k.tag, err = rdata.KeyData(zone, from.Algorithm, from.Public); err != nil {
		return nil, err
	}
	der, err := base64.StdEncoding.DecodeString(string(from.Private))
	if err != nil {
		return nil, fmt.Errorf("private key %d: %w", k.tag, err)
	}
	private, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, fmt.Errorf("private key %d: %w", k.tag, err)
	}
	if k.private = signerOf(private, k.DNSKEY[4:]); k.private == nil {
		return nil, fmt.Errorf("private key %d: it does not belong to the public one", k.tag)
	}
	return k, nil
}

// signerOf is a private key, nil when the public one is another's.
func signerOf(private any, public []byte) crypto.Signer {
	switch p := private.(type) {
	case *ecdsa.PrivateKey:
		point, err := p.PublicKey.ECDH()
		if err == nil && p.Curve == elliptic.P256() && string(point.Bytes()[1:]) == string(public) {
			return p
		}
	case ed25519.PrivateKey:
		if string(p.Public().(ed25519.PublicKey)) == string(public) {
			return p
		}
	}
	return nil
}

// sign signs a message.
func (k *Key) sign(message []byte) (out [signatureSize]byte, err error) {
	switch p := k.private.(type) {
	case ed25519.PrivateKey:
		copy(out[:], ed25519.Sign(p, message))
	case *ecdsa.PrivateKey:
		hash := sha256.Sum256(message)
		r, s, err := ecdsa.Sign(rand.Reader, p, hash[:])
		if err != nil {
			return out, err
		}
		r.FillBytes(out[:signatureSize/2])
		s.FillBytes(out[signatureSize/2:])
	}
	return out, nil
}
