package tlsconf_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/tlsconf"
)

// suites12 returns a client limited to TLS 1.2 and the given suites.
func suites12(name string, ids ...uint16) *tls.Config {
	c := anyone(name)
	c.MaxVersion, c.CipherSuites = tls.VersionTLS12, ids
	return c
}

const (
	rsaGCM     = tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256
	ecdsaGCM   = tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256
	rsaCBC     = tls.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA
	ecdsaCBC   = tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA
	rsaKeyExch = tls.TLS_RSA_WITH_AES_128_GCM_SHA256
)

func TestRSAAndECDSACertificatesCoexist(t *testing.T) {
	root := newCA(t, "root")
	cfg := &farm.Config{Certificates: []farm.Certificate{
		root.issue("rsa", rsa2048(), dns("www.example.com")),
		root.issue("ecdsa", p256(), dns("www.example.com")),
		root.issue("wild-ecdsa", p256(), dns("*.example.com")),
		root.issue("only-ecdsa", p256(), dns("ec.example.org")),
		root.issue("wild-rsa", rsa2048(), dns("*.example.org")),
	}}
	both := []uint16{rsaGCM, ecdsaGCM}
	for _, c := range []struct {
		what, list string
		client     *tls.Config
		want       string
	}{
		{"ECDSA first for who can do both", "rsa ecdsa", anyone("www.example.com"), "ecdsa"},
		{"in TLS 1.2 too", "rsa ecdsa", suites12("www.example.com", both...), "ecdsa"},
		{"RSA for who can do that only", "rsa ecdsa", suites12("www.example.com", rsaGCM), "rsa"},
		{"RSA for who can do that only, ECDSA listed first", "ecdsa rsa", suites12("www.example.com", rsaGCM), "rsa"},
		{"ECDSA for who can do that only", "rsa ecdsa", suites12("www.example.com", ecdsaGCM), "ecdsa"},
		{"a wildcard is no twin of an exact name", "rsa wild-ecdsa", anyone("www.example.com"), "rsa"},
		{"list order before twins", "wild-ecdsa rsa ecdsa", anyone("www.example.com"), "wild-ecdsa"},
		{"another pattern rather than none", "only-ecdsa wild-rsa", suites12("ec.example.org", rsaGCM), "wild-rsa"},
		{"the default is the first", "rsa ecdsa", anyone("unknown"), "rsa"},
		{"unless the client cannot use it and can use its twin", "ecdsa rsa", suites12("unknown", rsaGCM), "rsa"},
		{"a later one of another name is no twin", "only-ecdsa rsa", anyone("unknown"), "only-ecdsa"},
	} {
		server := listen(t, cfg, &farm.TLS{Certificates: strings.Fields(c.list)})
		got := shake(t, server, c.client).cert(t)
		for i := range cfg.Certificates {
			if entry := &cfg.Certificates[i]; slices.Equal(entry.Chain[0], got.Raw) && entry.Name != c.want {
				t.Errorf("%s: %s, want %s", c.what, entry.Name, c.want)
			}
		}
	}
}

// simple returns a farm with an RSA and an ECDSA certificate for one name.
func simple(t testing.TB) (*farm.Config, *farm.TLS) {
	root := newCA(t, "root")
	cfg := &farm.Config{Certificates: []farm.Certificate{
		root.issue("ecdsa", p256(), dns("www.example.com")), root.issue("rsa", rsa2048(), dns("www.example.com"))}}
	return cfg, all(cfg)
}

func TestExactlyTheEnabledVersionsAreServed(t *testing.T) {
	cfg, l := simple(t)
	for bits := range 16 {
		l.DisableTLS10, l.DisableTLS11, l.DisableTLS12, l.DisableTLS13 = bits&1 != 0, bits&2 != 0, bits&4 != 0, bits&8 != 0
		b := tlsconf.NewStore(tlsconf.Options{}).Begin(cfg)
		server, err := b.Listener(1, l)
		if wrong := tlsconf.CheckVersions(l); wrong != nil {
			if err == nil || err.Error() != wrong.Error() {
				t.Errorf("%04b: %v, want %v", bits, err, wrong)
			}
			continue
		}
		for i := range 4 {
			client := anyone("www.example.com")
			client.MinVersion, client.MaxVersion = uint16(0x301+i), uint16(0x301+i)
			if o := shake(t, server, client); o.failed() == (bits&(1<<i) == 0) {
				t.Errorf("disabled %04b: TLS 1.%d: %v", bits, i, o.srvErr)
			}
		}
	}
}

