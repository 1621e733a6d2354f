package tlsconf

import (
	"crypto/tls"
	"fmt"

	"github.com/sluicelb/sluice/core/farm"
)

// MaxCipherString is the longest cipher string in bytes.
const MaxCipherString = 4096

// CheckCiphers reads an OpenSSL cipher string (man 1 ciphers) and returns the
// standard names of the suites of TLS 1.0 to 1.2 it leaves, in the order in
// which crypto/tls prefers them; that order cannot be chosen, so '+' and
// @STRENGTH change nothing.
//
// Refused, by name: a word that OpenSSL never knew; a suite that is asked for
// and that crypto/tls does not offer (DHE, CCM, ARIA, Camellia, PSK, …); a
// string that leaves no suite. What crypto/tls lacks may be excluded, and a
// keyword that finds nothing adds nothing. Names of TLS 1.3 suites are
// accepted and change nothing: those cannot be chosen.
//
// RC4 and 3DES, which OpenSSL leaves out of its normal builds, are found only
// by a part that names them: RC4, 3DES or a suite. The minimum strength of
// @SECLEVEL is that of suites only, not of keys and groups.
func CheckCiphers(s string) ([]string, error) {
	ids, err := parseCiphers(s)
	if err != nil {
		return nil, err
	}
	standard := standardNames()
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = standard[id]
	}
	return names, nil
}

// ciphersOf returns the suites a farm offers below TLS 1.3. RC4, 3DES and CBC with
// SHA-256 are offered to a custom string only. Explicit lists are outside what
// GODEBUG=tlsrsakex and tls3des rule.
func ciphersOf(t *farm.TLS) ([]uint16, error) {
	switch t.Ciphers {
	case "", farm.CiphersAll:
		return compatible, nil
	case farm.CiphersHigh:
		return highSecurity, nil
	case farm.CiphersOffload:
		if lowest, _ := versionRange(t); lowest < tls.VersionTLS12 { // older versions have nothing but CBC
			return offloadOld, nil
		}
		return offload, nil
	case farm.CiphersCustom:
		ids, err := parseCiphers(t.CustomCiphers)
		if err != nil {
			return nil, fmt.Errorf("cipherc: %w", err)
		}
		return ids, nil
	}
	return nil, fmt.Errorf("ciphers: %q is none of %v", t.Ciphers, farm.CipherPresets())
}
