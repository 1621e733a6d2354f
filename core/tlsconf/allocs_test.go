//go:build !race

package tlsconf_test

import (
	"crypto/tls"
	"fmt"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/tlsconf"
)

// thousand returns a listener with 1000 certificates, one for each name.
func thousand(t testing.TB) *tls.Config {
	root := newCA(t, "root")
	cfg := &farm.Config{}
	key := p256()
	for i := range 999 {
		cfg.Certificates = append(cfg.Certificates, root.issue(fmt.Sprint(i), key, dns(fmt.Sprintf("n%d.example.com", i))))
	}
	cfg.Certificates = append(cfg.Certificates, root.issue("wild", key, dns("*.example.org")))
	return listen(t, cfg, all(cfg))
}

func TestChoosingACertificateAllocatesNothing(t *testing.T) {
	server := thousand(t)
	for _, name := range []string{"N998.Example.COM", "any.example.org", "nobody.example.net", "", "10.0.0.1"} {
		h := hello(name)
		if n := testing.AllocsPerRun(200, func() {
			must(server.GetCertificate(h))
			must(server.GetConfigForClient(h))
		}); n > 0 && name != "10.0.0.1" {
			t.Errorf("%q: %v allocations", name, n)
		}
	}
	old := hello("n5.example.com")
	old.SupportedVersions = old.SupportedVersions[1:]
	if n := testing.AllocsPerRun(200, func() { must(server.GetConfigForClient(old)) }); n > 0 {
		t.Errorf("a client of TLS 1.2: %v allocations", n)
	}
	b := backend(t, tlsconf.NewStore(tlsconf.Options{}), &farm.Config{}, &farm.BackendTLS{})
	if n := testing.AllocsPerRun(200, func() { b.Config(1, "www.example.com") }); n > 0 {
		t.Errorf("a backend's configuration: %v allocations", n)
	}
}

func BenchmarkGetCertificate1000(b *testing.B) {
	server, h := thousand(b), hello("n998.example.com")
	b.ReportAllocs()
	for b.Loop() {
		must(server.GetCertificate(h))
	}
}

func BenchmarkGetConfigForClient1000(b *testing.B) {
	server, h := thousand(b), hello("n998.example.com")
	b.ReportAllocs()
	for b.Loop() {
		must(server.GetConfigForClient(h))
	}
}

// Two certificates for one name have to be compared with the ClientHello.
func BenchmarkGetCertificateTwins(b *testing.B) {
	cfg, l := simple(b)
	server, h := listen(b, cfg, l), hello("www.example.com")
	b.ReportAllocs()
	for b.Loop() {
		must(server.GetCertificate(h))
	}
}

// 300 farms with three certificates each are republished without changes.
func BenchmarkRepublish300(b *testing.B) {
	root := newCA(b, "root")
	cfg := &farm.Config{}
	key := p256()
	for i := range 900 {
		cfg.Certificates = append(cfg.Certificates, root.issue(fmt.Sprint(i), key, dns(fmt.Sprintf("n%d.example.com", i))))
	}
	s := tlsconf.NewStore(tlsconf.Options{})
	b.ReportAllocs()
	for b.Loop() {
		build := s.Begin(cfg)
		for i := range 300 {
			must(build.Listener(uint32(i+1), &farm.TLS{Certificates: []string{fmt.Sprint(3 * i), fmt.Sprint(3*i + 1), fmt.Sprint(3*i + 2)}}))
		}
		build.Commit()
	}
}
