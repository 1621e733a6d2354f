package certs

import (
	"regexp"
	"slices"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
)

// Extensions of names: certificates, CSRs, and keys, which cannot be downloaded.
const (
	extPEM = ".pem"
	extCSR = ".csr"
	extKey = ".key"
)

// ApplianceName is the certificate of the management API. Farms may use it. It cannot be
// replaced or deleted here.
const ApplianceName = farm.ApplianceCertificate

// MaxName is the maximum length of a name in bytes, without extension.
const MaxName = 128

var (
	namePattern      = regexp.MustCompile(`^(\*[_.])?\w([\w.()@ -]*[\w.()@-])?$`)
	requestPattern   = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9-]*$`)
	authorityPattern = regexp.MustCompile(`^[a-zA-Z0-9][\w.-]*$`)
)

// reserved names are paths, or reserved for future ones.
var reserved = []string{"0", "pem", "ca", "ocsp", "activation", "acme", "letsencrypt", "letsencryptz", "letsencryptz-wildcard"}

// CertificateName checks the name of a certificate and returns it with its extension, which
// is optional.
func CertificateName(s string) (string, error) {
	base := strings.TrimSuffix(s, extPEM)
	switch {
	case strings.HasSuffix(base, extCSR):
		return "", invalid("name %q: .csr is for CSRs, which are made here and not uploaded", show(s))
	case strings.HasSuffix(base, extKey), strings.HasSuffix(base, extPEM):
		return "", invalid("name %q must end in .pem or have no extension", show(s))
	case len(base) > MaxName || !namePattern.MatchString(base):
		return "", invalid("name %q must be at most %d letters, digits and _.()@- or blanks, beginning with a letter or digit, after *. or *_ for a wildcard", show(s), MaxName)
	case slices.Contains(reserved, base):
		return "", invalid("name %q is reserved", show(s))
	}
	return base + extPEM, nil
}

// RequestName checks the name of a CSR and returns it with its extension, which is
// optional.
func RequestName(s string) (string, error) {
	base := strings.TrimSuffix(s, extCSR)
	switch {
	case len(base) > MaxName || !requestPattern.MatchString(base):
		return "", invalid("name %q must be at most %d letters, digits and hyphens", show(s), MaxName)
	case slices.Contains(reserved, base):
		return "", invalid("name %q is reserved", show(s))
	}
	return base + extCSR, nil
}

// AuthorityName checks the name of an authority list. It has no extension; .pem is removed.
func AuthorityName(s string) (string, error) {
	base := strings.TrimSuffix(s, extPEM)
	switch {
	case len(base) > MaxName || !authorityPattern.MatchString(base):
		return "", invalid("name %q must be at most %d letters, digits and _.-, beginning with a letter or digit", show(s), MaxName)
	case slices.Contains(reserved, base):
		return "", invalid("name %q is reserved", show(s))
	}
	return base, nil
}

// show makes an untrusted text short and printable.
func show(s string) string {
	const most = 64
	if len(s) > most {
		s = s[:most] + "…"
	}
	return clean(s)
}
