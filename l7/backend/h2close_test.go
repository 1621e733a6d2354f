package backend_test

import (
	"net/http/httptest"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/l7test"
)

func TestBackendThatDoesNotSpeakHTTP2IsNamedAndAnsweredFor(t *testing.T) {
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
					t.Errorf("status %d", status)
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

// A backend that has stopped answering is asked by PING. Until it says something
// new exchanges go elsewhere.
func TestConnectionInDoubtIsLeft(t *testing.T) {
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
		pinged <- "" // and from here on it is dead, but connected
	})
	a := l7test.New(t, 1)
	front := a.Serve(func(h *farm.HTTP) { h.ResponseTimeout = 1 }, l7test.HTTP2Service(false, addr))
	if status, _ := posted(front, "x"); status != 504 {
		t.Errorf("status %d", status)
	}
	if status, body := posted(front, "x"); status != 200 || body != "/" {
		t.Errorf("another connection: %d %s", status, body)
	}
	<-pinged
}

func TestConnectionToAnHTTP2BackendThatIsIdleEnds(t *testing.T) {
	t.Parallel()
	ended := make(chan time.Duration, 1)
	addr, accepted := l7test.NewFrameServer(t, func(h *l7test.FrameServer) {
		id, path := h.Request()
		h.Answer(id, path)
		began := time.Now()
		for f := h.Next(); f != "end"; f = h.Next() {
			if f != "GOAWAY NO_ERROR" {
				t.Errorf("an idle connection says %s", f)
			}
		}
		ended <- time.Since(began)
	})
	front := l7test.New(t, 1).Serve(nil, l7test.HTTP2Service(false, addr))
	if status, _ := posted(front, ""); status != 200 {
		t.Fatalf("status %d", status)
	}
	if after := <-ended; after < 29*time.Second || after > 45*time.Second || accepted.Load() != 1 {
		t.Errorf("connection %d ended after %v", accepted.Load(), after)
	}
}
