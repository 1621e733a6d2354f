package tlsconf_test

import (
	"crypto/tls"
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/tlsconf"
)

// Cipher strings from common recommendations.
const (
	mozillaIntermediate = "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305:DHE-RSA-AES128-GCM-SHA256:DHE-RSA-AES256-GCM-SHA384:DHE-RSA-CHACHA20-POLY1305"
	mozillaOld          = mozillaIntermediate + ":ECDHE-ECDSA-AES128-SHA256:ECDHE-RSA-AES128-SHA256:ECDHE-ECDSA-AES128-SHA:ECDHE-RSA-AES128-SHA:ECDHE-ECDSA-AES256-SHA384:ECDHE-RSA-AES256-SHA384:ECDHE-ECDSA-AES256-SHA:ECDHE-RSA-AES256-SHA:DHE-RSA-AES128-SHA256:DHE-RSA-AES256-SHA256:AES128-GCM-SHA256:AES256-GCM-SHA384:AES128-SHA256:AES256-SHA256:AES128-SHA:AES256-SHA:DES-CBC3-SHA"
	pciStyle            = "kEECDH+ECDSA+AES128:kEECDH+ECDSA+AES256:kEECDH+AES128:kEECDH+AES256:kEDH+AES128:kEDH+AES256:DES-CBC3-SHA:+SHA:!aNULL:!eNULL:!LOW:!kECDH:!DSS:!MD5:!EXP:!PSK:!SRP:!CAMELLIA:!SEED"
	nginxDefault        = "HIGH:!aNULL:!MD5"
	oldMozilla          = "kEECDH+AESGCM+AES128:kEECDH+AESGCM+AES256:kEDH+AESGCM:ECDHE+AES:!aNULL:!eNULL:!EXPORT:!DES:!RC4:!MD5:!PSK:!aECDH:!EDH-DSS-DES-CBC3-SHA:!EDH-RSA-DES-CBC3-SHA:!KRB5-DES-CBC3-SHA"
)

func TestSuiteTableCoversCryptoTLS(t *testing.T) {
	names := tlsconf.SuiteNames()
	for _, s := range slices.Concat(tls.CipherSuites(), tls.InsecureCipherSuites()) {
		if _, ok := names[s.ID]; ok == slices.Equal(s.SupportedVersions, []uint16{tls.VersionTLS13}) {
			t.Errorf("%s: in the table: %v", s.Name, ok)
		}
		delete(names, s.ID)
	}
	if len(names) != 0 {
		t.Errorf("not in crypto/tls: %v", names)
	}
}

func TestACipherStringMeansTheseSuites(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"AES128-SHA", "AES128-SHA"},
		{"TLS_RSA_WITH_AES_128_CBC_SHA", "AES128-SHA"},
		{"ECDHE-RSA-AES128-GCM-SHA256 ECDHE-RSA-AES256-GCM-SHA384,AES256-SHA", "ECDHE-RSA-AES128-GCM-SHA256 ECDHE-RSA-AES256-GCM-SHA384 AES256-SHA"},
		{"ECDHE+AESGCM+ECDSA", "ECDHE-ECDSA-AES128-GCM-SHA256 ECDHE-ECDSA-AES256-GCM-SHA384"},
		{"kRSA+AESGCM:!AES256", "AES128-GCM-SHA256"},
		{"CHACHA20:-ECDHE-RSA-CHACHA20-POLY1305", "ECDHE-ECDSA-CHACHA20-POLY1305"},
		// '-' can be undone, '!' cannot.
		{"CHACHA20:-CHACHA20:aRSA+CHACHA20", "ECDHE-RSA-CHACHA20-POLY1305"},
		{"CHACHA20:!ECDSA:ECDHE-ECDSA-CHACHA20-POLY1305", "ECDHE-RSA-CHACHA20-POLY1305"},
		{"+AES:CHACHA20+aRSA:+ALL", "ECDHE-RSA-CHACHA20-POLY1305"},
		// Unsupported suites may be excluded and may match nothing.
		{"AES128-SHA:!ADH:!DHE-RSA-AES128-SHA:-SEED:PSK:kDHE+AES", "AES128-SHA"},
		// Names of TLS 1.3 suites have no effect.
		{"TLS_AES_128_GCM_SHA256:AES128-SHA:!TLS_CHACHA20_POLY1305_SHA256", "AES128-SHA"},
		// RC4 and 3DES must be named explicitly.
		{"kRSA:!AES:RC4:!ECDHE", "RC4-SHA"},
		{"ALL:COMPLEMENTOFDEFAULT:!AES:!CHACHA20:DES-CBC3-SHA", "DES-CBC3-SHA"},
		{"ALL+3DES+kECDHE", "ECDHE-RSA-DES-CBC3-SHA"},
		{"DEFAULT:!AES:!aECDSA:RC4-SHA", "ECDHE-RSA-CHACHA20-POLY1305"},
		{"DEFAULT-AES!ECDSA", "ECDHE-RSA-CHACHA20-POLY1305"},
		{"ALL:RC4:3DES:@SECLEVEL=4", "ECDHE-ECDSA-AES256-GCM-SHA384 ECDHE-RSA-AES256-GCM-SHA384 ECDHE-ECDSA-CHACHA20-POLY1305 ECDHE-RSA-CHACHA20-POLY1305"},
		{"RC4-SHA:DES-CBC3-SHA:AES128-SHA@SECLEVEL=2", "DES-CBC3-SHA AES128-SHA"},
		{"RC4-SHA:DES-CBC3-SHA:AES128-SHA:@STRENGTH", "AES128-SHA DES-CBC3-SHA RC4-SHA"},
	} {
		ids, err := tlsconf.ParseCiphers(c.in)
		if err != nil {
			t.Errorf("%q: %v", c.in, err)
			continue
		}
		var got []string
		for _, id := range ids {
			got = append(got, tlsconf.SuiteNames()[id])
		}
		if want := strings.Fields(c.want); !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))) {
			t.Errorf("%q: %v, want %v", c.in, got, want)
		}
	}
}