func TestPresetsOfferTheseSuites(t *testing.T) {
	cfg, l := simple(t)
	for _, c := range []struct {
		preset  farm.CipherPreset
		custom  string
		yes, no []uint16
		tls10   bool
	}{
		{"", "", []uint16{rsaGCM, ecdsaGCM, rsaCBC, ecdsaCBC, tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256, rsaKeyExch, tls.TLS_RSA_WITH_AES_128_CBC_SHA},
			[]uint16{tls.TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA, tls.TLS_ECDHE_RSA_WITH_RC4_128_SHA, tls.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256}, true},
		{farm.CiphersAll, "RC4", []uint16{rsaCBC}, []uint16{tls.TLS_RSA_WITH_RC4_128_SHA}, true},
		{farm.CiphersHigh, "", []uint16{rsaGCM, ecdsaGCM, tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256}, []uint16{rsaCBC, ecdsaCBC, rsaKeyExch}, false},
		{farm.CiphersOffload, "", []uint16{rsaGCM, ecdsaGCM, rsaCBC}, []uint16{tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256, rsaKeyExch}, true},
		{farm.CiphersCustom, "kRSA:RC4-SHA:DES-CBC3-SHA", []uint16{rsaKeyExch, tls.TLS_RSA_WITH_RC4_128_SHA, tls.TLS_RSA_WITH_3DES_EDE_CBC_SHA}, []uint16{rsaGCM, ecdsaGCM}, true},
		{farm.CiphersCustom, "ECDHE+AESGCM", []uint16{rsaGCM}, []uint16{rsaCBC}, false},
	} {
		l.Ciphers, l.CustomCiphers = c.preset, c.custom
		server := listen(t, cfg, l)
		for _, id := range c.yes {
			if o := shake(t, server, suites12("www.example.com", id)); o.failed() || o.server.CipherSuite != id {
				t.Errorf("%s %s: %s is not offered: %v", c.preset, c.custom, tls.CipherSuiteName(id), o.srvErr)
			}
		}
		for _, id := range c.no {
			if o := shake(t, server, suites12("www.example.com", id)); !o.failed() {
				t.Errorf("%s %s: %s is offered", c.preset, c.custom, tls.CipherSuiteName(id))
			}
		}
		old := anyone("www.example.com")
		old.MinVersion, old.MaxVersion, old.CipherSuites = tls.VersionTLS10, tls.VersionTLS10, []uint16{rsaCBC, ecdsaCBC, tls.TLS_RSA_WITH_AES_128_CBC_SHA}
		if o := shake(t, server, old); o.failed() == c.tls10 {
			t.Errorf("%s %s: TLS 1.0: %v, %v", c.preset, c.custom, o.clientErr, o.srvErr)
		}
		// Without old versions, CBC is only offered by the preset "all".
		everybody := c.preset == "" || c.preset == farm.CiphersAll
		modern := *l
		modern.DisableTLS10, modern.DisableTLS11 = true, true
		for _, id := range []uint16{rsaCBC, ecdsaCBC, tls.TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA} {
			if o := shake(t, listen(t, cfg, &modern), suites12("www.example.com", id)); o.failed() == everybody {
				t.Errorf("%s %s: %s without old versions: offered %v", c.preset, c.custom, tls.CipherSuiteName(id), !o.failed())
			}
		}
		// TLS 1.3 does not depend on the cipher string.
		if o := shake(t, server, anyone("www.example.com")); o.failed() || o.server.Version != tls.VersionTLS13 {
			t.Errorf("%s %s: TLS 1.3: %v", c.preset, c.custom, o.srvErr)
		}
	}
}

