package tlsconf

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/x509"
	"errors"
	"fmt"
)

// keyKind is the property of a key that determines which clients support it.
type keyKind uint8

const (
	keyRSA keyKind = iota
	keySmallRSA
	keyP256
	keyP384
	keyP521
	keyEd25519
)

func (k keyKind) ecdsa() bool { return k == keyP256 || k == keyP384 || k == keyP521 }
func (k keyKind) rsa() bool   { return k == keyRSA || k == keySmallRSA }
func (k keyKind) any() bool   { return true }

// Limits for RSA keys in bits. Larger keys make handshakes too expensive; crypto/tls
// has the same limit for peers. crypto/rsa does not sign with smaller ones. Below
// comfortableRSA there is a warning. Below fullRSA a key is too small for PSS with
// SHA-512.
const (
	maxRSA         = 8192
	minRSA         = 1024
	comfortableRSA = 2048
	fullRSA        = 1040
)

// keyOf returns the kind of a certificate's key and its display name, e.g. "RSA 2048".
// The error says why it is unusable.
func keyOf(c *x509.Certificate) (keyKind, string, error) {
	switch key := c.PublicKey.(type) {
	case *rsa.PublicKey:
		return rsaKind(key.N.BitLen())
	case *ecdsa.PublicKey:
		switch key.Curve {
		case elliptic.P256():
			return keyP256, "ECDSA P-256", nil
		case elliptic.P384():
			return keyP384, "ECDSA P-384", nil
		case elliptic.P521():
			return keyP521, "ECDSA P-521", nil
		}
		return 0, "", fmt.Errorf("its key is on the curve %s: TLS has P-256, P-384 and P-521", key.Params().Name)
	case ed25519.PublicKey:
		return keyEd25519, "Ed25519", nil
	}
	if c.PublicKeyAlgorithm == x509.DSA {
		return 0, "", errors.New("its key is a DSA key, which TLS has given up: use RSA or ECDSA")
	}
	return 0, "", errors.New("its key is of a kind that is not supported: use RSA or ECDSA")
}

func rsaKind(bits int) (keyKind, string, error) {
	switch {
	case bits > maxRSA:
		return 0, "", fmt.Errorf("its RSA key has %d bits: at most %d are accepted", bits, maxRSA)
	case bits < minRSA:
		return 0, "", fmt.Errorf("its RSA key has %d bits: at least %d are needed", bits, minRSA)
	case bits < fullRSA:
		return keySmallRSA, fmt.Sprintf("RSA %d", bits), nil
	}
	return keyRSA, fmt.Sprintf("RSA %d", bits), nil
}

// maxKey is the maximum size of a private key in bytes; an RSA key of maxRSA bits has 5
// KiB. It limits the cost of parsing.
const maxKey = 8 << 10

// parseKey parses a PKCS #8 private key. Its errors contain nothing of the key.
func parseKey(der []byte) (crypto.Signer, error) {
	if len(der) == 0 {
		return nil, errors.New("the private key is missing")
	}
	if len(der) > maxKey {
		return nil, fmt.Errorf("the private key has %d bytes: at most %d are read", len(der), maxKey)
	}
	key, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, errors.New("the private key is not a PKCS #8 key of RSA, ECDSA or Ed25519")
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, errors.New("the private key cannot sign")
	}
	return signer, nil
}

// belongs reports whether a private key matches a certificate.
func belongs(key crypto.Signer, c *x509.Certificate) bool {
	public, ok := key.Public().(interface{ Equal(crypto.PublicKey) bool })
	return ok && public.Equal(c.PublicKey)
}

// rsaBits returns the size of an RSA key, or 0 for other keys.
func rsaBits(c *x509.Certificate) int {
	if key, ok := c.PublicKey.(*rsa.PublicKey); ok {
		return key.N.BitLen()
	}
	return 0
}
