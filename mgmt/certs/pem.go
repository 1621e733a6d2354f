package certs

import (
	"bytes"
	"encoding/pem"
	"strings"
)

// Limits of an upload.
const (
	// MaxPEM bounds an upload in bytes.
	MaxPEM = 256 << 10
	// MaxChain is the maximum number of certificates in an upload.
	MaxChain = 10
	// maxBlocks bounds the blocks examined before an upload is rejected as too long.
	maxBlocks = 64
)

// parts holds the blocks of an upload by type, in DER.
type parts struct {
	certificates [][]byte
	keys         []*pem.Block
	lists        [][]byte // CRLs
}

// split decodes an upload. It skips text around blocks, which some tools write, and
// parameters of Diffie-Hellman and curves, which are unused. most bounds the certificates.
func split(raw []byte, most int) (*parts, error) {
	var p parts
	rest, decoded := raw, 0
	for {
		var b *pem.Block
		if b, rest = pem.Decode(rest); b == nil {
			break
		}
		if decoded++; decoded > max(maxBlocks, most+maxBlocks) {
			return nil, invalid("the upload has more than %d PEM blocks", max(maxBlocks, most+maxBlocks))
		}
		if err := p.add(b); err != nil {
			return nil, err
		}
		switch {
		case len(p.keys) > 1:
			return nil, invalid("the upload has more than one private key: a certificate has one")
		case len(p.certificates) > most:
			return nil, invalid("the upload has more than %d certificates", most)
		}
	}
	if begun := bytes.Count(raw, []byte("-----BEGIN ")); begun > decoded {
		return nil, invalid("%d of the %d PEM blocks of the upload are damaged or incomplete: each needs its BEGIN line, base64 lines and its END line", begun-decoded, begun)
	}
	return &p, nil
}

// add stores one block by its type.
func (p *parts) add(b *pem.Block) error {
	switch b.Type {
	case "CERTIFICATE", "X509 CERTIFICATE":
		p.certificates = append(p.certificates, b.Bytes)
	case "PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY", "ENCRYPTED PRIVATE KEY", "DSA PRIVATE KEY", "OPENSSH PRIVATE KEY":
		p.keys = append(p.keys, b)
	case "X509 CRL":
		p.lists = append(p.lists, b.Bytes)
	case "DH PARAMETERS", "X9.42 DH PARAMETERS", "EC PARAMETERS", "PUBLIC KEY":
	case "CERTIFICATE REQUEST", "NEW CERTIFICATE REQUEST":
		return invalid("the upload is a CSR: send it to your certification authority and upload what it answers")
	case "TRUSTED CERTIFICATE":
		return invalid("the upload has an OpenSSL trusted certificate: convert it with `openssl x509 -in FILE`")
	case "PKCS7":
		return invalid("the upload is PKCS #7: convert it with `openssl pkcs7 -print_certs -in FILE`")
	default:
		return invalid("the upload has a PEM block %q, which does not belong here", show(b.Type))
	}
	return nil
}

// trimmed removes a byte order mark.
func trimmed(raw []byte) []byte { return bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf")) }

// encrypted reports whether a key needs a passphrase.
func encrypted(b *pem.Block) bool {
	return b.Type == "ENCRYPTED PRIVATE KEY" || strings.Contains(b.Headers["Proc-Type"], "ENCRYPTED") || b.Headers["DEK-Info"] != ""
}

// encodePEM encodes objects as consecutive PEM blocks.
func encodePEM(kind string, ders ...[]byte) []byte {
	var out bytes.Buffer
	for _, der := range ders {
		_ = pem.Encode(&out, &pem.Block{Type: kind, Bytes: der}) // writes to a buffer never fail
	}
	return out.Bytes()
}
