package lint

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluicelb/sluice/core/farm"
)

// Notice is the time before expiry from which a certificate is reported. For automatic
// renewal it is renewedNotice, when the renewal is overdue.
const (
	Notice        = 30 * 24 * time.Hour
	renewedNotice = 10 * 24 * time.Hour
)

// certificates reports expiring and unused certificates.
func (l *look) certificates() {
	for _, c := range l.evidence.Certificates {
		if bits, is := weak(c.KeyType); is && c.Running {
			l.add(Finding{Code: CertificateWeak, Severity: Warning, Certificate: c.Name,
				Message:  fmt.Sprintf("certificate %s has an RSA key of %d bits, which many clients refuse", c.Name, bits),
				Evidence: c.KeyType + "; used by " + strings.Join(c.Users, ", "),
				Advice:   fmt.Sprintf("have one issued for RSA 2048 or ECDSA P-256, then: sluice certificate replace %s FILE", c.Name)})
		}
		if c.MissingIssuer != "" && c.Running {
			l.add(Finding{Code: CertificateIncomplete, Severity: Warning, Certificate: c.Name,
				Message:  fmt.Sprintf("certificate %s is sent without the certificate of its issuer: clients that do not have that one refuse it", c.Name),
				Evidence: "issued by " + c.MissingIssuer + ", which is not in the chain, no root of the system and in no authority list; used by " + strings.Join(c.Users, ", "),
				Advice:   fmt.Sprintf("upload it with the intermediate certificate: sluice certificate replace %s FILE INTERMEDIATE; if clients have the issuer as a root, upload that as an authority list: sluice certificate ca upload NAME FILE", c.Name)})
		}
		switch left := c.NotAfter.Sub(l.evidence.Now); {
		case !c.Running:
			l.add(unused(c, left))
		case left <= 0:
			l.add(Finding{Code: CertificateExpired, Severity: Error, Certificate: c.Name,
				Message:  fmt.Sprintf("certificate %s has expired, and clients are shown it", c.Name),
				Evidence: ended(c, left) + "; used by " + strings.Join(c.Users, ", "),
				Advice:   renew(c)})
		case left <= Notice && (!c.Renewed || left <= renewedNotice):
			l.add(Finding{Code: CertificateExpires, Severity: Warning, Certificate: c.Name,
				Message:  fmt.Sprintf("certificate %s expires in %d days", c.Name, days(left)),
				Evidence: ended(c, left) + "; used by " + strings.Join(c.Users, ", "),
				Advice:   renew(c)})
		}
	}
}

// weak returns the size of an RSA key that many clients reject.
func weak(keyType string) (bits int, is bool) {
	text, rsa := strings.CutPrefix(keyType, "RSA ")
	bits, err := strconv.Atoi(text)
	return bits, rsa && err == nil && bits < 2048
}

func unused(c Certificate, left time.Duration) Finding {
	f := Finding{Code: CertificateUnused, Severity: Info, Certificate: c.Name,
		Message:  fmt.Sprintf("certificate %s is shown to nobody: nothing names it", c.Name),
		Evidence: "no farm, service or setting names it; " + ended(c, left),
		Advice:   fmt.Sprintf("add it to a farm (sluice certificate add FARM %s), or delete it (sluice certificate delete %s)", c.Name, c.Name)}
	if len(c.Users) > 0 {
		f.Message = fmt.Sprintf("certificate %s is shown to nobody: only what is stopped names it", c.Name)
		f.Evidence = "named by " + strings.Join(c.Users, ", ") + "; " + ended(c, left)
		f.Advice = "start the farm, or delete both"
	}
	return f
}

func days(left time.Duration) int { return int(math.Floor(left.Hours() / 24)) }

func ended(c Certificate, left time.Duration) string {
	word := "valid until "
	if left <= 0 {
		word = "expired at "
	}
	return word + c.NotAfter.UTC().Format(time.RFC3339)
}

// renew explains how to renew a certificate.
func renew(c Certificate) string {
	if c.Renewed {
		return fmt.Sprintf("it should have been renewed by itself: see why not (sluice acme list), or renew it now (sluice acme renew %s)", c.Name)
	}
	return fmt.Sprintf("have it renewed, then: sluice certificate replace %s FILE", c.Name)
}

// farmCertificates reports certificates of a farm that no client sees, because earlier ones
// have the same names and serve the same clients.
func (l *look) farmCertificates(f *farm.Farm) {
	t := f.ListenerTLS()
	if t == nil {
		return
	}
	var before []Certificate
	for _, name := range t.Certificates {
		at := slices.IndexFunc(l.evidence.Certificates, func(c Certificate) bool { return c.Name == name })
		if at < 0 {
			continue
		}
		c := l.evidence.Certificates[at]
		if by := hiddenBy(c, before); by != "" {
			l.add(Finding{Code: CertificateHidden, Severity: Warning, Farm: f.Name, Certificate: name, By: by,
				Message:  fmt.Sprintf("no client of farm %s is shown certificate %s: %s is before it, for the same names and kind of key", f.Name, name, by),
				Evidence: fmt.Sprintf("%s: %s; the first of the list decides", c.KeyType, strings.Join(c.Names, ", ")),
				Advice:   fmt.Sprintf("take one of them from the farm (sluice certificate remove %s %s), or move it before (sluice certificate move %s %s 0)", f.Name, name, f.Name, name)})
		}
		before = append(before, c)
	}
}

// hiddenBy names the certificates that hide c, or returns "" if c can be shown. Of the
// certificates with a name, the first one of each key type is shown (core/tlsconf). An
// earlier wildcard that covers the name does not hide c.
func hiddenBy(c Certificate, before []Certificate) string {
	var by []string
	for _, name := range c.Names {
		at := slices.IndexFunc(before, func(b Certificate) bool {
			return keyKind(b) == keyKind(c) && slices.ContainsFunc(b.Names, func(of string) bool { return strings.EqualFold(of, name) })
		})
		if at < 0 {
			return ""
		}
		if !slices.Contains(by, before[at].Name) {
			by = append(by, before[at].Name)
		}
	}
	return strings.Join(by, ", ")
}

// keyKind returns the property of a key that decides which clients can use it. Usual RSA
// sizes are equivalent.
func keyKind(c Certificate) string {
	if bits, is := strings.CutPrefix(c.KeyType, "RSA "); is {
		if n, err := strconv.Atoi(bits); err == nil && n >= 2048 {
			return "RSA"
		}
	}
	return c.KeyType
}
