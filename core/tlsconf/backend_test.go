package tlsconf_test

import (
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/tlsconf"
)

// serving returns the configuration of a server with one certificate.
func serving(key crypto.Signer, chain ...[]byte) *tls.Config {
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: chain, PrivateKey: key}}}
}

func backend(t testing.TB, s *tlsconf.Store, cfg *farm.Config, b *farm.BackendTLS, protocols ...string) *tlsconf.Backend {
	t.Helper()
	build := s.Begin(cfg)
	out, err := build.Backend(1, b, protocols...)
	if err != nil {
		t.Fatal(err)
	}
	build.Commit()
	return out
}

func TestBackendVerificationFollowsItsSetting(t *testing.T) {
	root, system := newCA(t, "root"), newCA(t, "system")
	key := p256()
	mine, public := root.sign(key.Public(), dns("app.example"), address("127.0.0.1")), system.sign(key.Public(), dns("app.example"))
	selfSigned := newCA(t, "self", dns("app.example"))
	revoked := root.sign(key.Public(), dns("app.example"))
	cfg := &farm.Config{Authorities: []farm.Authority{root.authority("root"), selfSigned.authority("pinned"),
		{Name: "listed", Certificates: [][]byte{root.cert.Raw}, Revoked: [][]byte{root.crl(time.Now().Add(time.Hour), revoked)}}}}
	s := tlsconf.NewStore(tlsconf.Options{Roots: func() (*x509.CertPool, error) { return system.pool(), nil }})
	none, sys, byCA := farm.BackendTLS{}, farm.BackendTLS{Verify: farm.VerifySystem}, farm.BackendTLS{Verify: farm.VerifyCA, CA: "root"}
	listed := farm.BackendTLS{Verify: farm.VerifyCA, CA: "listed"}
	named := func(b farm.BackendTLS, name string) farm.BackendTLS { b.Name = name; return b }
	for _, c := range []struct {
		what   string
		b      farm.BackendTLS
		name   string
		server *tls.Config
		ok     bool
		sni    string
	}{
		{"none, self-signed", none, "other.example", serving(selfSigned.key, selfSigned.cert.Raw), true, "other.example"},
		{"none, explicit", farm.BackendTLS{Verify: farm.VerifyNone}, "a.example", serving(key, mine), true, "a.example"},
		{"none, no name", none, "", serving(key, mine), true, ""},
		{"none, what is no name", none, "a b/c", serving(key, mine), true, ""},
		{"none, address", none, "127.0.0.1", serving(key, mine), true, ""},
		{"none, fixed name", named(none, "fixed.example"), "a.example", serving(key, mine), true, "fixed.example"},
		{"system, good", sys, "app.example", serving(key, public), true, "app.example"},
		{"system, own CA", sys, "app.example", serving(key, mine), false, "app.example"},
		{"ca, good", byCA, "App.Example.", serving(key, mine), true, "app.example"},
		{"ca, other name", byCA, "other.example", serving(key, mine), false, "other.example"},
		{"ca, fixed name", named(byCA, "app.example"), "other.example", serving(key, mine), true, "app.example"},
		{"ca, wrong fixed name", named(byCA, "b.example"), "app.example", serving(key, mine), false, "b.example"},
		{"ca, address", byCA, "127.0.0.1", serving(key, mine), true, ""},
		{"ca, other address", byCA, "[::1]", serving(key, mine), false, ""},
		{"ca, no name", byCA, "", serving(key, mine), false, ""},
		{"ca, what is no name", byCA, "a b", serving(key, mine), false, ""},
		{"ca, system's", byCA, "app.example", serving(key, public), false, "app.example"},
		{"ca, self-signed", byCA, "app.example", serving(selfSigned.key, selfSigned.cert.Raw), false, "app.example"},
		{"ca, pinned", farm.BackendTLS{Verify: farm.VerifyCA, CA: "pinned"}, "app.example", serving(selfSigned.key, selfSigned.cert.Raw), true, "app.example"},
		{"ca with a CRL, good", listed, "app.example", serving(key, mine), true, "app.example"},
		{"ca with a CRL, revoked", listed, "app.example", serving(key, revoked), false, "app.example"},
	} {
		var sni string
		c.server.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) { sni = hello.ServerName; return nil, nil }
		o := shake(t, c.server, backend(t, s, cfg, &c.b).Config(5, c.name))
		if (o.clientErr == nil) != c.ok || o.clientErr == nil && sni != c.sni {
			t.Errorf("%s: %v, name sent %q, want %q", c.what, o.clientErr, sni, c.sni)
		}
	}
	o := shake(t, serving(key, revoked), backend(t, s, cfg, &listed).Config(5, "app.example"))
	if !errors.Is(o.clientErr, tlsconf.ErrRevoked) {
		t.Errorf("%v", o.clientErr)
	}
}

