package proxy_test

import (
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/l7test"
)

// browser is a client of the farm at addr for any host name.
func browser(t *testing.T, addr string, config *tls.Config) *http.Client {
	if config == nil {
		config = &tls.Config{}
	}
	config.InsecureSkipVerify = true
	transport := &http.Transport{TLSClientConfig: config}
	transport.DialTLSContext = nil
	transport.DialContext = l7test.DialOnly(addr)
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

func TestFarmWithTLSServesEveryVersionAndBothKinds(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, l7test.Answer(ok))
	a := l7test.New(t, 2)
	addr := a.Serve(a.HTTPS(l7test.Certificate(t, "ec.pem", "a.test"), l7test.Certificate(t, "rsa.pem", "a.test")), l7test.Service("web", b.Addr))
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		for _, suite := range []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256} {
			c := browser(t, addr, &tls.Config{MinVersion: version, MaxVersion: version, CipherSuites: []uint16{suite}})
			for range 3 {
				resp, err := c.Get("https://a.test/x")
				if err != nil {
					t.Fatalf("%x %x: %v", version, suite, err)
				}
				body, _ := io.ReadAll(resp.Body)
				if resp.StatusCode != 200 || string(body) != "ok" || resp.TLS.Version != version {
					t.Errorf("%x %x: %d %q", version, suite, resp.StatusCode, body)
				}
			}
		}
	}
	if got := b.Received(); !strings.Contains(got, "X-Forwarded-Proto: https\r\n") || strings.Contains(got, "X-Forwarded-Proto: http\r\n") {
		t.Errorf("the backend got %q", got)
	}
}

func TestCertificateIsChosenByName(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, l7test.Answer(ok))
	a := l7test.New(t, 1)
	addr := a.Serve(a.HTTPS(l7test.Certificate(t, "first.pem", "a.test"), l7test.Certificate(t, "wild.pem", "*.b.test")), l7test.Service("web", b.Addr))
	for name, want := range map[string]string{"a.test": "first.pem", "x.b.test": "wild.pem", "other.test": "first.pem"} {
		resp, err := browser(t, addr, nil).Get("https://" + name + "/")
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if got := resp.TLS.PeerCertificates[0].Subject.CommonName; got != want {
			t.Errorf("%s: shown %s, want %s", name, got, want)
		}
	}
}

func TestCertificateIsReplacedWithoutALostConnection(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, l7test.Answer(ok))
	a := l7test.New(t, 1)
	edit := a.HTTPS(l7test.Certificate(t, "one.pem", "a.test"))
	addr := a.Serve(edit, l7test.Service("web", b.Addr))
	kept := browser(t, addr, nil)
	var last string
	for n := range 20 {
		resp, err := kept.Get("https://a.test/")
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.ReadAll(resp.Body)
		fresh, err := browser(t, addr, nil).Get("https://a.test/")
		if err != nil {
			t.Fatalf("replacement %d: %v", n, err)
		}
		_ = fresh.Body.Close()
		shown := fmt.Sprint(fresh.TLS.PeerCertificates[0].SerialNumber)
		if shown == last {
			t.Errorf("replacement %d: the old certificate is shown", n)
		}
		last = shown
		a.Certificates = []farm.Certificate{l7test.Certificate(t, "one.pem", "a.test")}
		a.Serve(edit, l7test.Service("web", b.Addr))
	}
	if n := a.Segment.SumFarm(1).Connections; n != 21 {
		t.Errorf("%d connections, want 21: the kept one and 20 fresh ones", n)
	}
}

func TestPlainHTTPOnAPortWithTLSIsAnswered(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, l7test.Answer(ok))
	a := l7test.New(t, 1)
	edit := a.HTTPS(l7test.Certificate(t, "ec.pem", "a.test"))
	for _, c := range []struct {
		edit   func(*farm.TLS)
		status int
		text   string
	}{
		{func(*farm.TLS) {}, 400, "HTTPS only"},
		{func(s *farm.TLS) { s.ErrorNoSSL = "speak TLS" }, 400, "speak TLS"},
		{func(s *farm.TLS) { s.NoSSLRedirect, s.NoSSLCode = "https://a.test/", 301 }, 301, "Location: https://a.test/"},
	} {
		addr := a.Serve(func(h *farm.HTTP) { edit(h); c.edit(h.TLS) }, l7test.Service("web", b.Addr))
		got := l7test.Dial(t, addr).Send("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n").Rest()
		if !strings.HasPrefix(got, fmt.Sprintf("HTTP/1.1 %d ", c.status)) || !strings.Contains(got, c.text) {
			t.Errorf("want %d %q, got %q", c.status, c.text, got)
		}
	}
	if b.Accepted() != 0 {
		t.Error("a plain request reached the backend")
	}
}

