package rdata

import (
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/miekg/dns"

	"github.com/sluicelb/sluice/core/farm"
)

// The flags of a key-signing or single signing key, and the only protocol value (RFC
// 4034 §2.1).
const (
	keyFlags    = 257
	keyProtocol = 3
)

// KeyAlgorithm returns the number of an algorithm, or 0 if it is unknown.
func KeyAlgorithm(a farm.SigningAlgorithm) uint8 {
	switch a {
	case farm.SignECDSA:
		return dns.ECDSAP256SHA256
	case farm.SignEd25519:
		return dns.ED25519
	}
	return 0
}

// NewKey generates a key. public is in base64 as in DNSKEY records; private is PKCS #8
// in base64.
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

// Key is the public information about a zone's key.
type Key struct {
	Tag uint16
	// DNSKEY and DS are record data in master file format.
	DNSKEY, DS string
}

// KeyOf returns the public information about a key.
func KeyOf(zone string, a farm.SigningAlgorithm, public string) Key {
	k := dnskey(zone, a, public)
	ds := k.ToDS(dns.SHA256)
	if ds == nil {
		return Key{}
	}
	return Key{k.KeyTag(), data(k), data(ds)}
}

// IsDS reports whether the data of a DS record match a key, for any digest type.
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

// KeyData returns the data of the DNSKEY and CDS records of a key (RFC 7344) and its
// tag. CDNSKEY has the same data as DNSKEY.
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
