package tlsconf

import (
	"crypto/tls"
	"slices"
)

// word is a word of a cipher string as a search pattern, or the properties of one
// suite. Each field is a bit set. A pattern matches a suite that shares a bit with each
// of its non-empty sets (OpenSSL, ssl_cipher_apply_rule).
type word struct {
	kx, auth, enc, mac, strength uint16
	// lowest is the first version with the suite. 0x300 is SSL 3, which is never
	// offered but remains a keyword.
	lowest uint16
	// id is set if the word is the name of a suite of crypto/tls.
	id uint16
	// absent is set if the word is the name of a suite that crypto/tls lacks.
	absent bool
}

// Bits of the sets. "Other" covers all algorithms without a suite in crypto/tls. No
// suite has that bit, so patterns with only that bit match nothing.
const (
	kxRSA uint16 = 1 << iota
	kxECDHE
	kxOther
)

const (
	authRSA uint16 = 1 << iota
	authECDSA
	authNone
	authOther
)

const (
	encAES128 uint16 = 1 << iota
	encAES256
	encAES128GCM
	encAES256GCM
	encChaCha20
	enc3DES
	encRC4
	encNone
	encOther
)

const (
	macSHA1 uint16 = 1 << iota
	macSHA256
	macAEAD
	macOther
)

const (
	strengthLow uint16 = 1 << iota
	strengthMedium
	strengthHigh
	strengthFIPS
	// strengthNotDefault is matched separately, as in OpenSSL; see maskStrength.
	strengthNotDefault
)

const maskStrength = strengthLow | strengthMedium | strengthHigh | strengthFIPS

const versionSSL3 = 0x0300

// suite is a suite for TLS 1.0 to 1.2 of crypto/tls.
type suite struct {
	name string // OpenSSL name
	bits int    // security bits, for @SECLEVEL
	word
}

const highFIPS = strengthHigh | strengthFIPS

// suites lists all suites of crypto/tls in its order of preference (with AES hardware),
// with their OpenSSL properties.
var suites = []suite{
	ecdhe("ECDHE-ECDSA-AES128-GCM-SHA256", tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, authECDSA, encAES128GCM, macAEAD),
	ecdhe("ECDHE-RSA-AES128-GCM-SHA256", tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, authRSA, encAES128GCM, macAEAD),
	ecdhe("ECDHE-ECDSA-AES256-GCM-SHA384", tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, authECDSA, encAES256GCM, macAEAD),
	ecdhe("ECDHE-RSA-AES256-GCM-SHA384", tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384, authRSA, encAES256GCM, macAEAD),
	ecdhe("ECDHE-ECDSA-CHACHA20-POLY1305", tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, authECDSA, encChaCha20, macAEAD),
	ecdhe("ECDHE-RSA-CHACHA20-POLY1305", tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256, authRSA, encChaCha20, macAEAD),
	ecdhe("ECDHE-ECDSA-AES128-SHA", tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA, authECDSA, encAES128, macSHA1),
	ecdhe("ECDHE-RSA-AES128-SHA", tls.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA, authRSA, encAES128, macSHA1),
	ecdhe("ECDHE-ECDSA-AES256-SHA", tls.TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA, authECDSA, encAES256, macSHA1),
	ecdhe("ECDHE-RSA-AES256-SHA", tls.TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA, authRSA, encAES256, macSHA1),
	rsaKX("AES128-GCM-SHA256", tls.TLS_RSA_WITH_AES_128_GCM_SHA256, encAES128GCM, macAEAD),
	rsaKX("AES256-GCM-SHA384", tls.TLS_RSA_WITH_AES_256_GCM_SHA384, encAES256GCM, macAEAD),
	rsaKX("AES128-SHA", tls.TLS_RSA_WITH_AES_128_CBC_SHA, encAES128, macSHA1),
	rsaKX("AES256-SHA", tls.TLS_RSA_WITH_AES_256_CBC_SHA, encAES256, macSHA1),
	ecdhe("ECDHE-RSA-DES-CBC3-SHA", tls.TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA, authRSA, enc3DES, macSHA1),
	rsaKX("DES-CBC3-SHA", tls.TLS_RSA_WITH_3DES_EDE_CBC_SHA, enc3DES, macSHA1),
	ecdhe("ECDHE-ECDSA-AES128-SHA256", tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256, authECDSA, encAES128, macSHA256),
	ecdhe("ECDHE-RSA-AES128-SHA256", tls.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256, authRSA, encAES128, macSHA256),
	rsaKX("AES128-SHA256", tls.TLS_RSA_WITH_AES_128_CBC_SHA256, encAES128, macSHA256),
	ecdhe("ECDHE-ECDSA-RC4-SHA", tls.TLS_ECDHE_ECDSA_WITH_RC4_128_SHA, authECDSA, encRC4, macSHA1),
	ecdhe("ECDHE-RSA-RC4-SHA", tls.TLS_ECDHE_RSA_WITH_RC4_128_SHA, authRSA, encRC4, macSHA1),
	rsaKX("RC4-SHA", tls.TLS_RSA_WITH_RC4_128_SHA, encRC4, macSHA1),
}

