package certs

import (
	"crypto/x509"
	"time"
)

// TryAuthorities parses an upload as authorities and as CRLs of one.
func TryAuthorities(raw []byte, ca *x509.Certificate, now time.Time) error {
	_, _, _, err := parseAuthorities(raw, now)
	_, crlErr := parseCRLs(raw, []*x509.Certificate{ca}, now)
	if err != nil && crlErr != nil {
		return err
	}
	return nil
}

// Rounds exports rounds for a whole file.
func Rounds(der []byte) int64 { return rounds(der, 0) }
