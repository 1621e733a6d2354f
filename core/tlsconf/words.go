package tlsconf

import (
	"crypto/tls"
	"errors"
	"strings"
	"sync"

	"github.com/sluicelb/sluice/core/farm"
)

const (
	encAES  = encAES128 | encAES256 | encAES128GCM | encAES256GCM | encOther
	notNone = ^authNone
)

// keywords holds the keywords of OpenSSL 3 (man 1 ciphers, ssl_ciph.c cipher_aliases).
// Keywords of earlier releases are included and match nothing.
var keywords = map[string]word{
	"ALL":                 {enc: ^encNone},
	"COMPLEMENTOFALL":     {enc: encNone},
	"COMPLEMENTOFDEFAULT": {strength: strengthNotDefault},

	"kRSA": {kx: kxRSA}, "RSA": {kx: kxRSA, auth: authRSA},
	"kECDHE": {kx: kxECDHE}, "kEECDH": {kx: kxECDHE}, "ECDH": {kx: kxECDHE},
	"ECDHE": {kx: kxECDHE, auth: notNone}, "EECDH": {kx: kxECDHE, auth: notNone}, "AECDH": {kx: kxECDHE, auth: authNone},
	"kDHE": {kx: kxOther}, "kEDH": {kx: kxOther}, "DH": {kx: kxOther},
	"DHE": {kx: kxOther, auth: notNone}, "EDH": {kx: kxOther, auth: notNone}, "ADH": {kx: kxOther, auth: authNone},
	"kPSK": {kx: kxOther}, "kRSAPSK": {kx: kxOther}, "kDHEPSK": {kx: kxOther}, "kECDHEPSK": {kx: kxOther}, "PSK": {kx: kxOther},
	"kSRP": {kx: kxOther}, "SRP": {kx: kxOther}, "kGOST": {kx: kxOther}, "kGOST18": {kx: kxOther},

	"aRSA": {auth: authRSA}, "aECDSA": {auth: authECDSA}, "ECDSA": {auth: authECDSA}, "aNULL": {auth: authNone},
	"aDSS": {auth: authOther}, "DSS": {auth: authOther}, "aPSK": {auth: authOther}, "aSRP": {auth: authOther},
	"aGOST": {auth: authOther}, "aGOST01": {auth: authOther}, "aGOST12": {auth: authOther},

	"AES": {enc: encAES}, "AES128": {enc: encAES128 | encAES128GCM | encOther}, "AES256": {enc: encAES256 | encAES256GCM | encOther},
	"AESGCM": {enc: encAES128GCM | encAES256GCM}, "AESCCM": {enc: encOther}, "AESCCM8": {enc: encOther},
	"CHACHA20": {enc: encChaCha20}, "3DES": {enc: enc3DES}, "RC4": {enc: encRC4}, "eNULL": {enc: encNone}, "NULL": {enc: encNone},
	"CBC":      {enc: encAES128 | encAES256 | enc3DES | encOther},
	"CAMELLIA": {enc: encOther}, "CAMELLIA128": {enc: encOther}, "CAMELLIA256": {enc: encOther},
	"ARIA": {enc: encOther}, "ARIAGCM": {enc: encOther}, "ARIA128": {enc: encOther}, "ARIA256": {enc: encOther},
	"DES": {enc: encOther}, "RC2": {enc: encOther}, "IDEA": {enc: encOther}, "SEED": {enc: encOther},
	"GOST": {enc: encOther}, "GOST89": {enc: encOther}, "GOST2012MAGMA": {enc: encOther},

	"SHA1": {mac: macSHA1}, "SHA": {mac: macSHA1}, "SHA256": {mac: macSHA256}, "SHA384": {mac: macOther}, "MD5": {mac: macOther},
	"GOST94": {mac: macOther}, "GOST89MAC": {mac: macOther}, "GOST12": {mac: macOther},

	"HIGH": {strength: strengthHigh}, "MEDIUM": {strength: strengthMedium}, "LOW": {strength: strengthLow}, "FIPS": {strength: strengthFIPS},

	"SSLv3": {lowest: versionSSL3}, "TLSv1": {lowest: tls.VersionTLS10}, "TLSv1.0": {lowest: tls.VersionTLS10}, "TLSv1.2": {lowest: tls.VersionTLS12},

	// Removed from OpenSSL, but still found in configurations.
	"SSLv2": gone, "EXP": gone, "EXPORT": gone, "EXPORT40": gone, "EXPORT56": gone, "eFZA": gone, "FZA": gone,
	"KRB5": gone, "kKRB5": gone, "aKRB5": gone, "kFZA": gone, "aFZA": gone, "kDH": gone, "kDHr": gone, "kDHd": gone, "aDH": gone,
	"kECDH": gone, "kECDHr": gone, "kECDHe": gone, "aECDH": gone, "aGOST94": gone,
}

var gone = word{enc: encOther}

// vocabulary returns all words: keywords and names of suites.
var vocabulary = sync.OnceValue(func() map[string]word {
	v := make(map[string]word, 500)
	for name := range strings.FieldsSeq(absentNames) {
		v[name] = word{kx: kxOther, absent: true}
	}
	for name := range strings.FieldsSeq(absentTLS13) {
		v[name] = word{kx: kxOther, absent: true}
	}
	for name, w := range keywords {
		v[name] = w
	}
	standard := standardNames()
	for i := range suites {
		v[suites[i].name] = suites[i].word
		v[standard[suites[i].id]] = suites[i].word
	}
	return v
})

// standardNames returns the IANA names of the suites.
func standardNames() map[uint16]string {
	names := make(map[uint16]string)
	for _, s := range tls.CipherSuites() {
		names[s.ID] = s.Name
	}
	for _, s := range tls.InsecureCipherSuites() {
		names[s.ID] = s.Name
	}
	return names
}

// tls13Names are the TLS 1.3 suites, which crypto/tls always offers.
var tls13Names = map[string]bool{
	"TLS_AES_128_GCM_SHA256": true, "TLS_AES_256_GCM_SHA384": true, "TLS_CHACHA20_POLY1305_SHA256": true,
}

const absentTLS13 = `TLS_AES_128_CCM_SHA256 TLS_AES_128_CCM_8_SHA256 TLS_SHA256_SHA256 TLS_SHA384_SHA384`

// CheckVersions checks that the enabled versions form a contiguous range, by the rules
// of the Zevenet API. The error names the fields as the API spells them.
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

// versionRange returns the range of a configuration that passed CheckVersions.
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
