package tlsconf_test

import (
	"crypto"
	"crypto/tls"
	"slices"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/tlsconf"
)

// deepCopy returns a deep copy of the configuration, like the next snapshot.
func deepCopy(cfg *farm.Config) *farm.Config {
	out := &farm.Config{}
	for _, c := range cfg.Certificates {
		c.Key = append([]byte(nil), c.Key...)
		c.Staple = append([]byte(nil), c.Staple...)
		chain := c.Chain
		c.Chain = nil
		for _, der := range chain {
			c.Chain = append(c.Chain, append([]byte(nil), der...))
		}
		out.Certificates = append(out.Certificates, c)
	}
	out.Authorities = append(out.Authorities, cfg.Authorities...)
	return out
}

func TestAnUnchangedFarmKeepsItsConfiguration(t *testing.T) {
	root := newCA(t, "root")
	cfg, l := asking(t, farm.ClientAuthOptional, root.authority(""))
	s := tlsconf.NewStore(tlsconf.Options{})
	first := publish(t, s, cfg, 1, l)
	if publish(t, s, deepCopy(cfg), 1, l) != first {
		t.Error("the same farm has another configuration")
	}
	for what, change := range map[string]func(*farm.Config, *farm.TLS){
		"order of certificates": func(_ *farm.Config, l *farm.TLS) { l.Certificates = []string{"rsa", "ecdsa"} },
		"certificate replaced": func(cfg *farm.Config, _ *farm.TLS) {
			cfg.Certificates[0] = root.issue("ecdsa", p256(), dns("www.example.com"))
		},
		"staple": func(cfg *farm.Config, _ *farm.TLS) {
			cfg.Certificates[0].Staple = root.answer(cfg.Certificates[0].Chain[0], 0, newClock().at, newClock().at.AddDate(0, 0, 1))
		},
		"ciphers":  func(_ *farm.Config, l *farm.TLS) { l.Ciphers = farm.CiphersHigh },
		"versions": func(_ *farm.Config, l *farm.TLS) { l.DisableTLS13 = true },
		"groups":   func(_ *farm.Config, l *farm.TLS) { l.Curves = "X25519" },
		"h2":       func(_ *farm.Config, l *farm.TLS) { l.DisableHTTP2 = true },
		"mode":     func(_ *farm.Config, l *farm.TLS) { l.Clients = farm.ClientAuthRequired },
		"CA":       func(cfg *farm.Config, _ *farm.TLS) { cfg.Authorities[0] = newCA(t, "x").authority("clients") },
	} {
		changed, m := deepCopy(cfg), *l
		change(changed, &m)
		b := s.Begin(changed) // not committed
		c, err := b.Listener(1, &m)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if c == first {
			t.Errorf("%s: the configuration is the old one", what)
		}
	}
	if publish(t, s, deepCopy(cfg), 2, l) == first {
		t.Error("two farms share a configuration")
	}
}

// A certificate that is kept is not parsed again: its key is the same object.
func TestUnchangedCertificatesAreNotReadAgain(t *testing.T) {
	cfg, l := simple(t)
	s := tlsconf.NewStore(tlsconf.Options{})
	key := func(c *tls.Config) crypto.PrivateKey {
		return must(c.GetCertificate(&tls.ClientHelloInfo{})).PrivateKey
	}
	first := publish(t, s, cfg, 1, l)
	l.DisableTLS10 = true
	second := publish(t, s, deepCopy(cfg), 1, l)
	if first == second || key(first) != key(second) {
		t.Error("the certificate was read again")
	}
	// The keys of removed certificates are dropped.
	fewer := deepCopy(cfg)
	fewer.Certificates = slices.DeleteFunc(fewer.Certificates, func(c farm.Certificate) bool { return c.Name != "rsa" })
	publish(t, s, fewer, 1, &farm.TLS{Certificates: []string{"rsa"}})
	if third := publish(t, s, deepCopy(cfg), 1, l); key(first) == key(third) {
		t.Error("a certificate that was removed is still kept")
	}
}

func TestRefusedBuildLeavesTheStoreUnchanged(t *testing.T) {
	cfg, l := simple(t)
	s := tlsconf.NewStore(tlsconf.Options{})
	first := publish(t, s, cfg, 1, l)
	b := s.Begin(&farm.Config{})
	if _, err := b.Listener(1, l); err == nil {
		t.Fatal("a farm without its certificates is accepted")
	}
	if publish(t, s, deepCopy(cfg), 1, l) != first {
		t.Error("the farm lost its configuration")
	}
}

func TestFarmsShareCertificatesWithinABuild(t *testing.T) {
	cfg, l := simple(t)
	b := tlsconf.NewStore(tlsconf.Options{}).Begin(cfg)
	one, two := must(b.Listener(1, l)), must(b.Listener(2, l))
	if one == two {
		t.Error("two farms share a configuration")
	}
	hello := &tls.ClientHelloInfo{}
	if must(one.GetCertificate(hello)).PrivateKey != must(two.GetCertificate(hello)).PrivateKey {
		t.Error("a certificate was read twice")
	}
}

// Each configuration is passed to Prepare once, before its first use. Derived ones
// inherit the result.
func TestEachConfigurationIsPrepared(t *testing.T) {
	cfg, l := simple(t)
	prepared := make(map[*tls.Config]int)
	s := tlsconf.NewStore(tlsconf.Options{Prepare: func(c *tls.Config) {
		prepared[c]++
		c.DynamicRecordSizingDisabled = true
	}})
	server := publish(t, s, cfg, 1, l)
	publish(t, s, deepCopy(cfg), 1, l)
	old := hello("www.example.com")
	old.SupportedVersions, old.CipherSuites = []uint16{tls.VersionTLS12}, []uint16{rsaCBC}
	plain := must(server.GetConfigForClient(old))
	b := backend(t, s, cfg, &farm.BackendTLS{}).Config(1, "www.example.com")
	if len(prepared) != 3 || prepared[server] != 1 || plain == nil || prepared[plain] != 1 || !b.DynamicRecordSizingDisabled {
		t.Errorf("%d are prepared, the farm's %d times", len(prepared), prepared[server])
	}
}
