package table

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/l7/http1"
)

// maxCertificate bounds a field value; longer ones are omitted.
const maxCertificate = 16 << 10

// certificateTime is the time format of OpenSSL.
const certificateTime = "Jan _2 15:04:05 2006 GMT"

// noCertificate marks a completed search without result.
var noCertificate = []byte{}

// CertificateLines returns the field lines about a client certificate. Without one the
// result is empty but not nil.
func CertificateLines(t *loop.TLS) []byte {
	if t == nil || len(t.Peer) == 0 {
		return noCertificate
	}
	c := t.Peer[0]
	var out []byte
	for _, f := range [...]struct{ name, value string }{
		{"X-SSL-Subject", distinguished(c.RawSubject)},
		{"X-SSL-Issuer", distinguished(c.RawIssuer)},
		{"X-SSL-notBefore", c.NotBefore.UTC().Format(certificateTime)},
		{"X-SSL-notAfter", c.NotAfter.UTC().Format(certificateTime)},
		{"X-SSL-serial", serial(c)},
		{"X-SSL-cipher", VersionName(t.Version) + "/" + tls.CipherSuiteName(t.Cipher)},
		{"X-SSL-certificate", oneLine(c.Raw)},
	} {
		v, ok := http1.CheckValue([]byte(printable(f.value)))
		if ok && len(f.value) <= maxCertificate {
			out = http1.AppendField(out, f.name, v)
		}
	}
	return out
}

// distinguished returns a distinguished name in the format of RFC 4514.
func distinguished(der []byte) string {
	var name pkix.RDNSequence
	if _, err := asn1.Unmarshal(der, &name); err != nil {
		return ""
	}
	return name.String()
}

// serial returns the serial number in hexadecimal, in whole bytes.
func serial(c *x509.Certificate) string {
	if b := c.SerialNumber.Bytes(); len(b) > 0 && c.SerialNumber.Sign() > 0 {
		return fmt.Sprintf("%X", b)
	}
	return "00"
}

// oneLine returns the PEM text of a certificate with spaces instead of line ends, which
// field values cannot contain.
func oneLine(der []byte) string {
	var b strings.Builder
	b.WriteString("-----BEGIN CERTIFICATE----- ")
	for text := base64.StdEncoding.EncodeToString(der); len(text) > 0; {
		n := min(64, len(text))
		b.WriteString(text[:n])
		b.WriteByte(' ')
		text = text[n:]
	}
	b.WriteString("-----END CERTIFICATE-----")
	return b.String()
}

// printable escapes everything except printable ASCII as in RFC 4514: a backslash and two
// hexadecimal digits per byte.
func printable(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' {
			fmt.Fprintf(&b, "\\%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// VersionName returns the OpenSSL name of a TLS version.
func VersionName(v uint16) string {
	switch v {
	case tls.VersionTLS10:
		return "TLSv1"
	case tls.VersionTLS11:
		return "TLSv1.1"
	case tls.VersionTLS12:
		return "TLSv1.2"
	}
	return "TLSv1.3"
}
