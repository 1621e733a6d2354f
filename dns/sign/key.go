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

// signatureSize is the size of signatures of both algorithms (RFC 6605 §4, RFC 8080 §4).
const signatureSize = 64

// Key is a zone key, ready to sign. It is immutable.
type Key struct {
	tag       uint16
	algorithm uint8
	private   crypto.Signer
	// DNSKEY and CDS are the data of its records; CDNSKEY has the data of DNSKEY.
	DNSKEY, CDS []byte
}

// Keys holds the keys of a zone.
type Keys struct {
	// active keys sign the zone's records, all keys sign the DNSKEY set: resolvers may trust
	// any one of them.
	active, all []*Key
	// Published holds the keys the parent should trust (RFC 7344 §4).
	Published []*Key
	signer    []byte // the name of the zone
}

// Open prepares the keys of a zone whose name in wire format is apex. It returns nil for an
// unsigned zone. Private keys must already be unsealed.
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

// All returns all keys, for the DNSKEY records.
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

// signerOf returns the private key, or nil if the public one does not match.
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
