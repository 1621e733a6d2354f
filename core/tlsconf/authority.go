package tlsconf

import (
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	"github.com/sluicelb/sluice/core/farm"
)

// Limits of an authority. The subjects of all certificates are sent to clients in a
// field of 64 KiB (RFC 8446 §4.2.4).
const (
	MaxAuthorityCertificates = 1000
	maxSubjectBytes          = 60 << 10
	maxAuthorityCertificate  = 64 << 10
	maxConstraints           = 1000
	// MaxCRLBytes bounds the total size of an authority's CRLs.
	MaxCRLBytes = 32 << 20
)

// authority is a validated list of CA certificates. It is immutable, so snapshots share
// it.
type authority struct {
	pool    *x509.CertPool
	revoked revocations
	info    *AuthorityInfo
	// id is the digest of certificates and CRLs.
	id digest
}

// AuthorityInfo describes an authority.
type AuthorityInfo struct {
	// Subjects are the subjects of its certificates, in order.
	Subjects []string
	// NotAfter is the earliest expiry of its certificates.
	NotAfter time.Time
	// Revoked is the total number of serial numbers in its CRLs. NextUpdate is the
	// earliest end of a CRL; zero without one.
	Revoked    int
	NextUpdate time.Time
}

// CheckAuthority validates an authority and returns its description. It rejects an
// empty list, unreadable data, unsupported kinds or sizes of keys, unknown critical
// extensions and more than 1000 name constraints per certificate. It also rejects CRLs
// that none of the certificates signed and incomplete CRLs (delta, partitioned or
// indirect).
func CheckAuthority(a *farm.Authority) (*AuthorityInfo, error) {
	loaded, err := loadAuthority(a)
	if err != nil {
		return nil, err
	}
	return loaded.info, nil
}

// Warnings returns the reasons why peers may be rejected at now.
func (i *AuthorityInfo) Warnings(now time.Time) []string {
	var w []string
	if now.After(i.NotAfter) {
		w = append(w, "a certificate of it expired on "+day(i.NotAfter))
	}
	if !i.NextUpdate.IsZero() && now.After(i.NextUpdate) {
		w = append(w, fmt.Sprintf("a CRL of it ended on %s: certificates of its issuer are refused until there is a new one", day(i.NextUpdate)))
	}
	return w
}

func loadAuthority(a *farm.Authority) (*authority, error) {
	if len(a.Certificates) == 0 {
		return nil, errors.New("it holds no certificate")
	}
	if len(a.Certificates) > MaxAuthorityCertificates {
		return nil, fmt.Errorf("it has %d certificates: at most %d are accepted", len(a.Certificates), MaxAuthorityCertificates)
	}
	// The pool is never nil, because nil means the system's roots.
	out := &authority{pool: x509.NewCertPool(), info: &AuthorityInfo{}, id: authorityDigest(a)}
	certificates := make([]*x509.Certificate, len(a.Certificates))
	size := 0
	for i, der := range a.Certificates {
		c, err := parseAuthorityCertificate(der)
		if err != nil {
			return nil, fmt.Errorf("certificate %d: %w", i, err)
		}
		if size += len(c.RawSubject) + 2; size > maxSubjectBytes {
			return nil, fmt.Errorf("the names of its certificates have more than %d bytes: handshakes cannot hold them", maxSubjectBytes)
		}
		certificates[i] = c
		out.pool.AddCert(c)
		out.info.Subjects = append(out.info.Subjects, c.Subject.String())
		if i == 0 || c.NotAfter.Before(out.info.NotAfter) {
			out.info.NotAfter = c.NotAfter
		}
	}
	if err := out.revoked.load(a.Revoked, certificates); err != nil {
		return nil, err
	}
	out.revoked.tell(out.info)
	return out, nil
}

func authorityDigest(a *farm.Authority) digest {
	return digestOf("authority").list(a.Certificates).list(a.Revoked).sum()
}

func parseAuthorityCertificate(der []byte) (*x509.Certificate, error) {
	if len(der) > maxAuthorityCertificate {
		return nil, fmt.Errorf("it has %d bytes: at most %d are read", len(der), maxAuthorityCertificate)
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("it cannot be read: %w", err)
	}
	if _, _, err := keyOf(c); err != nil {
		return nil, err
	}
	if len(c.UnhandledCriticalExtensions) > 0 {
		return nil, fmt.Errorf("it has the critical extension %v, which is not understood: nothing could be verified with it", c.UnhandledCriticalExtensions[0])
	}
	if n := constraints(c); n > maxConstraints {
		return nil, fmt.Errorf("it has %d name constraints: at most %d are accepted", n, maxConstraints)
	}
	return c, nil
}

func constraints(c *x509.Certificate) int {
	return len(c.PermittedDNSDomains) + len(c.ExcludedDNSDomains) + len(c.PermittedIPRanges) + len(c.ExcludedIPRanges) +
		len(c.PermittedEmailAddresses) + len(c.ExcludedEmailAddresses) + len(c.PermittedURIDomains) + len(c.ExcludedURIDomains)
}