// A version without suites or groups is not offered. The client then gets a version
// error instead of a cipher error.
func TestVersionsWithoutSuitesOrGroupsAreNotOffered(t *testing.T) {
	cfg, l := simple(t)
	l.Ciphers = farm.CiphersHigh
	client := anyone("www.example.com")
	client.MinVersion, client.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
	if o := shake(t, listen(t, cfg, l), client); !strings.Contains(o.clientErr.Error(), "protocol version") {
		t.Errorf("%v", o.clientErr)
	}
	l.Curves = "X25519MLKEM768"
	if o := shake(t, listen(t, cfg, l), suites12("www.example.com", rsaGCM)); !strings.Contains(o.clientErr.Error(), "protocol version") {
		t.Errorf("%v", o.clientErr)
	}
	l.DisableTLS13 = true
	if err := tlsconf.CheckListener(l); err == nil || !strings.Contains(err.Error(), "ecdhcurve") {
		t.Errorf("groups of TLS 1.3 without TLS 1.3: %v", err)
	}
	// RSA key exchange needs no group.
	l.Ciphers, l.CustomCiphers = farm.CiphersCustom, "kRSA+AES"
	if o := shake(t, listen(t, cfg, l), suites12("www.example.com", rsaKeyExch)); o.failed() {
		t.Errorf("%v", o.srvErr)
	}
}

func TestKeyExchangeUsesTheFarmsGroups(t *testing.T) {
	cfg, l := simple(t)
	for _, c := range []struct {
		curves string
		client []tls.CurveID
		want   tls.CurveID
	}{
		{"", nil, tls.X25519MLKEM768},
		{"", []tls.CurveID{tls.CurveP521}, tls.CurveP521},
		{"X25519", nil, tls.X25519},
		{"secp384r1:P-521", nil, tls.CurveP384},
		{"P-256", []tls.CurveID{tls.X25519}, 0},
		{"SecP256r1MLKEM768:P-256", nil, tls.SecP256r1MLKEM768},
	} {
		l.Curves = c.curves
		client := anyone("www.example.com")
		client.CurvePreferences = c.client
		o := shake(t, listen(t, cfg, l), client)
		if o.failed() != (c.want == 0) || !o.failed() && o.client.CurveID != c.want {
			t.Errorf("%q, client %v: %v (%v), want %v", c.curves, c.client, o.client.CurveID, o.clientErr, c.want)
		}
	}
}

func TestOtherProtocolsAreNegotiatedInsteadOfHTTP(t *testing.T) {
	cfg, l := simple(t)
	build := tlsconf.NewStore(tlsconf.Options{}).Begin(cfg)
	http, err := build.Listener(1, l)
	if err != nil {
		t.Fatal(err)
	}
	dot, err := build.Listener(1, l, "dot")
	if err != nil || dot == http {
		t.Fatalf("%v; one configuration for both: %v", err, dot == http)
	}
	for offered, want := range map[string]string{"dot": "dot", "h2 dot": "dot", "": "", "h2 http/1.1": "-"} {
		client := anyone("www.example.com")
		client.NextProtos = strings.Fields(offered)
		o := shake(t, dot, client)
		if want == "-" && !o.failed() || want != "-" && (o.failed() || o.server.NegotiatedProtocol != want) {
			t.Errorf("%q: %q, %v, want %q", offered, o.server.NegotiatedProtocol, o.clientErr, want)
		}
	}
}

