package http2_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// selfSigned returns a certificate for tests.
func selfSigned(t testing.TB) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"localhost"}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// goClients returns net/http clients over cleartext, TLS and a pipe.
func goClients(t *testing.T) map[string]struct {
	url    string
	client *http.Client
} {
	t.Helper()
	plain := listen(t, nil)
	config := &tls.Config{Certificates: []tls.Certificate{selfSigned(t)}, NextProtos: []string{"h2"}}
	secure := listen(t, func(c net.Conn) net.Conn { return tls.Server(c, config) })
	var cleartext, encrypted http.Protocols
	cleartext.SetUnencryptedHTTP2(true)
	encrypted.SetHTTP2(true)
	overPipe := func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go serve(ours, newShared()).run()
		return theirs, nil
	}
	type entry = struct {
		url    string
		client *http.Client
	}
	return map[string]entry{
		"cleartext": {"http://" + plain, &http.Client{Transport: &http.Transport{Protocols: &cleartext}}},
		"TLS": {"https://" + secure, &http.Client{Transport: &http.Transport{
			Protocols: &encrypted, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}},
		"pipe": {"http://pipe.test", &http.Client{Transport: &http.Transport{Protocols: &cleartext, DialContext: overPipe}}},
	}
}

func get(t *testing.T, client *http.Client, url string) (*http.Response, string) {
	t.Helper()
	r, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(r.Body)
	_ = r.Body.Close()
	if err != nil {
		t.Fatal(err)
	}
	return r, string(b)
}

func TestNetHTTPClientIsServed(t *testing.T) {
	for name, e := range goClients(t) {
		t.Run(name, func(t *testing.T) {
			r, body := get(t, e.client, e.url+"/")
			if r.ProtoMajor != 2 || r.StatusCode != 200 || body != "hello" || r.Header.Get("Content-Type") != "text/plain" {
				t.Errorf("%s %d %q %v", r.Proto, r.StatusCode, body, r.Header)
			}
			if _, body := get(t, e.client, e.url+"/bytes?3000000"); len(body) != 3000000 {
				t.Errorf("%d bytes", len(body))
			}
			if r, _ := get(t, e.client, e.url+"/trailers"); r.Trailer.Get("X-Sum") != "42" || r.Trailer.Get("Grpc-Status") != "0" {
				t.Errorf("trailers %v", r.Trailer)
			}
			echo(t, e.client, e.url, 0)
			echo(t, e.client, e.url, 2_500_000)
			r, err := e.client.Post(e.url+"/sum", "text/plain", strings.NewReader(strings.Repeat("x", 700_000)))
			if err != nil {
				t.Fatal(err)
			}
			if b, _ := io.ReadAll(r.Body); string(b) != "got 700000" {
				t.Errorf("%q", b)
			}
			if r, err := e.client.Head(e.url + "/"); err != nil || r.ContentLength != 5 {
				t.Errorf("HEAD: %v, %v", r, err)
			}
			if r, _ := get(t, e.client, e.url+"/%00"); r.StatusCode != 400 {
				t.Errorf("status %d of a path http1 refuses", r.StatusCode)
			}
			interim(t, e.client, e.url)
		})
	}
}

func echo(t *testing.T, client *http.Client, url string, n int) {
	t.Helper()
	sent := make([]byte, n)
	_, _ = rand.Read(sent)
	r, err := client.Post(url+"/echo", "application/octet-stream", bytes.NewReader(sent))
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(r.Body)
	if err != nil || !bytes.Equal(got, sent) {
		t.Errorf("echo of %d bytes: got %d, %v", n, len(got), err)
	}
}

func interim(t *testing.T, client *http.Client, url string) {
	t.Helper()
	var hints textproto.MIMEHeader
	trace := &httptrace.ClientTrace{Got1xxResponse: func(code int, h textproto.MIMEHeader) error {
		hints = h
		return nil
	}}
	q, _ := http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), trace), "GET", url+"/hints", nil)
	r, err := client.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, r.Body)
	if r.StatusCode != 200 || hints.Get("Link") != "</a>" {
		t.Errorf("%d, hints %v", r.StatusCode, hints)
	}
}

func TestManyStreamsAtOnce(t *testing.T) {
	for name, e := range goClients(t) {
		t.Run(name, func(t *testing.T) {
			var wg sync.WaitGroup
			for i := range 200 {
				wg.Go(func() {
					n := (i * 7919) % 300_000
					r, err := e.client.Get(fmt.Sprintf("%s/bytes?%d", e.url, n))
					if err != nil {
						t.Error(err)
						return
					}
					if b, err := io.ReadAll(r.Body); err != nil || len(b) != n {
						t.Errorf("got %d bytes, want %d, %v", len(b), n, err)
					}
				})
			}
			wg.Wait()
		})
	}
}

// program runs an external client, if it is installed.
func program(t *testing.T, name string, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		t.Skipf("%s is not installed", name)
	}
	out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v\n%s", name, err, out)
	}
	return string(out)
}

func TestCurlIsServed(t *testing.T) {
	addr := listen(t, nil)
	if out := program(t, "curl", "-sS", "--http2-prior-knowledge", "-d", "abc", "-w", "|%{http_version}", "http://"+addr+"/echo"); out != "abc|2" {
		t.Errorf("got %q, want %q", out, "abc|2")
	}
	out := program(t, "curl", "-sS", "--http2-prior-knowledge", "-i", "-b", "a=1; b=2", "http://"+addr+"/trailers")
	if !strings.Contains(out, "HTTP/2 200") || !strings.Contains(out, "x-sum: 42") {
		t.Errorf("%s", out)
	}
}

func TestNghttpIsServed(t *testing.T) {
	addr := listen(t, nil)
	out := program(t, "nghttp", "-nv", "http://"+addr+"/trailers", "http://"+addr+"/bytes?200000")
	if !strings.Contains(out, "x-sum: 42") || strings.Contains(out, "RST_STREAM") {
		t.Errorf("%s", out)
	}
}

func TestH2loadIsServed(t *testing.T) {
	addr := listen(t, nil)
	out := program(t, "h2load", "-n", "4000", "-c", "8", "-m", "100", "http://"+addr+"/bytes?128")
	if !strings.Contains(out, "4000 succeeded, 0 failed, 0 errored") {
		t.Errorf("%s", out)
	}
	out = program(t, "h2load", "-n", "400", "-c", "2", "-m", "100", "-w", "20", "-W", "22", "http://"+addr+"/bytes?100000")
	if !strings.Contains(out, "400 succeeded, 0 failed, 0 errored") {
		t.Errorf("%s", out)
	}
}
