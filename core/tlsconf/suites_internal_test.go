package tlsconf

import (
	"crypto/tls"
	"strings"
	"testing"
)

// The properties of a suite follow from its name.
func TestSuitePropertiesFollowTheirNames(t *testing.T) {
	ciphers := []struct {
		part string
		enc  uint16
	}{{"AES128-GCM", encAES128GCM}, {"AES256-GCM", encAES256GCM}, {"CHACHA20", encChaCha20}, {"AES128", encAES128}, {"AES256", encAES256}, {"DES-CBC3", enc3DES}, {"RC4", encRC4}}
	for _, s := range suites {
		var enc uint16
		for _, c := range ciphers {
			if strings.Contains(s.name, c.part) {
				enc = c.enc
				break
			}
		}
		mac := uint16(macSHA1)
		switch {
		case strings.Contains(s.name, "GCM") || strings.Contains(s.name, "POLY1305"):
			mac = macAEAD
		case strings.HasSuffix(s.name, "SHA256"):
			mac = macSHA256
		}
		kx, auth := uint16(kxRSA), uint16(authRSA)
		if strings.HasPrefix(s.name, "ECDHE") {
			kx = kxECDHE
		}
		if strings.Contains(s.name, "ECDSA") {
			auth = authECDSA
		}
		if s.enc != enc || s.mac != mac || s.kx != kx || s.auth != auth {
			t.Errorf("%s: %+v", s.name, s.word)
		}
		if as := tls.CipherSuiteName(s.id); strings.Contains(as, "RSA") == (auth == authECDSA) && !strings.Contains(as, "ECDSA") || strings.Contains(as, "ECDHE") != (kx == kxECDHE) {
			t.Errorf("%s is %s", s.name, as)
		}
	}
}

func TestCertificatesWithoutACipherCauseWarnings(t *testing.T) {
	rsa, ecdsa := &served{pair: &pair{info: &Info{}}}, &served{pair: &pair{info: &Info{}}}
	rsa.info.kind, ecdsa.info.kind = keyRSA, keyP256
	forRSA := []uint16{tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256}
	for _, c := range []struct {
		lowest       uint16
		certificates []*served
		warned       bool
	}{
		{tls.VersionTLS12, []*served{rsa}, false}, {tls.VersionTLS12, []*served{ecdsa}, true}, {tls.VersionTLS12, []*served{ecdsa, rsa}, false},
		{tls.VersionTLS13, []*served{ecdsa}, false}, {tls.VersionTLS12, nil, true},
	} {
		b := &Build{}
		if b.warnUnused(1, offer{suites: forRSA, lowest: c.lowest}, c.certificates); (len(b.warnings) == 1) != c.warned {
			t.Errorf("%d certificates from version %x on: %q", len(c.certificates), c.lowest, b.warnings)
		}
	}
	b := &Build{}
	if b.warnUnused(1, offer{suites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256}, lowest: tls.VersionTLS12}, []*served{rsa}); len(b.warnings) != 1 {
		t.Errorf("an RSA key with ciphers for ECDSA: %q", b.warnings)
	}
}