func TestProtocolsAreNegotiated(t *testing.T) {
	cfg, l := simple(t)
	with := func(c *tls.Config, protocols string) *tls.Config {
		c.NextProtos = strings.Fields(protocols)
		return c
	}
	tls11 := func() *tls.Config {
		c := anyone("www.example.com")
		c.MinVersion, c.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
		return c
	}
	for _, c := range []struct {
		what    string
		disable bool
		client  *tls.Config
		want    string // "-" means rejected
	}{
		{"both", false, with(anyone("www.example.com"), "http/1.1 h2"), "h2"},
		{"h2 off", true, with(anyone("www.example.com"), "h2 http/1.1"), "http/1.1"},
		{"http/1.1 only", false, with(anyone("www.example.com"), "http/1.1"), "http/1.1"},
		{"no ALPN", false, anyone("www.example.com"), ""},
		{"unknown only", false, with(anyone("www.example.com"), "http/0.9 spdy/3"), "-"},
		{"h2 only, h2 off", true, with(anyone("www.example.com"), "h2"), "-"},
		{"TLS 1.2 with a good suite", false, with(suites12("www.example.com", rsaCBC, rsaGCM), "h2 http/1.1"), "h2"},
		{"TLS 1.2 with CBC only", false, with(suites12("www.example.com", rsaCBC, ecdsaCBC), "h2 http/1.1"), "http/1.1"},
		{"TLS 1.2 with CBC only and h2 only", false, with(suites12("www.example.com", rsaCBC), "h2"), "-"},
		{"TLS 1.1", false, with(tls11(), "h2 http/1.1"), "http/1.1"},
	} {
		l.DisableHTTP2 = c.disable
		o := shake(t, listen(t, cfg, l), c.client)
		if c.want == "-" {
			if !o.failed() || !strings.Contains(o.clientErr.Error(), "no application protocol") {
				t.Errorf("%s: %q, %v", c.what, o.client.NegotiatedProtocol, o.clientErr)
			}
			continue
		}
		if o.failed() || o.server.NegotiatedProtocol != c.want {
			t.Errorf("%s: %q, %v, want %q", c.what, o.server.NegotiatedProtocol, o.srvErr, c.want)
		}
	}
}

// A strong suite only enables HTTP/2 if it matches the certificate.
func TestHTTP2NeedsASuiteOfTheCertificate(t *testing.T) {
	root := newCA(t, "root")
	cfg := &farm.Config{Certificates: []farm.Certificate{root.issue("rsa", rsa2048(), dns("www.example.com"))}}
	client := suites12("www.example.com", ecdsaGCM, rsaCBC)
	client.NextProtos = []string{"h2", "http/1.1"}
	if o := shake(t, listen(t, cfg, all(cfg)), client); o.failed() || o.server.NegotiatedProtocol != "http/1.1" {
		t.Errorf("%q over %s: %v", o.server.NegotiatedProtocol, tls.CipherSuiteName(o.server.CipherSuite), o.srvErr)
	}
}

// Without a common group, only RSA key exchange is left.
func TestHTTP2NeedsAGroupInCommon(t *testing.T) {
	cfg, l := simple(t)
	l.Ciphers, l.CustomCiphers, l.Curves = farm.CiphersCustom, "AESGCM", "X25519"
	l.Certificates = []string{"rsa"}
	client := suites12("www.example.com", rsaGCM, rsaKeyExch)
	client.NextProtos, client.CurvePreferences = []string{"h2", "http/1.1"}, []tls.CurveID{tls.CurveP521}
	if o := shake(t, listen(t, cfg, l), client); o.failed() || o.server.NegotiatedProtocol != "http/1.1" || o.server.CipherSuite != rsaKeyExch {
		t.Errorf("%q over %s: %v", o.server.NegotiatedProtocol, tls.CipherSuiteName(o.server.CipherSuite), o.srvErr)
	}
}

