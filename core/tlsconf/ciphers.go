package tlsconf

import (
	"crypto/tls"
	"fmt"

	"github.com/sluicelb/sluice/core/farm"
)

// MaxCipherString is the maximum length of a cipher string in bytes.
const MaxCipherString = 4096

// CheckCiphers parses an OpenSSL cipher string (man 1 ciphers). It returns the standard
// names of the resulting suites for TLS 1.0 to 1.2, in the order of preference of
// crypto/tls. That order is fixed, so '+' and @STRENGTH have no effect.
//
// It rejects, by name, words that OpenSSL never supported and requested suites that
// crypto/tls does not offer (DHE, CCM, ARIA, Camellia, PSK, …). It also rejects a
// string that leaves no suite. Unsupported suites may be excluded, and a keyword
// without matches adds nothing. Names of TLS 1.3 suites are accepted without effect
// because those suites cannot be configured.
//
// RC4 and 3DES, which normal builds of OpenSSL omit, are only selected by a part that
// names them: RC4, 3DES or a suite. The minimum strength of @SECLEVEL applies to suites
// only, not to keys and groups.
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

// ciphersOf returns the suites that a farm offers below TLS 1.3. RC4, 3DES and CBC with
// SHA-256 are only offered with a custom string. Explicit lists are not subject to
// GODEBUG tlsrsakex and tls3des.
func ciphersOf(t *farm.TLS) ([]uint16, error) {
	switch t.Ciphers {
	case "", farm.CiphersAll:
		return compatible, nil
	case farm.CiphersHigh:
		return highSecurity, nil
	case farm.CiphersOffload:
		if lowest, _ := versionRange(t); lowest < tls.VersionTLS12 { // older versions only support CBC
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