func TestCheckCiphersGivesStandardNamesInOrderOfPreference(t *testing.T) {
	got, err := tlsconf.CheckCiphers("AES128-SHA:ECDHE-RSA-AES128-GCM-SHA256")
	if want := []string{"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "TLS_RSA_WITH_AES_128_CBC_SHA"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
}

// The error contains the word that is not supported.
func TestUnsupportedCipherWordsAreNamed(t *testing.T) {
	for _, c := range []struct{ in, names string }{
		{"HIGH:FASTEST", "FASTEST"},
		{"HIGH:!aNUL", "aNUL"},
		{"HIGH:ecdhe-rsa-aes128-sha", "ECDHE-RSA-AES128-SHA"},
		{"HIGH:ECDHE+TYPO+AES", "TYPO"},
		{"HIGH:DHE-RSA-AES128-GCM-SHA256", "DHE-RSA-AES128-GCM-SHA256"},
		{"HIGH:DHE-RSA-AES128-GCM-SHA256+HIGH:AES256-CCM", "DHE-RSA-AES128-GCM-SHA256 AES256-CCM"},
		{mozillaIntermediate, "DHE-RSA-AES128-GCM-SHA256 DHE-RSA-AES256-GCM-SHA384 DHE-RSA-CHACHA20-POLY1305"},
		{"HIGH:TLS_DHE_RSA_WITH_AES_128_GCM_SHA256", "TLS_DHE_RSA_WITH_AES_128_GCM_SHA256"},
		{"HIGH:TLS_AES_128_CCM_SHA256", "TLS_AES_128_CCM_SHA256"},
		{"ALL:DEFAULT", "DEFAULT first"},
		{"DEFAULTS", "DEFAULTS"},
		{"SUITEB128", "SUITEB128"},
		{"HIGH:@SECLEVEL=6", "SECLEVEL"},
		{"HIGH:@BEST", "@BEST"},
		{"HIGH:!", "ends"},
		{"HIGH:ECDHE+", "ends"},
		{"HIGH:ECDHE++AES", `'+'`},
		{"HIGH\x00", `'\x00'`},
		{"HIGH:é", "where a word should be"},
		{"", "leaves no suite"},
		{" :, ", "leaves no suite"},
		{"aNULL:PSK:kDHE", "leaves no suite"},
		{"AES:!ALL", "leaves no suite"},
		{"TLS_AES_128_GCM_SHA256", "leaves no suite"},
		{"RC4:@SECLEVEL=2", "leaves no suite"},
		{strings.Repeat("AES:", 1025), "at most 4096"},
	} {
		_, err := tlsconf.CheckCiphers(c.in)
		if err == nil {
			t.Errorf("%q is accepted", c.in)
			continue
		}
		for name := range strings.FieldsSeq(c.names) {
			if !strings.Contains(err.Error(), name) {
				t.Errorf("%q: %q lacks %s", c.in, err, name)
			}
		}
	}
}

func TestExcludedUnsupportedNamesAreAccepted(t *testing.T) {
	for _, s := range []string{pciStyle, nginxDefault, oldMozilla, "AES:!TLS_DHE_RSA_WITH_AES_128_GCM_SHA256:-AES128-CCM:+DHE-RSA-AES128-SHA"} {
		if _, err := tlsconf.CheckCiphers(s); err != nil {
			t.Errorf("%q: %v", s, err)
		}
	}
}

// Errors for long lists of mistakes are short.
func TestErrorsAreBounded(t *testing.T) {
	var s strings.Builder
	for i := range 300 {
		s.WriteString("X" + strings.Repeat("y", i%9) + string(rune('A'+i%26)) + ":")
	}
	if _, err := tlsconf.CheckCiphers(s.String()); err == nil || len(err.Error()) > 400 || !strings.Contains(err.Error(), "more") {
		t.Errorf("%v", err)
	}
}

func FuzzCiphers(f *testing.F) {
	for _, s := range []string{mozillaIntermediate, mozillaOld, pciStyle, nginxDefault, oldMozilla, "DEFAULT", "ALL:!COMPLEMENTOFDEFAULT:!eNULL", "DEFAULT@SECLEVEL=2",
		"ECDHE+AESGCM:-RC4;kRSA,AES", "@STRENGTH", "+", "!!", "SUITEB128", "TLS_AES_128_GCM_SHA256", "AES+", "\x00", "DEFAULT!ALL"} {
		f.Add(s)
	}
	known := tlsconf.SuiteNames()
	f.Fuzz(func(t *testing.T, s string) {
		ids, err := tlsconf.ParseCiphers(s)
		if (err == nil) != (len(ids) > 0) {
			t.Fatalf("%q: %d suites and error %v", s, len(ids), err)
		}
		seen := make(map[uint16]bool)
		for _, id := range ids {
			if known[id] == "" || seen[id] {
				t.Fatalf("%q: suite %#x is not of the table or there twice", s, id)
			}
			seen[id] = true
		}
		if err != nil {
			return
		}
		// A final exclusion does not affect the other suites.
		out, err := tlsconf.ParseCiphers(s + ":!" + known[ids[0]])
		if len(s) < 4000 && (err == nil) != (len(ids) > 1) || slices.Contains(out, ids[0]) {
			t.Fatalf("%q: without %s: %v, %v", s, known[ids[0]], out, err)
		}
	})
}

// Cipher strings quoted in errors are truncated, because they may have 4 KiB.
func TestLongUnknownWordIsTruncatedInErrors(t *testing.T) {
	_, err := tlsconf.CheckCiphers(strings.Repeat("a", 1000))
	if err == nil || len(err.Error()) > 300 || !strings.Contains(err.Error(), "aaaa…") {
		t.Errorf("%v", err)
	}
}

// Each list holds all suites of an old client (Java 6, Android 2, Windows 7 without
// updates).
func TestOldClientsAreServedByAll(t *testing.T) {
	for _, c := range []struct {
		what    string
		preset  farm.CipherPreset
		version uint16
		suite   uint16
		served  bool
	}{
		{"RSA, CBC", "", tls.VersionTLS12, tls.TLS_RSA_WITH_AES_128_CBC_SHA, true},
		{"RSA, CBC", farm.CiphersAll, tls.VersionTLS12, tls.TLS_RSA_WITH_AES_256_CBC_SHA, true},
		{"RSA, GCM", farm.CiphersAll, tls.VersionTLS12, tls.TLS_RSA_WITH_AES_128_GCM_SHA256, true},
		{"ECDHE, CBC", farm.CiphersAll, tls.VersionTLS12, tls.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA, true},
		{"RSA, CBC in TLS 1.0", farm.CiphersAll, tls.VersionTLS10, tls.TLS_RSA_WITH_AES_128_CBC_SHA, true},
		{"3DES", farm.CiphersAll, tls.VersionTLS12, tls.TLS_RSA_WITH_3DES_EDE_CBC_SHA, false},
		{"RC4", farm.CiphersAll, tls.VersionTLS12, tls.TLS_RSA_WITH_RC4_128_SHA, false},
		{"RSA, CBC", farm.CiphersHigh, tls.VersionTLS12, tls.TLS_RSA_WITH_AES_128_CBC_SHA, false},
		{"ECDHE, CBC", farm.CiphersHigh, tls.VersionTLS12, tls.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA, false},
		{"RSA, CBC", farm.CiphersOffload, tls.VersionTLS12, tls.TLS_RSA_WITH_AES_128_CBC_SHA, false},
	} {
		cfg, l := simple(t)
		l.Ciphers, l.Certificates = c.preset, []string{"rsa"}
		client := anyone("www.example.com")
		client.MinVersion, client.MaxVersion, client.CipherSuites = c.version, c.version, []uint16{c.suite}
		if o := shake(t, listen(t, cfg, l), client); o.failed() == c.served {
			t.Errorf("%s, %q: served %v", c.what, c.preset, !o.failed())
		}
	}
}

// curl --http1.0 offers only http/1.0.
func TestProtocolHTTP10IsAgreedOn(t *testing.T) {
	for _, without2 := range []bool{false, true} {
		for offer, want := range map[string]string{"http/1.0": "http/1.0", "http/1.0 http/1.1": "http/1.1"} {
			cfg, l := simple(t)
			l.DisableHTTP2 = without2
			client := anyone("www.example.com")
			client.NextProtos = strings.Fields(offer)
			if o := shake(t, listen(t, cfg, l), client); o.failed() || o.server.NegotiatedProtocol != want {
				t.Errorf("offered %s: failed %v, agreed on %q", offer, o.failed(), o.server.NegotiatedProtocol)
			}
		}
	}
}
