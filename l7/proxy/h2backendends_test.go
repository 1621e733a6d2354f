package proxy_test

import (
	"testing"

	xhttp2 "golang.org/x/net/http2"

	"github.com/sluicelb/sluice/l7/l7test"
)

// Requests that an HTTP/2 backend has not processed are repeated up to three times; others
// are not.
func TestStreamsABackendEndsAreRepeatedIfItHasNotLookedAtThem(t *testing.T) {
	t.Parallel()
	reset := func(code xhttp2.ErrCode) func(h *l7test.FrameServer, id uint32) {
		return func(h *l7test.FrameServer, id uint32) { _ = h.WriteRSTStream(id, code) }
	}
	for name, c := range map[string]struct {
		ends   func(h *l7test.FrameServer, id uint32)
		times  int // number of such events
		status int
		tries  int32
		reason string // in the log
	}{
		"refused once":       {reset(xhttp2.ErrCodeRefusedStream), 1, 200, 2, ""},
		"refused thrice":     {reset(xhttp2.ErrCodeRefusedStream), 3, 200, 4, ""},
		"refused four times": {reset(xhttp2.ErrCodeRefusedStream), 4, 502, 4, "backend refuses the stream"},
		"cancelled":          {reset(xhttp2.ErrCodeCancel), 1, 502, 1, "backend reset the stream: CANCEL"},
		"malformed":          {func(h *l7test.FrameServer, id uint32) { h.Head(id, true, "20") }, 1, 502, 1, "malformed status"},
		"connection ended":   {func(h *l7test.FrameServer, _ uint32) { _ = h.Conn.Close() }, 1, 502, 1, "connection ended before the answer"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			came := make(chan bool, 10)
			addr, _ := l7test.NewFrameServer(t, func(h *l7test.FrameServer) {
				for {
					id, path := h.Request()
					if id == 0 {
						return
					}
					if came <- true; len(came) <= c.times {
						c.ends(h, id)
						continue
					}
					h.Answer(id, path)
				}
			})
			a := l7test.New(t, 1)
			res := answerTo(t, a.Serve(nil, l7test.HTTP2Service(false, addr)), get("/asked"))
			if res.StatusCode != c.status || int32(len(came)) != c.tries || c.status == 200 && res.Text != "/asked" {
				t.Errorf("status %d %q after %d tries, want %d after %d", res.StatusCode, res.Text, len(came), c.status, c.tries)
			}
			if c.reason != "" {
				l7test.Eventually(t, "the reason in the log", func() bool { return len(a.Log.Lines(c.reason)) == 1 })
			}
		})
	}
}
