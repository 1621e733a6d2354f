package format

import (
	"regexp"
	"strings"
)

// MaxCertificate is the maximum length of a certificate name, including its extension.
const MaxCertificate = 132

var (
	certificatePattern = regexp.MustCompile(`^(\*[_.])?\w([\w.()@ -]*[\w.()@-])?$`)
	authorityPattern   = regexp.MustCompile(`^[a-zA-Z0-9][\w.-]*$`)
)

// Certificate checks the form of a certificate name, with or without extension. Its
// existence is checked elsewhere.
func Certificate(s string) string {
	base := strings.TrimSuffix(s, ".pem")
	switch {
	case !certificatePattern.MatchString(base):
		return "it is made of letters, digits and _.()@- or blanks, after *. or *_ for a wildcard"
	case strings.HasSuffix(base, ".csr"), strings.HasSuffix(base, ".key"), strings.HasSuffix(base, ".pem"):
		return "certificates end in .pem"
	}
	return ""
}

// CanonCertificate adds the extension.
func CanonCertificate(s string) string { return strings.TrimSuffix(s, ".pem") + ".pem" }

// Authority checks the form of the name of a list of authorities.
func Authority(s string) string {
	if !authorityPattern.MatchString(strings.TrimSuffix(s, ".pem")) {
		return "it is made of letters, digits and _.-, and begins with a letter or digit"
	}
	return ""
}

// CanonAuthority removes the extension.
func CanonAuthority(s string) string { return strings.TrimSuffix(s, ".pem") }