func TestOldBackendsAreReachedWithoutVerificationOnly(t *testing.T) {
	root, key := newCA(t, "root"), rsa2048()
	der := root.sign(key.Public(), dns("app.example"))
	cfg := &farm.Config{Authorities: []farm.Authority{root.authority("root")}}
	s := tlsconf.NewStore(tlsconf.Options{})
	for _, c := range []struct {
		what        string
		version, id uint16
		none, ca    bool
	}{
		{"TLS 1.0", tls.VersionTLS10, tls.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA, true, false},
		{"TLS 1.1, RSA key exchange", tls.VersionTLS11, tls.TLS_RSA_WITH_AES_128_CBC_SHA, true, false},
		{"TLS 1.2", tls.VersionTLS12, rsaGCM, true, true},
		{"TLS 1.2, RSA key exchange", tls.VersionTLS12, rsaKeyExch, true, false},
		{"TLS 1.2, 3DES", tls.VersionTLS12, tls.TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA, false, false},
		{"TLS 1.2, RC4", tls.VersionTLS12, tls.TLS_ECDHE_RSA_WITH_RC4_128_SHA, false, false},
		{"TLS 1.3", tls.VersionTLS13, 0, true, true},
	} {
		server := serving(key, der)
		server.MinVersion, server.MaxVersion, server.CipherSuites = c.version, c.version, []uint16{c.id}
		for verify, want := range map[farm.Verify]bool{farm.VerifyNone: c.none, farm.VerifyCA: c.ca} {
			o := shake(t, server, backend(t, s, cfg, &farm.BackendTLS{Verify: verify, CA: "root"}).Config(1, "app.example"))
			if (o.clientErr == nil) != want {
				t.Errorf("%s, verify %s: %v", c.what, verify, o.clientErr)
			}
		}
	}
}

func TestBackendsSeeTheCertificateAndTheProtocols(t *testing.T) {
	root, other, key := newCA(t, "root"), newCA(t, "other"), p256()
	cfg := &farm.Config{Certificates: []farm.Certificate{root.issue("client", p256(), dns("client.example"))}}
	server := serving(key, root.sign(key.Public(), dns("app.example")))
	server.ClientAuth = tls.RequireAnyClientCert
	server.ClientCAs = other.pool() // lists another authority: sent nonetheless
	server.NextProtos = []string{"h2", "http/1.1"}
	s := tlsconf.NewStore(tlsconf.Options{})
	b := &farm.BackendTLS{Certificate: "client"}
	o := shake(t, server, backend(t, s, cfg, b, "h2", "http/1.1").Config(1, "app.example"))
	if o.failed() || o.server.NegotiatedProtocol != "h2" || len(o.server.PeerCertificates) != 1 || o.server.PeerCertificates[0].DNSNames[0] != "client.example" {
		t.Errorf("%v, %q, %d certificates", o.srvErr, o.server.NegotiatedProtocol, len(o.server.PeerCertificates))
	}
	if o := shake(t, server, backend(t, s, cfg, b, "http/1.1").Config(1, "app.example")); o.server.NegotiatedProtocol != "http/1.1" {
		t.Errorf("got %q, want %q", o.server.NegotiatedProtocol, "http/1.1")
	}
	if o := shake(t, server, backend(t, s, cfg, &farm.BackendTLS{}).Config(1, "app.example")); !o.failed() {
		t.Error("a certificate is shown without a setting")
	}
}

func TestSessionsAreKeptPerBackend(t *testing.T) {
	inBoth(t, func(t *testing.T, version uint16) {
		root, key := newCA(t, "root"), p256()
		der := root.sign(key.Public(), dns("app.example", "b.example"))
		servers := map[uint32]*tls.Config{1: serving(key, der), 2: serving(key, der)} // with different ticket keys
		for _, server := range servers {
			server.MaxVersion = version
		}
		cfg := &farm.Config{Authorities: []farm.Authority{root.authority("root")}}
		s := tlsconf.NewStore(tlsconf.Options{})
		b := &farm.BackendTLS{Verify: farm.VerifyCA, CA: "root"}
		for round := range 3 {
			for id, server := range servers { // a new snapshot each time
				if got := resumes(t, server, backend(t, s, cfg, b).Config(id, "app.example")); got != (round > 0) {
					t.Errorf("round %d, backend %d: resumed %v", round, id, got)
				}
			}
		}
		if resumes(t, servers[1], backend(t, s, cfg, b).Config(1, "b.example")) {
			t.Error("a session of one name is used for another")
		}
		// A change of policy invalidates sessions.
		cfg.Authorities[0].Certificates = append(cfg.Authorities[0].Certificates, newCA(t, "more").cert.Raw)
		if resumes(t, servers[1], backend(t, s, cfg, b).Config(1, "app.example")) {
			t.Error("a session is resumed under other rules")
		}
	})
}

