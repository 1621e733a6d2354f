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

// maxCertificate bounds one of the fields; what is longer is left out.
const maxCertificate = 16 << 10

// certificateTime is how OpenSSL writes times.
const certificateTime = "Jan _2 15:04:05 2006 GMT"

// noCertificate says that one was looked for.
var noCertificate = []byte{}

// CertificateLines makes the field lines of what a client showed; empty, and not nil,
// when that is nothing.
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

// distinguished is a name as RFC 4514 writes it.
func distinguished(der []byte) string {
	var name pkix.RDNSequence
	if _, err := asn1.Unmarshal(der, &name); err != nil {
		return ""
	}
	return name.String()
}

// serial is the serial number in hexadecimal, whole bytes of it.
func serial(c *x509.Certificate) string {
	if b := c.SerialNumber.Bytes(); len(b) > 0 && c.SerialNumber.Sign() > 0 {
		return fmt.Sprintf("%X", b)
	}
	return "00"
}

// oneLine is the PEM text of a certificate with blanks for line ends, which
// field values cannot hold.
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

// printable writes what is not printable ASCII as RFC 4514 lets names do:
// a backslash and two hexadecimal digits for each byte.
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

// VersionName is how OpenSSL, and those who use it, call a version of TLS.
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
