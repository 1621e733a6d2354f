package api_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/mgmt/api"
)

// serve runs the server on a local socket and a TLS port until the test ends.
func serve(t *testing.T, a *appliance) (socket, address string, cert tls.Certificate, stop func() error) {
	t.Helper()
	cert, _, err := api.Certificate(t.TempDir(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	socket = filepath.Join(t.TempDir(), "mgmt.sock")
	local, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	network, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- a.server.Serve(ctx, local, network, api.TLSConfig(cert, nil)) }()
	stop = func() error { cancel(); return <-ended }
	t.Cleanup(func() { cancel() })
	return socket, network.Addr().String(), cert, stop
}

func get(t *testing.T, tr *http.Transport, url, key string) (int, string) {
	t.Helper()
	defer tr.CloseIdleConnections()
	r, _ := http.NewRequest(http.MethodGet, url, nil)
	if key != "" {
		r.Header.Set("ZAPI_KEY", key)
	}
	resp, err := tr.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body)
}

func TestServeOnTheLocalSocketAndOverTLS(t *testing.T) {
	a := newAppliance(t)
	socket, address, cert, stop := serve(t, a)
	overSocket := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return net.Dial("unix", socket) }}
	if status, body := get(t, overSocket, "http://local"+api.Base+"/farms", ""); status != 200 {
		t.Errorf("local socket without a key: %d\n%s", status, body)
	}
	roots := x509.NewCertPool()
	roots.AddCert(cert.Leaf)
	overTLS := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
	if status, _ := get(t, overTLS, "https://"+address+api.Base+"/farms", a.key); status != 200 {
		t.Errorf("TLS with the key: %d", status)
	}
	if status, _ := get(t, overTLS, "https://"+address+api.Base+"/farms", ""); status != 401 {
		t.Errorf("TLS without a key: %d, want 401", status)
	}
	if c, err := tls.Dial("tcp", address, &tls.Config{RootCAs: roots, MaxVersion: tls.VersionTLS11}); err == nil {
		c.Close()
		t.Error("TLS 1.1 is spoken")
	}
	plain, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	io.WriteString(plain, "GET "+api.Base+"/farms HTTP/1.1\r\nHost: x\r\n\r\n")
	plain.SetReadDeadline(time.Now().Add(5 * time.Second))
	if answer, _ := io.ReadAll(plain); strings.Contains(string(answer), "200 OK") {
		t.Errorf("plain HTTP is answered: %q", answer)
	}
	if err := stop(); err != nil {
		t.Errorf("ended with %v", err)
	}
	if _, err := net.Dial("tcp", address); err == nil {
		t.Error("still listening after the end")
	}
}

// Cookies and headers depend on whether a request came over TLS (http.Request.TLS).
func TestRequestsOverTLSAreMarkedAsSuch(t *testing.T) {
	socket, address, _, _ := serve(t, newAppliance(t))
	for base, c := range map[string]struct {
		over *http.Transport
		want string
	}{
		"https://" + address: {&http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}, "max-age=31536000"},
		"http://local":       {&http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return net.Dial("unix", socket) }}, ""},
	} {
		defer c.over.CloseIdleConnections()
		r, _ := http.NewRequest(http.MethodGet, base+api.Base+"/farms", nil)
		resp, err := c.over.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if got := resp.Header.Get("Strict-Transport-Security"); got != c.want {
			t.Errorf("%s: got Strict-Transport-Security %q, want %q", base, got, c.want)
		}
	}
}

