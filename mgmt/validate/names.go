package validate

import (
	"regexp"
	"strings"
)

// maxCertificate is the longest name of a certificate, its extension included.
const maxCertificate = 132

var (
	certificatePattern = regexp.MustCompile(`^(\*[_.])?\w([\w.()@ -]*[\w.()@-])?$`)
	authorityPattern   = regexp.MustCompile(`^[a-zA-Z0-9][\w.-]*$`)
)

// checkCertificate checks the form of a certificate's name, with or without
// its extension; whether there is one of that name is not known here.
func checkCertificate(s string) string {
	base := strings.TrimSuffix(s, ".pem")
	switch {
	case !certificatePattern.MatchString(base):
		return "it is made of letters, digits and _.()@- or blanks, after *. or *_ for a wildcard"
	case strings.HasSuffix(base, ".csr"), strings.HasSuffix(base, ".key"), strings.HasSuffix(base, ".pem"):
		return "certificates end in .pem"
	}
	return ""
}

func canonCertificate(s string) string { return strings.TrimSuffix(s, ".pem") + ".pem" }

func checkAuthority(s string) string {
	if !authorityPattern.MatchString(strings.TrimSuffix(s, ".pem")) {
		return "it is made of letters, digits and _.-, and begins with a letter or digit"
	}
	return ""
}

func canonAuthority(s string) string { return strings.TrimSuffix(s, ".pem") }
