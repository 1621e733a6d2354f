package proxy_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"io"
	"math/big"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/l7test"
)

// clients returns a CA and a client certificate signed by it.
func clients(t testing.TB, subject pkix.Name) (farm.Authority, tls.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	root := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Clients, of a test"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, NotBefore: time.Unix(1_600_000_000, 0), NotAfter: time.Unix(4_000_000_000, 0),
	}
	ca, err := x509.CreateCertificate(rand.Reader, root, root, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(0xabcdef), Subject: subject, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		NotBefore: time.Unix(1_600_000_000, 0), NotAfter: time.Unix(3_999_999_999, 0),
	}
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, root, own.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return farm.Authority{Name: "clients", Certificates: [][]byte{ca}}, tls.Certificate{Certificate: [][]byte{der}, PrivateKey: own}
}

// asking makes the farm request certificates and trust its peers.
func asking(t testing.TB, a *l7test.Appliance, ca farm.Authority, mode farm.ClientAuth, tell bool) func(*farm.HTTP) {
	edit := a.HTTPS(l7test.Certificate(t, "a.pem", "a.test"))
	a.Authorities = []farm.Authority{ca}
	return func(h *farm.HTTP) {
		edit(h)
		h.Trusted = networks("127.0.0.0/8")
		h.TLS.Clients, h.TLS.ClientCA, h.TLS.ClientHeaders = mode, ca.Name, tell
	}
}

// forged returns fields that clients must not set.
func forged() http.Header {
	return http.Header{"X-SSL-Subject": {"CN=root"}, "x-ssl-ISSUER": {"CN=root"}, "X_SSL_Subject": {"CN=root"}, "X-SSL-Client-Verify": {"SUCCESS"}, "X-SSL_certificate": {"MII"}}
}

func forge(t *testing.T, c *http.Client) *http.Response {
	t.Helper()
	req, _ := http.NewRequest("GET", "https://a.test/", nil)
	req.Header = forged()
	res, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.ReadAll(res.Body)
	if res.StatusCode != 200 {
		t.Fatal(res.Status)
	}
	return res
}

// lastHead returns the TLS fields of the last head that a backend received.
func lastHead(b *l7test.Backend) (told []string) {
	all := b.Received()
	head := all[strings.LastIndex(all, "GET / "):]
	for line := range strings.Lines(head) {
		if plain := strings.ToLower(strings.ReplaceAll(line, "_", "-")); strings.HasPrefix(plain, "x-ssl-") {
			told = append(told, strings.TrimSpace(line))
		}
	}
	return told
}

