package backend_test

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/enginetest"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/l7test"
)

func TestBackendWithoutHTTP2IsReported(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		secure bool
		edit   func(*httptest.Server)
		reason string
	}{
		"clear":                 {false, func(*httptest.Server) {}, "backend does not speak HTTP/2"},
		"refuses the handshake": {true, func(*httptest.Server) {}, "backend does not agree on h2 (ALPN)"},
		"knows no ALPN":         {true, func(s *httptest.Server) { s.TLS.NextProtos = nil }, "backend does not agree on h2 (ALPN)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var s *httptest.Server
			if c.secure {
				s = httptest.NewTLSServer(l7test.Echo)
			} else {
				s = httptest.NewServer(l7test.Echo)
			}
			defer s.Close()
			c.edit(s)
			a := l7test.New(t, 1)
			front := a.Serve(nil, l7test.HTTP2Service(c.secure, s.Listener.Addr().String()))
			for range 2 {
				if status, _ := posted(front, "x"); status != 502 {
					t.Errorf("status %d, want 502", status)
				}
			}
			l7test.Eventually(t, "a line with the reason", func() bool { return len(a.Log.Lines(c.reason)) > 0 })
			l7test.Eventually(t, "nothing is under way", func() bool { return a.Segment.SumBackend(1).Established == 0 })
			if n := a.Segment.SumBackend(1); n.BadResponses != 2 || n.Pending != 0 || n.Established != 0 {
				t.Errorf("counted %+v", n)
			}
			if down := a.Log.Lines("backend is down"); len(down) > 0 {
				t.Errorf("%q", down)
			}
		})
	}
}

// An unresponsive backend gets a PING. New exchanges use other connections until it
// responds.
func TestUnresponsiveConnectionGetsNoNewExchanges(t *testing.T) {
	t.Parallel()
	pinged := make(chan string, 1)
	addr, _ := l7test.NewFrameServer(t, func(h *l7test.FrameServer) {
		if h.N > 1 {
			h.Serve()
			return
		}
		_, _ = h.Request()
		for f := h.Next(); f != "PING"; f = h.Next() {
		}
		pinged <- "" // from here on it is dead but still connected
	})
	a := l7test.New(t, 1)
	front := a.Serve(func(h *farm.HTTP) { h.ResponseTimeout = 1 }, l7test.HTTP2Service(false, addr))
	if status, _ := posted(front, "x"); status != 504 {
		t.Errorf("status %d, want 504", status)
	}
	if status, body := posted(front, "x"); status != 200 || body != "/" {
		t.Errorf("another connection: %d %s", status, body)
	}
	<-pinged
}

func TestIdleHTTP2BackendConnectionEnds(t *testing.T) {
	t.Parallel()
	addr, said := saying(t, func(s *l7test.FrameServer, frame string) {
		if id := uint32(frame[0] - '0'); strings.HasSuffix(frame, " GET / end") {
			s.Answer(id, "/")
		}
	})
	d := newDesk(t, addr)
	e := d.exchange("/").start()
	e.wants("connected, own true")
	e.wants("answered")
	want(t, said, "1 GET / end")
	enginetest.Advance(d.loop, 28*time.Second)
	e = d.exchange("/").start() // the connection is used for it and its idle time restarts
	e.wants("answered")
	want(t, said, "3 GET / end")
	enginetest.Advance(d.loop, 28*time.Second)
	d.on(func() {
		if !e.reused || d.pool.ConnsTo(1) != 1 {
			t.Errorf("after 28 s without a request it is one of %d connections, in use: %t", d.pool.ConnsTo(1), e.reused)
		}
	})
	enginetest.Advance(d.loop, 3*time.Second)
	want(t, said, "GOAWAY NO_ERROR", "end")
}
