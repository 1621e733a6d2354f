package certs

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"strings"
	"time"
)

// dump formats certificates in the style of `openssl x509 -text`.
type dump struct{ bytes.Buffer }

func (d *dump) line(depth int, format string, args ...any) {
	d.WriteString(strings.Repeat("    ", depth))
	d.WriteString(clean(fmt.Sprintf(format, args...)))
	d.WriteByte('\n')
}

// certificate describes one certificate.
func (d *dump) certificate(c *x509.Certificate, now time.Time) {
	d.line(0, "Certificate:")
	d.line(1, "Version: %d", c.Version)
	d.line(1, "Serial Number: %s", colons(c.SerialNumber.Bytes()))
	d.line(1, "Signature Algorithm: %s", c.SignatureAlgorithm)
	d.line(1, "Issuer: %s", distinguished(c.Issuer))
	d.line(1, "Validity")
	d.line(2, "Not Before: %s", c.NotBefore.UTC().Format(time.RFC3339))
	d.line(2, "Not After : %s (%s, %d days left)", c.NotAfter.UTC().Format(time.RFC3339), statusAt(c, now), daysLeft(c, now))
	d.line(1, "Subject: %s", distinguished(c.Subject))
	d.line(1, "Public Key: %s", describeKey(c.PublicKey))
	d.extensions(c)
	sum256, sum1 := sha256.Sum256(c.Raw), sha1.Sum(c.Raw)
	d.line(1, "SHA-256 Fingerprint: %s", colons(sum256[:]))
	d.line(1, "SHA-1 Fingerprint: %s", colons(sum1[:]))
}

// extensions describes the extensions relevant to operators and names the others.
func (d *dump) extensions(c *x509.Certificate) {
	if c.BasicConstraintsValid {
		d.line(1, "Authority: %t", c.IsCA)
	}
	for _, list := range []struct {
		name   string
		values []string
	}{
		{"Subject Alternative Names", hostNames(c)}, {"Key Usage", keyUsages(c.KeyUsage)}, {"Extended Key Usage", extKeyUsages(c.ExtKeyUsage)},
		{"OCSP", c.OCSPServer}, {"CRL", c.CRLDistributionPoints}, {"Issuer's Certificate", c.IssuingCertificateURL},
	} {
		if len(list.values) > 0 {
			d.line(1, "%s: %s", list.name, strings.Join(list.values, ", "))
		}
	}
	if mustStaple(c) {
		d.line(1, "TLS Feature: must staple")
	}
	if len(c.SubjectKeyId) > 0 {
		d.line(1, "Subject Key Identifier: %s", colons(c.SubjectKeyId))
	}
	if len(c.AuthorityKeyId) > 0 {
		d.line(1, "Authority Key Identifier: %s", colons(c.AuthorityKeyId))
	}
}

func (d *dump) request(r *x509.CertificateRequest) {
	d.line(0, "Certificate Request:")
	d.line(1, "Subject: %s", distinguished(r.Subject))
	d.line(1, "Public Key: %s", describeKey(r.PublicKey))
	d.line(1, "Subject Alternative Names: %s", strings.Join(requestNames(r), ", "))
	d.line(1, "Signature Algorithm: %s", r.SignatureAlgorithm)
}

func (d *dump) list(l *x509.RevocationList, now time.Time) {
	d.line(0, "Certificate Revocation List:")
	d.line(1, "Issuer: %s", distinguished(l.Issuer))
	if l.Number != nil {
		d.line(1, "Number: %s", l.Number)
	}
	d.line(1, "This Update: %s", l.ThisUpdate.UTC().Format(time.RFC3339))
	if !l.NextUpdate.IsZero() {
		state := ""
		if outdated(l, now) {
			state = " (outdated)"
		}
		d.line(1, "Next Update: %s%s", l.NextUpdate.UTC().Format(time.RFC3339), state)
	}
	d.line(1, "Revoked Certificates: %d", len(l.RevokedCertificateEntries))
}

func colons(b []byte) string {
	digits := strings.ToUpper(hex.EncodeToString(b))
	var out strings.Builder
	for i := 0; i < len(digits); i += 2 {
		if i > 0 {
			out.WriteByte(':')
		}
		out.WriteString(digits[i : i+2])
	}
	return out.String()
}

var usageNames = []string{"digital signature", "content commitment", "key encipherment", "data encipherment", "key agreement",
	"certificate signing", "CRL signing", "encipher only", "decipher only"} // by bit

func keyUsages(u x509.KeyUsage) []string {
	var out []string
	for bit, name := range usageNames {
		if u&(1<<bit) != 0 {
			out = append(out, name)
		}
	}
	return out
}

var extUsageNames = map[x509.ExtKeyUsage]string{x509.ExtKeyUsageAny: "any", x509.ExtKeyUsageServerAuth: "TLS server", x509.ExtKeyUsageClientAuth: "TLS client",
	x509.ExtKeyUsageCodeSigning: "code signing", x509.ExtKeyUsageEmailProtection: "mail", x509.ExtKeyUsageTimeStamping: "time stamping", x509.ExtKeyUsageOCSPSigning: "OCSP signing"}

func extKeyUsages(usages []x509.ExtKeyUsage) []string {
	var out []string
	for _, u := range usages {
		if name := extUsageNames[u]; name != "" {
			out = append(out, name)
		} else {
			out = append(out, "other")
		}
	}
	return out
}
