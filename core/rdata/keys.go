package rdata

import (
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/miekg/dns"

	"github.com/sluicelb/sluice/core/farm"
)

// The flags of a key that signs all of a zone, and the only protocol there is (RFC 4034
// §2.1).
const (
	keyFlags    = 257
	keyProtocol = 3
)

// KeyAlgorithm is the number of an algorithm, 0 for one nobody knows.
func KeyAlgorithm(a farm.SigningAlgorithm) uint8 {
	switch a {
	case farm.SignECDSA:
		return dns.ECDSAP256SHA256
	case farm.SignEd25519:
		return dns.ED25519
	}
	return 0
}

// NewKey makes a key: public is in base64, as DNSKEY records have it, private in PKCS #8
// and base64.
func NewKey(a farm.SigningAlgorithm) (public, private string, err error) {
	k := dnskey("", a, "")
	made, err := k.Generate(256)
	if err != nil {
		return "", "", fmt.Errorf("making a key of %s: %w", a, err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(made)
	if err != nil {
		return "", "", err
	}
	return k.PublicKey, base64.StdEncoding.EncodeToString(der), nil
}

func dnskey(zone string, a farm.SigningAlgorithm, public string) *dns.DNSKEY {
	return &dns.DNSKEY{Hdr: dns.RR_Header{Name: dns.Fqdn(zone), Rrtype: dns.TypeDNSKEY, Class: dns.ClassINET},
		Flags: keyFlags, Protocol: keyProtocol, Algorithm: KeyAlgorithm(a), PublicKey: public}
}

// Key is what others are told of a key of a zone.
type Key struct {
	Tag uint16
	// DNSKEY and DS are record data as master files have them.
	DNSKEY, DS string
}

// KeyOf is what others are told of a public key.
func KeyOf(zone string, a farm.SigningAlgorithm, public string) Key {
	k := dnskey(zone, a, public)
	ds := k.ToDS(dns.SHA256)
	if ds == nil {
		return Key{}
	}
	return Key{k.KeyTag(), data(k), data(ds)}
}

// IsDS reports whether the data of a DS record are those of a key, by whatever digest.
func IsDS(zone string, a farm.SigningAlgorithm, public, ds string) bool {
	rr, err := dns.NewRR(dns.Fqdn(zone) + " DS " + ds)
	got, is := rr.(*dns.DS)
	if err != nil || !is {
		return false
	}
	want := dnskey(zone, a, public).ToDS(got.DigestType)
	return want != nil && want.KeyTag == got.KeyTag && want.Algorithm == got.Algorithm && strings.EqualFold(want.Digest, got.Digest)
}

func data(rr dns.RR) string { return rr.String()[len(rr.Header().String()):] }

// KeyData are the data of the DNSKEY, CDNSKEY and CDS records of a key (RFC 7344).
func KeyData(zone string, a farm.SigningAlgorithm, public string) (dnskeyData, cdsData []byte, tag uint16, err error) {
	k := dnskey(zone, a, public)
	ds := k.ToDS(dns.SHA256)
	if ds == nil {
		return nil, nil, 0, fmt.Errorf("the key of %s is damaged", a)
	}
	if dnskeyData, err = packed(k); err != nil {
		return nil, nil, 0, err
	}
	tag = ds.KeyTag
	cdsData, err = packed(ds)
	return dnskeyData, cdsData, tag, err
}
