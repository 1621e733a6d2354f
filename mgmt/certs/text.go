package certs

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"strings"
	"unicode"
)

// clean replaces unprintable characters, because names in certificates are untrusted and
// appear in terminals and logs.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '·'
	}, strings.ToValidUTF8(s, "·"))
}

// nameOf returns a readable name: the common name, or else the whole name.
func nameOf(n pkix.Name) string {
	if n.CommonName != "" {
		return cut(clean(n.CommonName))
	}
	return cut(clean(n.String()))
}

// distinguished formats a whole name (RFC 2253) with readable mail addresses.
func distinguished(n pkix.Name) string {
	var rest []pkix.AttributeTypeAndValue
	mails := ""
	for _, a := range n.Names {
		if text, ok := a.Value.(string); ok && a.Type.Equal(idMail) {
			mails += ",emailAddress=" + text
			continue
		}
		rest = append(rest, a)
	}
	n.Names = rest
	return strings.TrimPrefix(n.String()+mails, ",")
}

func cut(s string) string {
	const most = 200
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// called returns the name of a certificate for messages.
func called(c *x509.Certificate) string {
	if name := nameOf(c.Subject); name != "" {
		return name
	}
	if names := hostNames(c); len(names) > 0 {
		return cut(names[0])
	}
	return "serial number " + c.SerialNumber.String()
}

// hostNames returns the subject alternative names of a certificate as texts.
func hostNames(c *x509.Certificate) []string {
	out := []string{}
	for _, name := range c.DNSNames {
		out = append(out, clean(name))
	}
	for _, addr := range c.IPAddresses {
		out = append(out, addr.String())
	}
	for _, mail := range c.EmailAddresses {
		out = append(out, clean(mail))
	}
	for _, u := range c.URIs {
		out = append(out, clean(u.String()))
	}
	return out
}

// requestNames returns the subject alternative names of a CSR as texts.
func requestNames(r *x509.CertificateRequest) []string {
	return hostNames(&x509.Certificate{DNSNames: r.DNSNames, IPAddresses: r.IPAddresses, EmailAddresses: r.EmailAddresses, URIs: r.URIs})
}