func ecdhe(name string, id, auth, enc, mac uint16) suite {
	return newSuite(name, word{kx: kxECDHE, auth: auth, enc: enc, mac: mac, lowest: tls.VersionTLS10, id: id})
}

func rsaKX(name string, id, enc, mac uint16) suite {
	return newSuite(name, word{kx: kxRSA, auth: authRSA, enc: enc, mac: mac, lowest: versionSSL3, id: id})
}

func newSuite(name string, w word) suite {
	if w.mac != macSHA1 {
		w.lowest = tls.VersionTLS12
	}
	s := suite{name: name, word: w}
	switch w.enc {
	case encAES128, encAES128GCM:
		s.bits, s.strength = 128, highFIPS
	case encAES256, encAES256GCM:
		s.bits, s.strength = 256, highFIPS
	case encChaCha20:
		s.bits, s.strength = 256, strengthHigh
	case enc3DES:
		s.bits, s.strength = 112, strengthMedium|strengthFIPS|strengthNotDefault
	case encRC4:
		s.bits, s.strength = 80, strengthMedium|strengthNotDefault
	}
	return s
}

// forwardSecret reports whether recorded traffic stays secret if the certificate's key
// leaks.
func (s *suite) forwardSecret() bool { return s.kx == kxECDHE }

// weak reports whether normal builds of OpenSSL omit the cipher.
func (s *suite) weak() bool { return s.enc&(encRC4|enc3DES) != 0 }

// secure lists the suites that crypto/tls considers secure: forward secret, no CBC with
// SHA-256. The default of crypto/tls is not used because it depends on GODEBUG.
var secure = suiteIDs(func(s *suite) bool {
	return s.forwardSecret() && !s.weak() && s.mac != macSHA256
})

// highSecurity lists the secure AEAD suites.
var highSecurity = suiteIDs(func(s *suite) bool { return s.forwardSecret() && s.mac == macAEAD })

// offload and offloadOld list the AES suites of highSecurity and secure.
var (
	offload    = suiteIDs(func(s *suite) bool { return s.enc != encChaCha20 && slices.Contains(highSecurity, s.id) })
	offloadOld = suiteIDs(func(s *suite) bool { return s.enc != encChaCha20 && slices.Contains(secure, s.id) })
)

// compatible lists the secure suites and AES with RSA key exchange, for old clients and
// backends.
var compatible = suiteIDs(func(s *suite) bool { return !s.weak() && s.mac != macSHA256 })

func suiteIDs(keep func(*suite) bool) []uint16 {
	var ids []uint16
	for i := range suites {
		if keep(&suites[i]) {
			ids = append(ids, suites[i].id)
		}
	}
	return ids
}

func suiteByID(id uint16) *suite {
	for i := range suites {
		if suites[i].id == id {
			return &suites[i]
		}
	}
	return nil
}
