package l7test

import (
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
)

// HTTP2Client returns an HTTP/2 client for the farm at addr: over TLS if secure, otherwise
// with prior knowledge.
func HTTP2Client(t testing.TB, addr string, secure bool) *http.Client {
	transport := &http.Transport{Protocols: http2(secure), DialContext: DialOnly(addr), TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// HTTP2Server starts an HTTP/2-only backend that stops with the test.
func HTTP2Server(t testing.TB, handler http.Handler, secure bool, edit ...func(*http.Server)) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(handler)
	s.Config.Protocols = http2(secure)
	for _, e := range edit {
		e(s.Config)
	}
	if secure {
		s.EnableHTTP2 = true
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	return s
}

// http2 allows only HTTP/2: over TLS if secure, otherwise with prior knowledge.
func http2(secure bool) *http.Protocols {
	var p http.Protocols
	p.SetHTTP2(secure)
	p.SetUnencryptedHTTP2(!secure)
	return &p
}

// HTTP2Service returns a service with HTTP/2 backends.
func HTTP2Service(secure bool, addrs ...string) farm.Service {
	s := Service("web", addrs...)
	s.BackendProtocol = farm.BackendHTTP2
	if secure {
		s.TLS = &farm.BackendTLS{}
	}
	return s
}

// EveryPath runs a test for each combination of client kind and HTTP/2 backend kind.
func EveryPath(t *testing.T, handler http.Handler, test func(t *testing.T, a *Appliance, c *http.Client, url string), edit ...func(*farm.HTTP)) {
	for _, client := range []string{"http1", "h2c", "h2"} {
		for _, secure := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, secure backend %t", client, secure), func(t *testing.T) {
				t.Parallel()
				s := HTTP2Server(t, handler, secure)
				a := New(t, 2)
				var edits []func(*farm.HTTP)
				url := "http://a.test"
				if client == "h2" {
					url = "https://a.test"
					edits = append(edits, a.HTTPS(Certificate(t, "ec.pem", "a.test")))
				}
				addr := a.Serve(func(h *farm.HTTP) {
					for _, e := range append(edits, edit...) {
						e(h)
					}
				}, HTTP2Service(secure, s.Listener.Addr().String()))
				c := HTTP2Client(t, addr, client == "h2")
				if client == "http1" {
					transport := &http.Transport{DialContext: DialOnly(addr), TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
					t.Cleanup(transport.CloseIdleConnections)
					c.Transport = transport
				}
				test(t, a, c, url)
			})
		}
	}
}

// Echo responds with the request body, in the framing selected by the query.
var Echo = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Proto", r.Proto)
	w.Header().Set("X-Forwarded", r.Header.Get("X-Forwarded-Proto"))
	if r.URL.Query().Has("trailer") {
		w.Header().Set("Trailer", "X-Sum")
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		w.WriteHeader(500)
		return
	}
	if r.URL.Query().Has("length") {
		w.Header().Set("Content-Length", fmt.Sprint(len(body)))
	}
	_, _ = w.Write(body)
	if r.URL.Query().Has("trailer") {
		w.Header().Set("X-Sum", fmt.Sprintf("%x", sha256.Sum256(body)))
	}
})

// EachWay runs a test with HTTP/2 clients over TLS and with prior knowledge.
func EachWay(t *testing.T, handler http.Handler, test func(t *testing.T, a *Appliance, c *http.Client, url string), edit ...func(*farm.HTTP)) {
	for name, secure := range map[string]bool{"tls": true, "prior knowledge": false} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(handler)
			t.Cleanup(s.Close)
			a := New(t, 2)
			with := func(h *farm.HTTP) {
				for _, e := range edit {
					e(h)
				}
			}
			url := "http://a.test"
			if secure {
				tls := a.HTTPS(Certificate(t, "ec.pem", "a.test"))
				plain := with
				with = func(h *farm.HTTP) { tls(h); plain(h) }
				url = "https://a.test"
			}
			addr := a.Serve(with, Service("web", s.Listener.Addr().String()))
			test(t, a, HTTP2Client(t, addr, secure), url)
		})
	}
}
