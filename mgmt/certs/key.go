package certs

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"slices"
)

// Accepted RSA keys. crypto/tls does not verify longer ones.
const (
	minRSA = 1024
	// strongRSA is the minimum that current clients accept: OpenSSL 3 in Debian's
	// configuration, and public authorities since 2014.
	strongRSA = 2048
	maxRSA    = 8192
)

// maxKeyDER bounds a private key before parsing, whose cost is cubic in its length. An RSA
// key of 8192 bits has 4.7 KB.
const maxKeyDER = 8 << 10

const allowedKeys = "allowed are RSA with 1024 to 8192 bits, ECDSA with P-256, P-384 or P-521, and Ed25519"

// parseKey reads the private key of an upload.
func parseKey(b *pem.Block) (crypto.Signer, error) {
	switch {
	case encrypted(b):
		return nil, invalid("the private key is encrypted: decrypt it first, as with `openssl pkey -in FILE -out PLAIN`; it is encrypted again where it is kept")
	case b.Type == "DSA PRIVATE KEY":
		return nil, invalid("the private key is a DSA key: %s", allowedKeys)
	case b.Type == "OPENSSH PRIVATE KEY":
		return nil, invalid("the private key is in OpenSSH's own form: convert it with `ssh-keygen -p -m PEM -f FILE`")
	case len(b.Bytes) > maxKeyDER:
		return nil, invalid("the private key is too long: %s", allowedKeys)
	}
	key, err := decodeKey(b.Bytes)
	if err != nil {
		return nil, err
	}
	if problem := keyProblem(key.Public()); problem != "" {
		return nil, invalid("the private key is %s: %s", problem, allowedKeys)
	}
	return key, nil
}

// decodeKey tries all three formats, because tools disagree about the block types. Parser
// errors are not passed on.
func decodeKey(der []byte) (crypto.Signer, error) {
	if key, err := x509.ParsePKCS8PrivateKey(der); err == nil {
		if signer, ok := key.(crypto.Signer); ok {
			return signer, nil
		}
		return nil, invalid("the private key cannot sign: %s", allowedKeys) // X25519
	}
	if key, err := x509.ParsePKCS1PrivateKey(der); err == nil {
		return key, nil
	}
	if key, err := x509.ParseECPrivateKey(der); err == nil {
		return key, nil
	}
	return nil, invalid("the private key cannot be read: it is damaged, or of another kind; %s", allowedKeys)
}

// keyProblem explains why a public key is not accepted, or returns "".
func keyProblem(pub any) string {
	switch k := pub.(type) {
	case *rsa.PublicKey:
		if n := k.N.BitLen(); n < minRSA || n > maxRSA {
			return fmt.Sprintf("an RSA key of %d bits", n)
		}
	case *ecdsa.PublicKey:
		if !slices.Contains([]elliptic.Curve{elliptic.P256(), elliptic.P384(), elliptic.P521()}, k.Curve) {
			return "an ECDSA key on " + k.Curve.Params().Name
		}
	case ed25519.PublicKey:
	default:
		return "of a kind TLS does not use"
	}
	return ""
}

// describeKey describes a public key, e.g. "RSA 2048".
func describeKey(pub any) string {
	switch k := pub.(type) {
	case *rsa.PublicKey:
		return fmt.Sprintf("RSA %d", k.N.BitLen())
	case *ecdsa.PublicKey:
		return "ECDSA " + k.Curve.Params().Name
	case ed25519.PublicKey:
		return "Ed25519"
	}
	return "unknown"
}

// sameKey reports whether both are the same public key.
func sameKey(a, b any) bool {
	k, ok := a.(interface{ Equal(crypto.PublicKey) bool })
	return ok && k.Equal(b)
}