func TestBackendsAreToldOfTheCertificate(t *testing.T) {
	t.Parallel()
	ca, shown := clients(t, pkix.Name{Country: []string{"ES"}, Organization: []string{"Two, Ltd"}, CommonName: "José\r\nX-Admin: yes"})
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		h2 := version == tls.VersionTLS13
		b := l7test.NewBackend(t, l7test.Answer(ok))
		a := l7test.New(t, 1)
		addr := a.Serve(asking(t, a, ca, farm.ClientAuthRequired, true), l7test.Service("web", b.Addr))
		cache := tls.NewLRUClientSessionCache(1)
		for connection := range 3 { // later connections are resumed
			c := browser(t, addr, &tls.Config{Certificates: []tls.Certificate{shown}, ClientSessionCache: cache, MaxVersion: version})
			c.Transport.(*http.Transport).ForceAttemptHTTP2 = h2
			for range 2 {
				if res := forge(t, c); res.TLS.DidResume != (connection > 0) || res.TLS.Version != version || (res.ProtoMajor == 2) != h2 {
					t.Errorf("connection %d: %s, %+v", connection, res.Proto, res.TLS)
				}
				leaf, err := x509.ParseCertificate(shown.Certificate[0])
				if err != nil {
					t.Fatal(err)
				}
				told := lastHead(b)
				want := []string{
					`X-SSL-Subject: CN=Jos\C3\A9\0D\0AX-Admin: yes,O=Two\, Ltd,C=ES`, `X-SSL-Issuer: CN=Clients\, of a test`,
					"X-SSL-notBefore: Sep 13 12:26:40 2020 GMT", "X-SSL-notAfter: " + leaf.NotAfter.UTC().Format("Jan _2 15:04:05 2006 GMT"), "X-SSL-serial: ABCDEF",
				}
				if len(told) != 7 || strings.Join(told[:5], "\n") != strings.Join(want, "\n") {
					t.Fatalf("HTTP/2 %t: got\n%s", h2, strings.Join(told, "\n"))
				}
				if !strings.HasPrefix(told[5], "X-SSL-cipher: TLSv1.") || !strings.Contains(told[5], "/TLS_") {
					t.Error(told[5])
				}
				body, _ := strings.CutPrefix(told[6], "X-SSL-certificate: -----BEGIN CERTIFICATE----- ")
				body, _ = strings.CutSuffix(body, " -----END CERTIFICATE-----")
				block, _ := pem.Decode([]byte("-----BEGIN CERTIFICATE-----\n" + strings.ReplaceAll(body, " ", "\n") + "\n-----END CERTIFICATE-----\n"))
				if block == nil || string(block.Bytes) != string(leaf.Raw) {
					t.Errorf("got the certificate %q", told[6])
				}
			}
			c.CloseIdleConnections()
		}
		if strings.Contains(b.Received(), "\nX-Admin") {
			t.Error("a name became a field")
		}
	}
}

func TestCertificateFieldsCannotBeForged(t *testing.T) {
	t.Parallel()
	ca, _ := clients(t, pkix.Name{CommonName: "c"})
	for _, tell := range []bool{false, true} {
		for _, h2 := range []bool{false, true} {
			b := l7test.NewBackend(t, l7test.Answer(ok))
			a := l7test.New(t, 1)
			c := browser(t, a.Serve(asking(t, a, ca, farm.ClientAuthOptional, tell), l7test.Service("web", b.Addr)), nil)
			c.Transport.(*http.Transport).ForceAttemptHTTP2 = h2
			forge(t, c)
			if told := lastHead(b); len(told) != 0 {
				t.Errorf("certificate fields %t, HTTP/2 %t: %q was forwarded", tell, h2, told)
			}
		}
	}
}

func TestCertificateFieldsAreOffByDefault(t *testing.T) {
	t.Parallel()
	ca, shown := clients(t, pkix.Name{CommonName: "c"})
	b := l7test.NewBackend(t, l7test.Answer(ok))
	a := l7test.New(t, 1)
	forge(t, browser(t, a.Serve(asking(t, a, ca, farm.ClientAuthRequired, false), l7test.Service("web", b.Addr)), &tls.Config{Certificates: []tls.Certificate{shown}}))
	if told := lastHead(b); len(told) != 0 {
		t.Errorf("got %q", told)
	}
}

// Certificates may be of any size, but heads may not.
func TestCertificateFieldsThatAreTooLongAreOmitted(t *testing.T) {
	t.Parallel()
	ca, shown := clients(t, pkix.Name{ExtraNames: []pkix.AttributeTypeAndValue{{Type: asn1.ObjectIdentifier{2, 5, 4, 3}, Value: strings.Repeat("x", 20_000)}}})
	b := l7test.NewBackend(t, l7test.Answer(ok))
	a := l7test.New(t, 1)
	forge(t, browser(t, a.Serve(asking(t, a, ca, farm.ClientAuthRequired, true), l7test.Service("web", b.Addr)), &tls.Config{Certificates: []tls.Certificate{shown}}))
	if told := lastHead(b); len(told) != 5 || !strings.HasPrefix(told[0], "X-SSL-Issuer: ") {
		t.Errorf("got %d fields: %.100q", len(told), told)
	}
}
