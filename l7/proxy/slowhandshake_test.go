package proxy_test

import (
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/l7test"
)

// A client that begins a handshake and does not complete it in time leaves a line, unlike
// one that says nothing.
func TestAHandshakeThatTakesTooLongIsReported(t *testing.T) {
	t.Parallel()
	secure := l7test.Certificate(t, "ec.pem", "a.test")
	for what, hello := range map[string]string{
		"part of a record":   "\x16\x03\x01",
		"part of a hello":    "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
		"a byte of a record": "\x16",
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			a := l7test.New(t, 1)
			tls := a.HTTPS(secure)
			addr := a.Serve(func(h *farm.HTTP) { tls(h); h.RequestTimeout = 1 }, l7test.Service("web", "127.0.0.1:1"))
			silent, slow := l7test.Dial(t, addr), l7test.Dial(t, addr).Send(hello)
			if got := slow.Rest() + silent.Rest(); got != "" {
				t.Errorf("they were answered %q", got)
			}
			oneLine(t, a, slow, "client-handshake", "TLS handshake not complete in time", "")
			if s := a.Segment.SumFarm(1); s.Timeouts != 1 || s.Established != 0 || s.Pending != 0 {
				t.Errorf("%+v", s)
			}
		})
	}
}
