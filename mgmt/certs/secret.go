package certs

import "fmt"

// SealSecret encrypts a secret of another package with the node key, bound to its purpose,
// e.g. the key of an ACME account. A purpose must not end like the name of a certificate.
func (b *Book) SealSecret(purpose string, plain []byte) ([]byte, error) {
	return b.node.seal("secret: "+purpose, plain)
}

// OpenSecret decrypts the result of SealSecret for the same purpose.
func (b *Book) OpenSecret(purpose string, sealed []byte) ([]byte, error) {
	plain, err := b.node.open("secret: "+purpose, sealed)
	if err != nil {
		return nil, fmt.Errorf("the secret for %s cannot be read: %w", purpose, err)
	}
	return plain, nil
}
