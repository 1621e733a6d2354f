package certs

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"strings"
	"unicode"
)

// clean replaces what is not printable: names in certificates are chosen by
// strangers and end up in terminals and logs.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '·'
	}, strings.ToValidUTF8(s, "·"))
}

// nameOf is a name as people know it: the common name, or all there is.
func nameOf(n pkix.Name) string {
	if n.CommonName != "" {
		return cut(clean(n.CommonName))
	}
	return cut(clean(n.String()))
}

// distinguished writes a whole name (RFC 2253), mail addresses readable.
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

// called is how messages name a certificate.
func called(c *x509.Certificate) string {
	if name := nameOf(c.Subject); name != "" {
		return name
	}
	if names := hostNames(c); len(names) > 0 {
		return cut(names[0])
	}
	return "serial number " + c.SerialNumber.String()
}

// hostNames are the subject alternative names of a certificate as texts.
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

// requestNames are the subject alternative names of a CSR as texts.
func requestNames(r *x509.CertificateRequest) []string {
	return hostNames(&x509.Certificate{DNSNames: r.DNSNames, IPAddresses: r.IPAddresses, EmailAddresses: r.EmailAddresses, URIs: r.URIs})
}
