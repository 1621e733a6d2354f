package certs

import (
	"bytes"
	"crypto/x509"
	"encoding/asn1"
	"encoding/pem"
)

// Magic bytes of formats other than PEM.
var (
	javaKeystores = [][]byte{{0xfe, 0xed, 0xfe, 0xed}, {0xce, 0xce, 0xce, 0xce}}
	// signedData is the object identifier at the start of PKCS #7 (RFC 5652 §5.1).
	signedData = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 7, 2}
)

// Unpack converts an upload into PEM. It reads PEM (returned unchanged), concatenated DER
// objects, and PKCS #12, which password decrypts. Errors: *Error.
func Unpack(raw []byte, password string) ([]byte, error) {
	if len(raw) > MaxAuthorityPEM {
		return nil, invalid("the upload has %d bytes, at most %d are taken", len(raw), MaxAuthorityPEM)
	}
	for _, mark := range javaKeystores {
		if bytes.HasPrefix(raw, mark) {
			return nil, invalid("the upload is a Java keystore: convert it with `keytool -importkeystore -srckeystore FILE -destkeystore FILE.p12 -deststoretype PKCS12`")
		}
	}
	if len(raw) == 0 || raw[0] != 0x30 { // every supported object is a SEQUENCE
		return raw, nil
	}
	var out bytes.Buffer
	for rest := raw; len(bytes.TrimSpace(rest)) > 0; {
		var object asn1.RawValue
		var err error
		if rest, err = asn1.Unmarshal(rest, &object); err != nil {
			return nil, invalid("the upload is neither PEM, DER nor PKCS #12: %s", clean(err.Error()))
		}
		if err := unpackObject(&out, object, password); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), nil
}

// unpackObject converts one DER object into PEM. The first element of its sequence
// distinguishes keys and containers from certificates.
func unpackObject(out *bytes.Buffer, object asn1.RawValue, password string) error {
	var first asn1.RawValue
	after, err := asn1.Unmarshal(object.Bytes, &first)
	if err != nil {
		return invalid("the upload is neither PEM, DER nor PKCS #12: %s", clean(err.Error()))
	}
	switch first.Tag {
	case asn1.TagInteger:
		if bytes.Equal(first.Bytes, []byte{3}) { // version 3 of a PFX (RFC 7292 §4); keys have 0 or 1
			return unpackPKCS12(out, object.FullBytes, password)
		}
		return writePEM(out, "PRIVATE KEY", object.FullBytes)
	case asn1.TagOID:
		var kind asn1.ObjectIdentifier
		if _, err := asn1.Unmarshal(first.FullBytes, &kind); err == nil && kind.Equal(signedData) {
			return invalid("the upload is PKCS #7: convert it with `openssl pkcs7 -inform der -print_certs -in FILE`")
		}
	}
	var second asn1.RawValue
	if _, err := asn1.Unmarshal(after, &second); err == nil && second.Tag == asn1.TagOctetString {
		return writePEM(out, "ENCRYPTED PRIVATE KEY", object.FullBytes)
	}
	return writePEM(out, signedKind(object.FullBytes), object.FullBytes)
}

// signedKind returns the PEM type of a signed object: a certificate, unless it parses as
// another type.
func signedKind(der []byte) string {
	if _, err := x509.ParseCertificate(der); err == nil {
		return "CERTIFICATE"
	}
	if _, err := x509.ParseRevocationList(der); err == nil {
		return "X509 CRL"
	}
	if _, err := x509.ParseCertificateRequest(der); err == nil {
		return "CERTIFICATE REQUEST"
	}
	return "CERTIFICATE" // its parser reports the error
}

func writePEM(out *bytes.Buffer, kind string, der []byte) error {
	return pem.Encode(out, &pem.Block{Type: kind, Bytes: der})
}
