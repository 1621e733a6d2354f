package tlsconf

import (
	"crypto/tls"
	"errors"

	"github.com/sluicelb/sluice/core/farm"
)

// CheckVersions tells whether the versions a farm disables leave a range
// without a hole, by the rules of the product family. The error names the
// fields as the API spells them.
func CheckVersions(t *farm.TLS) error {
	switch {
	case t.DisableTLS12 && t.DisableTLS13:
		return errors.New("disable_tlsv1_2 and disable_tlsv1_3 must not both be true: TLS 1.2 or TLS 1.3 has to stay enabled")
	case t.DisableTLS12 && !t.DisableTLS11:
		return errors.New("disable_tlsv1_1 must be true while disable_tlsv1_2 is: TLS 1.1 needs TLS 1.2")
	case t.DisableTLS12 && !t.DisableTLS10:
		return errors.New("disable_tlsv1 must be true while disable_tlsv1_2 is: TLS 1.0 needs TLS 1.2")
	case t.DisableTLS11 && !t.DisableTLS10:
		return errors.New("disable_tlsv1 must be true while disable_tlsv1_1 is: TLS 1.0 needs TLS 1.1")
	}
	return nil
}

// versionRange is the range that passed CheckVersions, as crypto/tls has it.
func versionRange(t *farm.TLS) (lowest, highest uint16) {
	lowest, highest = tls.VersionTLS10, tls.VersionTLS13
	if t.DisableTLS10 {
		lowest = tls.VersionTLS11
	}
	if t.DisableTLS11 {
		lowest = tls.VersionTLS12
	}
	if t.DisableTLS12 {
		lowest = tls.VersionTLS13
	}
	if t.DisableTLS13 {
		highest = tls.VersionTLS12
	}
	return lowest, highest
}
