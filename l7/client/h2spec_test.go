package client_test

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/summerwind/h2spec/config"
	"github.com/summerwind/h2spec/generic"
	"github.com/summerwind/h2spec/hpack"
	"github.com/summerwind/h2spec/http2"
	"github.com/summerwind/h2spec/spec"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/l7test"
)

// The whole appliance passes h2spec including the strict cases, over TLS and with prior
// knowledge. With the latter one case differs: input without the preface is HTTP/1 and gets
// a 400.
func TestHTTP2Conforms(t *testing.T) {
	t.Parallel()
	for name, secure := range map[string]bool{"tls": true, "prior knowledge": false} {
		t.Run(name, func(t *testing.T) {
			// It reads the whole body first, because an early response ends the stream.
			b := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				_, _ = io.WriteString(w, "0123456789")
			}))
			t.Cleanup(b.Close)
			a := l7test.New(t, 2)
			with := func(h *farm.HTTP) { h.RequestTimeout = 3 } // connections are left open
			if secure {
				tls := a.HTTPS(l7test.Certificate(t, "ec.pem", "a.test"))
				plain := with
				with = func(h *farm.HTTP) { plain(h); tls(h) }
			}
			host, port, _ := net.SplitHostPort(a.Serve(with, l7test.Service("web", b.Listener.Addr().String())))
			n, _ := strconv.Atoi(port)
			c := &config.Config{Host: host, Port: n, Path: "/", Timeout: 2 * time.Second, MaxHeaderLen: 4000, Strict: true, TLS: secure, Insecure: true}
			out := l7test.CatchOutput(t)
			passed, failed := 0, 0
			for _, group := range []*spec.TestGroup{generic.Spec(), http2.Spec(), hpack.Spec()} {
				group.Test(c)
				passed += group.PassedCount
				failed += group.FailedCount + group.SkippedCount
			}
			text := out()
			if !secure && strings.Count(text, "× 2: Sends invalid connection preface") == 1 {
				passed, failed = passed+1, failed-1
			}
			if failed > 0 || passed < 146 {
				t.Errorf("%d cases passed, %d failed or were skipped", passed, failed)
			}
			if t.Failed() {
				t.Log(text)
			}
			idle(t, a)
		})
	}
}
