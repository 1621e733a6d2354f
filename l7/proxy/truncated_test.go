package proxy_test

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/l7test"
)

// ending is a TLS backend whose responses end with the connection, with or without
// close_notify.
func ending(t *testing.T, notify bool) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	config := &tls.Config{Certificates: []tls.Certificate{l7test.KeyPair(t, l7test.Certificate(t, "b.pem", "b.test"))}}
	go func() {
		for {
			raw, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = raw.Close() }()
				c := tls.Server(raw, config)
				if _, err := http.ReadRequest(bufio.NewReader(c)); err != nil {
					return
				}
				_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\nfirst ")
				time.Sleep(20 * time.Millisecond)
				_, _ = io.WriteString(c, "second")
				if notify {
					_ = c.CloseWrite()
				}
			}()
		}
	}()
	return ln.Addr().String()
}

func TestAnswerThatSomebodyElseMayHaveCutIsNotShownAsWhole(t *testing.T) {
	t.Parallel()
	for _, notify := range []bool{true, false} {
		for _, kind := range []string{"plain", "HTTP/1.1", "HTTP/2"} {
			service := l7test.Service("web", ending(t, notify))
			service.TLS = &farm.BackendTLS{}
			a := l7test.New(t, 1)
			var get func() (string, error)
			if kind == "plain" {
				addr := a.Serve(nil, service)
				get = func() (string, error) {
					c := l7test.Dial(t, addr).Send("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n")
					res, err := http.ReadResponse(c.Reader(), nil)
					if err != nil {
						return "", err
					}
					all, err := io.ReadAll(res.Body)
					return string(all), err
				}
			} else {
				c := browser(t, a.Serve(a.HTTPS(l7test.Certificate(t, "a.pem", "a.test")), service), nil)
				c.Transport.(*http.Transport).ForceAttemptHTTP2 = kind == "HTTP/2"
				get = func() (string, error) {
					res, err := c.Get("https://a.test/")
					if err != nil {
						return "", err
					}
					all, err := io.ReadAll(res.Body)
					return string(all), err
				}
			}
			got, err := get()
			if notify && (err != nil || got != "first second") || !notify && err == nil {
				t.Errorf("close_notify %t, %s: %q, %v", notify, kind, got, err)
			}
			if !notify {
				l7test.Eventually(t, "a line is left", func() bool { return len(a.Log.Lines("class=cut-answer")) == 1 })
			}
		}
	}
}

// A request states its length, so a truncated one never looks complete.
func TestRequestThatWasCutIsNotShownAsWhole(t *testing.T) {
	t.Parallel()
	for _, framing := range []string{"Content-Length: 100\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n5\r\n"} {
		b := l7test.NewBackend(t, func(c *l7test.Recorder) { _, _ = io.Copy(io.Discard, struct{ io.Reader }{c}) })
		a := l7test.New(t, 1)
		raw := l7test.Dial(t, a.Serve(a.HTTPS(l7test.Certificate(t, "a.pem", "a.test")), l7test.Service("web", b.Addr)))
		c := tls.Client(raw.TCPConn, &tls.Config{InsecureSkipVerify: true})
		if _, err := io.WriteString(c, "POST / HTTP/1.1\r\nHost: a.test\r\n"+framing+"hello"); err != nil {
			t.Fatal(err)
		}
		l7test.Eventually(t, "the backend has the beginning", func() bool { return strings.Contains(b.Received(), "hello") })
		_ = raw.Close() // without close_notify
		l7test.Eventually(t, "the backend's connection ends", func() bool { return b.Open() == 0 })
		if got := b.Received(); strings.Contains(got, "\r\n0\r\n") {
			t.Errorf("%q became %q", framing, got)
		}
	}
}
