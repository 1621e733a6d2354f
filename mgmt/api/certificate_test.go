package api_test

import (
	"crypto/rsa"
	"crypto/tls"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/mgmt/api"
)

func TestCertificateIsMadeOnceAndKept(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	first, why, err := api.Certificate(dir, now, "lb.example.com", "203.0.113.5")
	if err != nil || why == "" {
		t.Fatalf("why %q, error %v", why, err)
	}
	leaf := first.Leaf
	if key := leaf.PublicKey.(*rsa.PublicKey); key.N.BitLen() != 2048 {
		t.Errorf("%d bits, want 2048", key.N.BitLen())
	}
	host, _ := os.Hostname()
	for _, name := range []string{host, "localhost", "lb.example.com", "127.0.0.1", "::1", "203.0.113.5"} {
		if err := leaf.VerifyHostname(name); err != nil {
			t.Errorf("not valid for %s: %v", name, err)
		}
	}
	info, err := os.Stat(filepath.Join(dir, api.CertificateFile))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v, want 0600", info.Mode(), err)
	}
	again, why, err := api.Certificate(dir, now)
	if err != nil || why != "" || !slices.Equal(again.Certificate[0], first.Certificate[0]) {
		t.Errorf("the second start made another certificate: %q, %v", why, err)
	}
}

func TestBrokenOrOldCertificateIsReplaced(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	if _, _, err := api.Certificate(dir, now); err != nil {
		t.Fatal(err)
	}
	if _, why, err := api.Certificate(dir, now.Add(5*365*24*time.Hour)); err != nil || !strings.Contains(why, "expires") {
		t.Errorf("old certificate: why %q, error %v", why, err)
	}
	path := filepath.Join(dir, api.CertificateFile)
	for _, content := range []string{"", "no PEM", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"} {
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		cert, why, err := api.Certificate(dir, now)
		if err != nil || !strings.Contains(why, "broken") || cert.Leaf == nil {
			t.Errorf("%q: why %q, error %v", content, why, err)
		}
		if info, _ := os.Stat(path); info.Mode().Perm() != 0o600 {
			t.Errorf("%q: mode %v, want 0600", content, info.Mode())
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestCertificateThatCannotBeKeptIsAnError(t *testing.T) {
	if _, _, err := api.Certificate(filepath.Join(t.TempDir(), "none"), time.Now()); err == nil {
		t.Error("no error for a directory that does not exist")
	}
}

// A client that offers only CBC is refused. Any other client gets an AEAD suite.
func TestTheAPIOffersNoCBC(t *testing.T) {
	cert, _, err := api.Certificate(t.TempDir(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	config := api.TLSConfig(cert, nil)
	for _, id := range config.CipherSuites {
		if name := tls.CipherSuiteName(id); strings.Contains(name, "CBC") || !strings.Contains(name, "ECDHE") {
			t.Errorf("%s is offered", name)
		}
	}
	for suite, want := range map[uint16]bool{tls.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA: false, tls.TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA: false, tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256: true} {
		here, there := net.Pipe()
		go func() { _ = tls.Server(there, config).Handshake(); there.Close() }()
		client := tls.Client(here, &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{suite}})
		if err := client.Handshake(); (err == nil) != want {
			t.Errorf("%s: %v", tls.CipherSuiteName(suite), err)
		}
		here.Close()
	}
}
