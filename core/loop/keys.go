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

// Prepare adapts a server or client config for use on loops. Slow private keys (RSA,
// about a millisecond, and curves larger than P-256) are used on background workers
// while the loop serves other connections. Records have full size from the start. It
// must be called once before config is used, and also for each config that
// config.GetConfigForClient returns. A config without Prepare works, but each of its
// signatures stalls a loop.
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
		return new(tls.Certificate), nil // no certificate
	}
	config.Certificates = nil // otherwise crypto/tls may skip the callback
}

// choose selects a certificate as crypto/tls does from GetCertificate and Certificates.
func choose(get func(*tls.ClientHelloInfo) (*tls.Certificate, error), list []tls.Certificate, hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	if get != nil && (len(list) == 0 || hello.ServerName != "") {
		if c, err := get(hello); c != nil || err != nil {
			return c, err
		}
	}
	if len(list) == 0 {
		return nil, nil // crypto/tls reports the missing certificate
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

// slow reports whether the loop should not wait for an operation with key.
func slow(key crypto.PrivateKey) bool {
	switch k := key.(type) {
	case nil:
		return false
	case *ecdsa.PrivateKey:
		return k.Curve != elliptic.P256()
	case ed25519.PrivateKey:
		return false
	}
	return true // RSA and unknown types
}

// aside returns c with a key that uses the real one on a worker, while the handshake
// that ctx belongs to is parked.
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

// parkedKey also decrypts on a worker, for RSA key exchange (TLS 1.2 and earlier).
type parkedKey struct {
	parkedSigner
	decrypter crypto.Decrypter
}

func (k parkedKey) Decrypt(rand io.Reader, msg []byte, opts crypto.DecrypterOpts) ([]byte, error) {
	return k.shake.work(func() ([]byte, error) { return k.decrypter.Decrypt(rand, msg, opts) })
}
