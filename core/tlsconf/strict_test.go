package tlsconf_test

import (
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/tlsconf"
)

func TestNamesWithTheSameCertificateAreReported(t *testing.T) {
	root := newCA(t, "root")
	cfg := &farm.Config{Certificates: []farm.Certificate{
		root.issue("first", p256(), dns("a.test", "also-a.test", "*.a.test")),
		root.issue("b-ec", p256(), dns("b.test", "shared.test")),
		root.issue("b-rsa", rsa2048(), dns("b.test")),
		root.issue("c", p256(), dns("*.c.test")),
		root.issue("shared-rsa", rsa2048(), dns("shared.test")),
	}}
	build := tlsconf.NewStore(tlsconf.Options{}).Begin(cfg)
	config, err := build.Listener(1, all(cfg))
	if err != nil {
		t.Fatal(err)
	}
	names := build.Names(config)
	for _, c := range []struct {
		one, other string
		same       bool
	}{
		{"a.test", "A.test.", true},
		{"a.test", "also-a.test", true},
		{"a.test", "x.a.test", true},
		{"a.test", "b.test", false},
		{"a.test", "unknown.test", true}, // the first by default
		{"", "a.test", true},
		{"", "b.test", false},
		{"b.test", "unknown.test", false},
		{"", "192.0.2.1", true},
		{"", "2001:db8::1", true},
		{"b.test", "192.0.2.1", false},
		{"x.c.test", "y.c.test", true},
		{"x.c.test", "c.test", false},
		{"b.test", "shared.test", false}, // the same key of one kind, not of the other
		{"b.test", "b.test", true},
	} {
		if names.Same(c.one, c.other) != c.same || names.Same(c.other, c.one) != c.same {
			t.Errorf("%q and %q: same is not %t", c.one, c.other, c.same)
		}
	}
	if build.Names(nil) != nil {
		t.Error("names without a certificate")
	}
}

func TestComparingNamesAllocatesNothing(t *testing.T) {
	cfg, l := simple(t)
	build := tlsconf.NewStore(tlsconf.Options{}).Begin(cfg)
	config, err := build.Listener(1, l)
	if err != nil {
		t.Fatal(err)
	}
	names := build.Names(config)
	if n := testing.AllocsPerRun(100, func() { names.Same("www.example.com", "WWW.example.net") }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
