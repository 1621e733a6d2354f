package certs

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"net/mail"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// requestBits is the size of generated keys.
const requestBits = 2048

// maxRequestNames bounds the names of a CSR.
const maxRequestNames = 100

// RequestFields describes the owner of the requested certificate. All fields except Names
// are required.
type RequestFields struct {
	FQDN         string // host name or wildcard, e.g. *.example.com
	Country      string // two letters
	State        string
	Locality     string
	Organization string
	Division     string // organizational unit
	Mail         string
	// Names holds further host names and addresses.
	Names []string
}

var (
	// hostPattern is compiled lazily. It takes 100 KiB, and package variables are
	// initialised in every process of the appliance.
	hostPattern = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(\*\.)?([a-zA-Z0-9_]([a-zA-Z0-9_-]{0,61}[a-zA-Z0-9_])?\.)*[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?$`)
	})
	country = regexp.MustCompile(`^[A-Za-z]{2}$`)
)

// idMail is the attribute emailAddress (PKCS #9), an IA5String.
var idMail = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 1}

// check validates the fields. RFC 5280 appendix A defines the limits.
func (f *RequestFields) check() error {
	if err := checkHost("fqdn", f.FQDN); err != nil {
		return err
	}
	if !country.MatchString(f.Country) {
		return invalid("country must be two letters, got %q", show(f.Country))
	}
	for _, field := range []struct {
		name, value, without string
		most                 int
	}{
		{"state", f.State, "", 128}, {"locality", f.Locality, "-.", 128}, {"organization", f.Organization, "-.", 64}, {"division", f.Division, "", 64},
	} {
		if err := checkText(field.name, field.value, field.without, field.most); err != nil {
			return err
		}
	}
	if addr, err := mail.ParseAddress(f.Mail); err != nil || addr.Address != f.Mail || len(f.Mail) > 255 || !ascii(f.Mail) {
		return invalid("mail must be a mail address, got %q", show(f.Mail))
	}
	if len(f.Names) > maxRequestNames {
		return invalid("san: %d names are too many, at most %d are taken", len(f.Names), maxRequestNames)
	}
	for _, name := range f.Names {
		if _, err := netip.ParseAddr(name); err == nil {
			continue
		}
		if err := checkHost("san", name); err != nil {
			return err
		}
	}
	return nil
}

func checkHost(field, name string) error {
	if len(name) <= 253 && hostPattern().MatchString(name) {
		return nil
	}
	return invalid("%s must be a host name, or a wildcard as *.example.com, got %q", field, show(name))
}

func checkText(field, value, without string, most int) error {
	bad := func(r rune) bool { return !unicode.IsPrint(r) || strings.ContainsRune(without, r) }
	switch {
	case strings.TrimSpace(value) == "":
		return invalid("%s is required", field)
	case !utf8.ValidString(value) || strings.ContainsFunc(value, bad):
		if without != "" {
			return invalid("%s must be a text without hyphens and dots, got %q", field, show(value))
		}
		return invalid("%s must be a printable text, got %q", field, show(value))
	case utf8.RuneCountInString(value) > most:
		return invalid("%s must have at most %d characters, got %d", field, most, utf8.RuneCountInString(value))
	}
	return nil
}

func ascii(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r > unicode.MaxASCII })
}

// newRequest creates a key and a CSR for it.
func newRequest(f RequestFields) (request []byte, key crypto.Signer, err error) {
	if err := f.check(); err != nil {
		return nil, nil, err
	}
	if key, err = rsa.GenerateKey(rand.Reader, requestBits); err != nil {
		return nil, nil, err
	}
	subject := pkix.Name{
		Country: []string{strings.ToUpper(f.Country)}, Province: []string{f.State}, Locality: []string{f.Locality},
		Organization: []string{f.Organization}, OrganizationalUnit: []string{f.Division},
		ExtraNames: []pkix.AttributeTypeAndValue{{Type: idMail, Value: asn1.RawValue{Tag: asn1.TagIA5String, Bytes: []byte(f.Mail)}}},
	}
	if len(f.FQDN) <= 64 { // ub-common-name; longer names appear only as alternative names
		subject.CommonName = f.FQDN
	}
	template := &x509.CertificateRequest{Subject: subject}
	for _, name := range append([]string{f.FQDN}, f.Names...) {
		if addr, err := netip.ParseAddr(name); err == nil {
			template.IPAddresses = append(template.IPAddresses, addr.AsSlice())
		} else if name = strings.ToLower(name); !slices.Contains(template.DNSNames, name) {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	request, err = x509.CreateCertificateRequest(rand.Reader, template, key)
	return request, key, err
}
