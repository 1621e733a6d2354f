package certs

import (
	"bytes"
	"crypto/x509"
	"encoding/asn1"
	"errors"
	"time"

	"software.sslmate.com/src/go-pkcs12"
)

const (
	// maxIterations bounds the iterations of key derivations visible in advance. OpenSSL
	// uses 2,048, Java 10,000; 600,000 are recommended.
	maxIterations = 5_000_000
	// unpackTime bounds the work that is not visible in advance: iterations within
	// encrypted parts.
	unpackTime = 10 * time.Second
)

// unpacking is a semaphore for opening a PKCS #12 file. A file that exceeds the time limit
// is abandoned but holds the semaphore until its parser ends. So such files occupy at most
// one CPU.
var unpacking = make(chan struct{}, 1)

// opened is the result of opening a PKCS #12 file.
type opened struct {
	pem []byte
	err error
}

// unpackPKCS12 converts the certificates and the key of a PKCS #12 file into PEM. A file
// without a key is read as an authority list.
func unpackPKCS12(out *bytes.Buffer, der []byte, password string) error {
	if rounds(der, 0) > maxIterations {
		return invalid("the PKCS #12 file asks for more than %d rounds of key derivation", maxIterations)
	}
	late := time.After(unpackTime)
	select {
	case unpacking <- struct{}{}:
	case <-late:
		return invalid("another PKCS #12 file is being opened: try again")
	}
	done := make(chan opened, 1)
	go func() {
		o := contained(func() ([]byte, error) { return openPKCS12(der, password) })
		<-unpacking // before the result is sent, so the next file need not wait
		done <- o
	}()
	select {
	case o := <-done:
		out.Write(o.pem)
		return o.err
	case <-late:
		return invalid("the PKCS #12 file takes too long to open: encrypt it with fewer rounds of key derivation")
	}
}

// contained calls open, which parses a PKCS #12 file, and converts a panic of the parser
// into an error. Nothing else recovers it in this goroutine, so it would end the process.
func contained(open func() ([]byte, error)) (o opened) {
	defer func() {
		if recover() != nil {
			o = opened{err: invalid("the PKCS #12 file cannot be read: it is malformed")}
		}
	}()
	o.pem, o.err = open()
	return o
}

func openPKCS12(der []byte, password string) ([]byte, error) {
	key, leaf, chain, err := pkcs12.DecodeChain(der, password)
	if err != nil {
		if trusted, trustErr := pkcs12.DecodeTrustStore(der, password); trustErr == nil && len(trusted) > 0 {
			return encodePEM("CERTIFICATE", rawCertificates(trusted)...), nil
		}
		return nil, pkcs12Problem(err, password)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, invalid("the private key cannot be used: %s", allowedKeys)
	}
	certificates := append([]*x509.Certificate{leaf}, chain...)
	return append(encodePEM("PRIVATE KEY", secret), encodePEM("CERTIFICATE", rawCertificates(certificates)...)...), nil
}

// pkcs12Problem explains why a file could not be opened.
func pkcs12Problem(err error, password string) error {
	switch {
	case errors.Is(err, pkcs12.ErrIncorrectPassword) && password == "":
		return &Error{Message: "the PKCS #12 file needs its password", Password: true}
	case errors.Is(err, pkcs12.ErrIncorrectPassword), errors.Is(err, pkcs12.ErrDecryption):
		return &Error{Message: "the password does not open the PKCS #12 file", Password: true}
	}
	return invalid("the PKCS #12 file cannot be read: %s; as PEM it can be uploaded, too: `openssl pkcs12 -in FILE -nodes`", clean(err.Error()))
}

// rounds returns the largest iteration count in a structure. In all key derivations (RFC
// 7292 §4, RFC 8018 §A.2, RFC 2898) it follows the salt, an OCTET STRING.
func rounds(der []byte, depth int) (most int64) {
	const maxDepth = 20
	var before asn1.RawValue
	for len(der) > 0 && depth < maxDepth {
		var v asn1.RawValue
		var err error
		if der, err = asn1.Unmarshal(der, &v); err != nil {
			return most
		}
		var number int64
		switch {
		case v.Tag == asn1.TagInteger && v.Class == asn1.ClassUniversal && isOctets(before):
			if len(v.Bytes) > 8 {
				return maxIterations + 1
			}
			_, _ = asn1.Unmarshal(v.FullBytes, &number)
		case v.IsCompound, isOctets(v):
			number = rounds(v.Bytes, depth+1)
		}
		most, before = max(most, number), v
	}
	return most
}

func isOctets(v asn1.RawValue) bool {
	return v.Tag == asn1.TagOctetString && v.Class == asn1.ClassUniversal
}