func TestBodiesOfAnySizePassThroughTLSBothWays(t *testing.T) {
	t.Parallel()
	sums := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := sha256.New()
		body, _ := io.ReadAll(io.TeeReader(r.Body, h))
		w.Header().Set("X-Sum", fmt.Sprintf("%x", h.Sum(nil)))
		_, _ = w.Write(body)
	})
	plain, secure := httptest.NewServer(sums), httptest.NewTLSServer(sums)
	defer plain.Close()
	defer secure.Close()
	for name, s := range map[string]*httptest.Server{"plain backend": plain, "self-signed backend": secure} {
		a := l7test.New(t, 2)
		service := l7test.Service("web", s.Listener.Addr().String())
		if s == secure {
			service.TLS = &farm.BackendTLS{}
		}
		addr := a.Serve(a.HTTPS(l7test.Certificate(t, "ec.pem", "a.test")), service)
		c := browser(t, addr, nil)
		for _, size := range []int{0, 1, 100, 16 << 10, 16<<10 + 1, 1 << 20, 9<<20 + 7} {
			body := strings.Repeat("0123456789abcdef!", size/17+1)[:size]
			resp, err := c.Post("https://a.test/", "text/plain", strings.NewReader(body))
			if err != nil {
				t.Fatalf("%s, %d bytes: %v", name, size, err)
			}
			got, err := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if err != nil || string(got) != body || resp.Header.Get("X-Sum") != fmt.Sprintf("%x", sha256.Sum256([]byte(body))) {
				t.Errorf("%s, %d bytes: got %d, %v", name, size, len(got), err)
			}
		}
	}
}

func TestBackendWithTLSIsAskedForTheHostOfTheRequestAndVerifiedByChoice(t *testing.T) {
	t.Parallel()
	certificate := l7test.Certificate(t, "backend.pem", "a.test")
	var names atomic.Value
	var handshakes, resumed atomic.Int32
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		names.Store(r.TLS.ServerName)
		_, _ = io.WriteString(w, r.Host)
	}))
	s.TLS = &tls.Config{Certificates: []tls.Certificate{l7test.KeyPair(t, certificate)}, VerifyConnection: func(st tls.ConnectionState) error {
		handshakes.Add(1)
		if st.DidResume {
			resumed.Add(1)
		}
		return nil
	}}
	s.StartTLS()
	defer s.Close()
	a := l7test.New(t, 1)
	get := func(c *l7test.Client, host string) l7test.Response {
		return c.Send("GET / HTTP/1.1\r\nHost: " + host + "\r\n\r\n").Get()
	}
	serve := func(b farm.BackendTLS) *l7test.Client {
		service := l7test.Service("web", s.Listener.Addr().String())
		service.TLS = &b
		return l7test.Dial(t, a.Serve(nil, service))
	}
	c := serve(farm.BackendTLS{})
	for _, host := range []string{"a.test", "b.test", "a.test", "a.test:8443", "b.test"} {
		if r := get(c, host); r.StatusCode != 200 || names.Load() != strings.TrimSuffix(host, ":8443") {
			t.Errorf("%s: %d, the TLS name was %v", host, r.StatusCode, names.Load())
		}
	}
	if n := handshakes.Load(); n != 2 {
		t.Errorf("%d handshakes for two names, want 2: connections are kept by name", n)
	}
	if r := get(serve(farm.BackendTLS{Name: "fixed.test"}), "a.test"); r.StatusCode != 200 || names.Load() != "fixed.test" {
		t.Errorf("fixed name: %d, the TLS name was %v", r.StatusCode, names.Load())
	}
	if r := get(serve(farm.BackendTLS{Verify: farm.VerifySystem}), "a.test"); r.StatusCode != 502 {
		t.Errorf("a self-signed backend was trusted: %d", r.StatusCode)
	}
}
