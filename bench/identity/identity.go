// Package identity makes the certificates contestants show to clients: one for
// each kind of key, self-signed, for the host of the load and valid for a day.
// All contestants of a run have the same, so none has a cheaper chain or key.
package identity

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/sluicelb/sluice/bench/cases"
)

// Identity is a certificate with its key, as files and as bytes.
type Identity struct {
	Chain  string // file of the certificate, PEM
	Key    string // file of the private key, PKCS #8 PEM
	Bundle string // file of both, key last
	Leaf   []byte // the certificate, DER

	signer crypto.Signer
}

// New makes an identity and writes its files to dir, named for the kind of key.
func New(dir string, kind cases.Key) (*Identity, error) {
	key, err := generate(kind)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()),
		Subject:      pkix.Name{CommonName: cases.PlainHost},
		DNSNames:     []string{cases.PlainHost},
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore:    now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
	}
	leaf, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	base := filepath.Join(dir, string(kind))
	id := &Identity{Chain: base + ".crt", Key: base + ".key", Bundle: base + ".pem", Leaf: leaf, signer: key}
	return id, id.write(secret)
}

func generate(kind cases.Key) (crypto.Signer, error) {
	switch kind {
	case cases.ECDSA:
		return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case cases.RSA:
		return rsa.GenerateKey(rand.Reader, 2048)
	}
	return nil, fmt.Errorf("there is no kind of key %q", kind)
}

func (id *Identity) write(secret []byte) error {
	chain := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: id.Leaf})
	key := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})
	for _, file := range []struct {
		path string
		text []byte
	}{{id.Chain, chain}, {id.Key, key}, {id.Bundle, bytes.Join([][]byte{chain, key}, nil)}} {
		if err := os.WriteFile(file.path, file.text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// Certificate is the identity as a server of this very program needs it.
func (id *Identity) Certificate() tls.Certificate {
	return tls.Certificate{Certificate: [][]byte{id.Leaf}, PrivateKey: id.signer}
}