func TestServeTellsWhenAListenerFails(t *testing.T) {
	a := newAppliance(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	if err := a.server.Serve(t.Context(), l, nil, nil); err == nil {
		t.Error("no error from a closed listener")
	}
}

// The request that moves the listener gets its response on the old one, which then stops
// accepting. The new one uses TLS and authentication.
func TestTheAPIMovesToAnotherListener(t *testing.T) {
	a := newAppliance(t)
	_, before, cert, stop := serve(t, a)
	roots := x509.NewCertPool()
	roots.AddCert(cert.Leaf)
	over := func() *http.Transport { return &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}} }
	old := over()
	defer old.CloseIdleConnections()
	underWay, finish := make(chan struct{}), make(chan struct{})
	a.host.settles = func() { close(underWay); <-finish }
	answered := make(chan int, 1)
	go func() {
		r, _ := http.NewRequest(http.MethodPost, "https://"+before+api.Base+"/system/ntp", strings.NewReader(`{"server":"ntp.example"}`))
		r.Header.Set("ZAPI_KEY", a.key)
		r.Header.Set("Content-Type", "application/json")
		resp, err := old.RoundTrip(r)
		if err != nil {
			t.Error(err)
			answered <- 0
			return
		}
		defer resp.Body.Close()
		answered <- resp.StatusCode
	}()
	<-underWay
	next, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := a.server.Move(t.Context(), next); err != nil {
		t.Fatal(err)
	}
	if status, _ := get(t, over(), "https://"+next.Addr().String()+api.Base+"/farms", a.key); status != 200 {
		t.Errorf("on the new listener: %d", status)
	}
	if status, _ := get(t, over(), "https://"+next.Addr().String()+api.Base+"/farms", ""); status != 401 {
		t.Errorf("on the new listener without a key: %d", status)
	}
	closed := func() bool {
		c, err := net.Dial("tcp", before)
		if err == nil {
			_ = c.Close()
		}
		return err != nil
	}
	for end := time.Now().Add(15 * time.Second); !closed(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the listener before is not closed")
		}
	}
	close(finish)
	if status := <-answered; status != 200 {
		t.Errorf("a request in progress got %d", status)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	late, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := a.server.Move(t.Context(), late); err != nil {
		t.Error(err)
	}
	if c, err := net.Dial("tcp", late.Addr().String()); err == nil {
		_ = c.Close()
		t.Error("a listener that came after the end is open")
	}
}

func TestNothingMovesBeforeTheAPIIsServed(t *testing.T) {
	a := newAppliance(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := a.server.Move(ctx, l); err == nil {
		t.Error("it moved")
	}
	if c, err := net.Dial("tcp", l.Addr().String()); err == nil {
		_ = c.Close()
		t.Error("the listener is open")
	}
}

// A newly chosen certificate is used from the next handshake on.
func TestTheChosenCertificateIsServed(t *testing.T) {
	own, _, err := api.Certificate(t.TempDir(), time.Now(), "own.example")
	if err != nil {
		t.Fatal(err)
	}
	other, _, err := api.Certificate(t.TempDir(), time.Now(), "other.example")
	if err != nil {
		t.Fatal(err)
	}
	var chosen *tls.Certificate
	config := api.TLSConfig(own, func() *tls.Certificate { return chosen })
	for _, want := range []*tls.Certificate{&own, &other, &own} {
		if chosen = nil; want != &own {
			chosen = want
		}
		if got, err := config.GetCertificate(nil); err != nil || got.Leaf.SerialNumber.Cmp(want.Leaf.SerialNumber) != 0 {
			t.Errorf("served %v, %v", got, err)
		}
	}
}

// Anonymous connections must not lock out users.
func TestAnonymousConnectionsKeepNobodyOut(t *testing.T) {
	a := newAppliance(t)
	_, address, cert, _ := serve(t, a)
	roots := x509.NewCertPool()
	roots.AddCert(cert.Leaf)
	known := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
	ask := func() (reused bool) {
		ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) { reused = i.Reused }})
		r, _ := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address+api.Base+"/farms", nil)
		r.Header.Set("ZAPI_KEY", a.key)
		resp, err := known.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if resp.StatusCode != 200 {
			t.Errorf("status %d", resp.StatusCode)
		}
		return reused
	}
	ask()
	for range 300 {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	if !ask() {
		t.Error("a connection of a known client was closed")
	}
	other := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
	if status, _ := get(t, other, "https://"+address+api.Base+"/farms", a.key); status != 200 {
		t.Errorf("another client got %d", status)
	}
}