func TestBackendConfigsAreBounded(t *testing.T) {
	b := backend(t, tlsconf.NewStore(tlsconf.Options{}), &farm.Config{}, &farm.BackendTLS{})
	first := b.Config(1, "www.example.com")
	if b.Config(1, "www.example.com") != first || b.Config(2, "www.example.com") == first || b.Config(1, "w.example.com") == first {
		t.Error("each backend and name must have exactly one configuration")
	}
	for i := range 5000 {
		b.Config(1, fmt.Sprintf("attack%d.example", i))
	}
	if n := tlsconf.BackendConfigs(b); n > 600 {
		t.Errorf("%d configurations are kept", n)
	}
	if b.Config(1, "www.example.com") != first {
		t.Error("names that occur once evict a configuration in use")
	}
	for i := range 10_000 {
		b.Config(1, fmt.Sprintf("attack%d.example", i/2))
	}
	if n := tlsconf.BackendConfigs(b); n > 5000 {
		t.Errorf("%d configurations are kept", n)
	}
	// A fixed name is independent of client input.
	fixed := backend(t, tlsconf.NewStore(tlsconf.Options{}), &farm.Config{}, &farm.BackendTLS{Name: "app.example"})
	if fixed.Config(1, "a") != fixed.Config(1, "b") {
		t.Error("a fixed name has a configuration per request")
	}
}

func TestWorkingNamesAreRememberedPerBackend(t *testing.T) {
	b := backend(t, tlsconf.NewStore(tlsconf.Options{}), &farm.Config{}, &farm.BackendTLS{})
	b.Worked(1, "never asked for")
	for range 2 { // requested once, and again
		b.Config(1, "a.example")
		b.Config(2, "a.example")
		if b.HasWorked(2, "a.example") || b.HasWorked(1, "never asked for") {
			t.Error("a name counts as working that never did")
		}
		b.Worked(1, "a.example")
		if !b.HasWorked(1, "a.example") {
			t.Error("a name that worked does not count")
		}
	}
}

// The name may be a view of request bytes, so it must be copied.
func TestBackendConfigsOutliveTheRequest(t *testing.T) {
	b := backend(t, tlsconf.NewStore(tlsconf.Options{}), &farm.Config{}, &farm.BackendTLS{})
	buf := []byte("www.example.com")
	c := b.Config(1, tlsconf.View(buf))
	copy(buf, "xxxxxxxxxxxxxxx")
	if c.ServerName != "www.example.com" || b.Config(1, "www.example.com") != c {
		t.Errorf("%q", c.ServerName)
	}
}

func TestBackendsThatCannotBeVerifiedAreRefused(t *testing.T) {
	root := newCA(t, "root")
	cfg := &farm.Config{Authorities: []farm.Authority{root.authority("root"), {Name: "empty"}}}
	noRoots := tlsconf.Options{Roots: func() (*x509.CertPool, error) { return nil, errors.New("no authorities") }}
	for _, c := range []struct {
		b   farm.BackendTLS
		say string
	}{
		{farm.BackendTLS{Verify: "maybe"}, `"maybe"`},
		{farm.BackendTLS{Verify: farm.VerifyCA}, "name the authority"},
		{farm.BackendTLS{Verify: farm.VerifyCA, CA: "other"}, `"other" is not there`},
		{farm.BackendTLS{Verify: farm.VerifyCA, CA: "empty"}, "no certificate"},
		{farm.BackendTLS{Verify: farm.VerifySystem}, "no authorities"},
		{farm.BackendTLS{Name: "a b"}, `"a b"`},
		{farm.BackendTLS{Name: strings.Repeat("x", 256)}, "neither"},
		{farm.BackendTLS{Certificate: "mine"}, `"mine" is not there`},
	} {
		got, err := tlsconf.NewStore(noRoots).Begin(cfg).Backend(1, &c.b)
		if got != nil || err == nil || !strings.Contains(err.Error(), c.say) {
			t.Errorf("%+v: %v, want %s", c.b, err, c.say)
		}
	}
}

func TestSystemRootsReturnsAPoolOrAnError(t *testing.T) {
	pool, err := tlsconf.SystemRoots()
	if (pool == nil) == (err == nil) {
		t.Errorf("%v, %v", pool, err)
	}
}
