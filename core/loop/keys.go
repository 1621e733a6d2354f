package loop

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/tls"
	"io"
)

// Prepare makes config, of a server or a client, fit for loops: private keys
// that are slow (RSA, about a millisecond, and the larger curves) are used on
// background workers, while the loop serves others, and records are full
// from the first on. Call it once, before anybody uses config, and for those
// config.GetConfigForClient returns as well. A config that was not prepared
// works too; each of its signatures then stalls a loop.
func Prepare(config *tls.Config) {
	config.DynamicRecordSizingDisabled = true
	certificates := config.Certificates
	if config.GetCertificate == nil && config.GetClientCertificate == nil && !anySlow(certificates) {
		return
	}
	get, getClient := config.GetCertificate, config.GetClientCertificate
	config.GetCertificate = func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		c, err := choose(get, certificates, hello)
		return aside(hello.Context(), c), err
	}
	config.GetClientCertificate = func(info *tls.CertificateRequestInfo) (*tls.Certificate, error) {
		if getClient != nil {
			c, err := getClient(info)
			return aside(info.Context(), c), err
		}
		for i := range certificates {
			if info.SupportsCertificate(&certificates[i]) == nil {
				return aside(info.Context(), &certificates[i]), nil
			}
		}
		return new(tls.Certificate), nil // which is to say: none
	}
	config.Certificates = nil // or the callback is not always asked
}

// choose does what crypto/tls does with GetCertificate and Certificates.
func choose(get func(*tls.ClientHelloInfo) (*tls.Certificate, error), list []tls.Certificate, hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	if get != nil && (len(list) == 0 || hello.ServerName != "") {
		if c, err := get(hello); c != nil || err != nil {
			return c, err
		}
	}
	if len(list) == 0 {
		return nil, nil // crypto/tls says that there is none
	}
	for i := range list {
		if hello.SupportsCertificate(&list[i]) == nil {
			return &list[i], nil
		}
	}
	return &list[0], nil
}

func anySlow(list []tls.Certificate) bool {
	for i := range list {
		if slow(list[i].PrivateKey) {
			return true
		}
	}
	return false
}

// slow reports whether the loop should not wait for the key.
func slow(key crypto.PrivateKey) bool {
	switch k := key.(type) {
	case nil:
		return false
	case *ecdsa.PrivateKey:
		return k.Curve != elliptic.P256()
	case ed25519.PrivateKey:
		return false
	}
	return true // RSA, and those nobody knows
}

// aside returns c with a key that parks the handshake ctx belongs to while a
// worker uses the real one.
func aside(ctx context.Context, c *tls.Certificate) *tls.Certificate {
	if c == nil || !slow(c.PrivateKey) {
		return c
	}
	h := shakeOf(ctx)
	signer, ok := c.PrivateKey.(crypto.Signer)
	if h == nil || !ok {
		return c
	}
	parked := *c
	parked.PrivateKey = parkedSigner{h, signer}
	if decrypter, ok := signer.(crypto.Decrypter); ok {
		parked.PrivateKey = parkedKey{parkedSigner{h, signer}, decrypter}
	}
	return &parked
}

// parkedSigner signs on a worker.
type parkedSigner struct {
	shake *handshake
	key   crypto.Signer
}

func (k parkedSigner) Public() crypto.PublicKey { return k.key.Public() }

func (k parkedSigner) Sign(rand io.Reader, digest []byte, opts crypto.SignerOpts) ([]byte, error) {
	return k.shake.work(func() ([]byte, error) { return k.key.Sign(rand, digest, opts) })
}

// parkedKey decrypts there too: the key exchange of TLS 1.2 and earlier by RSA.
type parkedKey struct {
	parkedSigner
	decrypter crypto.Decrypter
}

func (k parkedKey) Decrypt(rand io.Reader, msg []byte, opts crypto.DecrypterOpts) ([]byte, error) {
	return k.shake.work(func() ([]byte, error) { return k.decrypter.Decrypt(rand, msg, opts) })
}