// If anything is missing or wrong, the result is an error and never a weaker configuration.
func TestInvalidTLSSettingsAreRefused(t *testing.T) {
	root := newCA(t, "root")
	cfg := &farm.Config{
		Certificates: []farm.Certificate{root.issue("a", p256(), dns("a")), root.issue("twice", p256(), dns("a")), root.issue("twice", p256(), dns("a")), {Name: "empty"}},
		Authorities:  []farm.Authority{root.authority("root"), {Name: "empty"}, root.authority("twice"), root.authority("twice"), {Name: "junk", Certificates: [][]byte{{1}}}},
	}
	good := func() *farm.TLS { return &farm.TLS{Certificates: []string{"a"}} }
	for _, c := range []struct {
		what   string
		change func(*farm.TLS)
		say    string
	}{
		{"no certificate", func(l *farm.TLS) { l.Certificates = nil }, "no certificate"},
		{"unknown certificate", func(l *farm.TLS) { l.Certificates = []string{"a", "b"} }, `"b" is not there`},
		{"doubled certificate", func(l *farm.TLS) { l.Certificates = []string{"twice"} }, `"twice" is there twice`},
		{"empty certificate", func(l *farm.TLS) { l.Certificates = []string{"empty"} }, `"empty"`},
		{"unknown preset", func(l *farm.TLS) { l.Ciphers = "best" }, `"best"`},
		{"custom without a string", func(l *farm.TLS) { l.Ciphers = farm.CiphersCustom }, "cipherc"},
		{"bad string", func(l *farm.TLS) { l.Ciphers, l.CustomCiphers = farm.CiphersCustom, "AES:NONSENSE" }, "NONSENSE"},
		{"bad group", func(l *farm.TLS) { l.Curves = "P-257" }, "P-257"},
		{"unknown mode", func(l *farm.TLS) { l.Clients, l.ClientCA = "perhaps", "root" }, `"perhaps"`},
		{"required without CA", func(l *farm.TLS) { l.Clients = farm.ClientAuthRequired }, "client_ca"},
		{"required, CA unknown", func(l *farm.TLS) { l.Clients, l.ClientCA = farm.ClientAuthRequired, "other" }, `"other" is not there`},
		{"optional, CA unknown", func(l *farm.TLS) { l.Clients, l.ClientCA = farm.ClientAuthOptional, "other" }, `"other" is not there`},
		{"CA empty", func(l *farm.TLS) { l.Clients, l.ClientCA = farm.ClientAuthRequired, "empty" }, "no certificate"},
		{"CA doubled", func(l *farm.TLS) { l.Clients, l.ClientCA = farm.ClientAuthRequired, "twice" }, "twice"},
		{"CA unreadable", func(l *farm.TLS) { l.Clients, l.ClientCA = farm.ClientAuthRequired, "junk" }, `"junk"`},
	} {
		l := good()
		c.change(l)
		got, err := tlsconf.NewStore(tlsconf.Options{}).Begin(cfg).Listener(1, l)
		if got != nil || err == nil || !strings.Contains(err.Error(), c.say) {
			t.Errorf("%s: %v, %v, want an error with %s", c.what, got != nil, err, c.say)
		}
	}
	if _, err := tlsconf.NewStore(tlsconf.Options{}).Begin(cfg).Listener(1, good()); err != nil {
		t.Error(err)
	}
}

func TestQuestionableSettingsAreReported(t *testing.T) {
	root := newCA(t, "root")
	cfg := &farm.Config{Certificates: []farm.Certificate{
		root.issue("old", p256(), dns("www.example.com"), ended),
		root.issue("nameless", p256()),
	}}
	b := tlsconf.NewStore(tlsconf.Options{}).Begin(cfg)
	l := all(cfg)
	l.Ciphers, l.CustomCiphers = farm.CiphersCustom, "aRSA+AES"
	server, err := b.Listener(7, l)
	if err != nil {
		t.Fatal(err)
	}
	said := strings.Join(b.Warnings(), "\n")
	for _, want := range []string{`certificate "old": it expired on`, `certificate "nameless": it covers no name`, "farm 7: its ciphers go with none of its certificates"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q lacks %q", said, want)
		}
	}
	if o := shake(t, server, anyone("www.example.com")); o.failed() {
		t.Errorf("an expired certificate is not served: %v", o.srvErr)
	}
	// The client rejects the certificate.
	strict := &tls.Config{RootCAs: root.pool(), ServerName: "www.example.com"}
	var invalid x509.CertificateInvalidError
	if o := shake(t, server, strict); !errors.As(o.clientErr, &invalid) || invalid.Reason != x509.Expired {
		t.Errorf("%v", o.clientErr)
	}
}
