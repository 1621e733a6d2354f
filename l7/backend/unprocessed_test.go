package backend_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	xhttp2 "golang.org/x/net/http2"

	"github.com/sluicelb/sluice/l7/l7test"
)

func posted(addr string, body string) (int, string) {
	res, err := http.Post("http://"+addr+"/", "text/plain", strings.NewReader(body))
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = res.Body.Close() }()
	got, err := io.ReadAll(res.Body)
	if err != nil {
		return res.StatusCode, err.Error()
	}
	return res.StatusCode, string(got)
}

func TestUnprocessedRequestIsRetried(t *testing.T) {
	t.Parallel()
	for name, refuse := range map[string]func(h *l7test.FrameServer, id uint32){
		"refused": func(h *l7test.FrameServer, id uint32) { _ = h.WriteRSTStream(id, xhttp2.ErrCodeRefusedStream) },
		"going away": func(h *l7test.FrameServer, id uint32) {
			_ = h.WriteGoAway(id-1, xhttp2.ErrCodeNo, nil)
		},
	} {
		for _, size := range []int{0, 10, 50_000, 100_000} {
			t.Run(fmt.Sprint(name, " ", size), func(t *testing.T) {
				t.Parallel()
				addr, accepted := l7test.NewFrameServer(t, func(h *l7test.FrameServer) {
					h.Bodies(func(id uint32, _, body string) {
						if h.N == 1 {
							refuse(h, id)
							return
						}
						h.Answer(id, body)
					})
				})
				a := l7test.New(t, 1)
				front := a.Serve(nil, l7test.HTTP2Service(false, addr))
				body := strings.Repeat("x", size)
				status, got := posted(front, body)
				if size > 64<<10 {
					if status != 502 || accepted.Load() != 1 {
						t.Errorf("status %d from connection %d", status, accepted.Load())
					}
					return
				}
				if status != 200 || got != body || accepted.Load() != 2 {
					t.Errorf("status %d with %d bytes after %d connections", status, len(got), accepted.Load())
				}
				l7test.Eventually(t, "one retry and nothing left is counted", func() bool { // the response may arrive before the counters
					n := a.Segment.SumBackend(1)
					return n.Retries == 1 && n.Established == 0 && n.Pending == 0
				})
			})
		}
	}
}

// Servers with the usual initial window of 65,535 bytes, e.g. nginx, may refuse an upload of
// any size while they have accepted no more of it.
func TestUnacceptedUploadIsRetried(t *testing.T) {
	t.Parallel()
	for name, refuse := range map[string]func(h *l7test.FrameServer, id uint32){
		"refused":       func(h *l7test.FrameServer, id uint32) { _ = h.WriteRSTStream(id, xhttp2.ErrCodeRefusedStream) },
		"leaving twice": func(h *l7test.FrameServer, id uint32) { _ = h.WriteGoAway(id-1, xhttp2.ErrCodeNo, nil) },
		"refused twice": func(h *l7test.FrameServer, id uint32) { _ = h.WriteRSTStream(id, xhttp2.ErrCodeRefusedStream) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refusals := len(strings.Fields(name)) // one or two
			addr, accepted := l7test.NewFrameServer(t, func(h *l7test.FrameServer) {
				if h.N > refusals {
					h.Bodies(func(id uint32, _, body string) { h.Answer(id, fmt.Sprint(len(body), strings.Count(body, "x"))) })
					return
				}
				id, _ := h.Request()
				for left := 65_535; left > 0; {
					got := h.Next()
					if got == "end" {
						return
					}
					if _, data, is := strings.Cut(got, " DATA "); is {
						left -= len(data)
					}
				}
				refuse(h, id)
			})
			a := l7test.New(t, 1)
			body := strings.Repeat("x", 1_000_000)
			status, got := posted(a.Serve(nil, l7test.HTTP2Service(false, addr)), body)
			if status != 200 || got != "1000000 1000000" || int(accepted.Load()) != refusals+1 {
				t.Errorf("status %d, %s after %d connections", status, got, accepted.Load())
			}
		})
	}
}

func TestRefusedStreamsGetThreeRetries(t *testing.T) {
	t.Parallel()
	addr, accepted := l7test.NewFrameServer(t, func(h *l7test.FrameServer) {
		h.Bodies(func(id uint32, _, _ string) { _ = h.WriteRSTStream(id, xhttp2.ErrCodeRefusedStream) })
	}, xhttp2.Setting{ID: xhttp2.SettingMaxConcurrentStreams, Val: 0})
	a := l7test.New(t, 1)
	if status, got := posted(a.Serve(nil, l7test.HTTP2Service(false, addr)), "x"); status != 502 || accepted.Load() != 4 {
		t.Errorf("status %d %s after %d connections", status, got, accepted.Load())
	}
	l7test.Eventually(t, "the reason in the log", func() bool { return len(a.Log.Lines("backend refuses the stream")) == 1 })
}

func TestGoingAwayLetsStreamsEndAndThenTheConnection(t *testing.T) {
	t.Parallel()
	closed := make(chan string, 1)
	asked := make(chan bool)
	addr, _ := l7test.NewFrameServer(t, func(h *l7test.FrameServer) {
		if h.N > 1 {
			h.Serve()
			return
		}
		id, _ := h.Request()
		_ = h.WriteGoAway(id, xhttp2.ErrCodeNo, nil)
		asked <- true
		<-asked
		h.Answer(id, "old")
		closed <- h.Next()
	})
	front := l7test.New(t, 1).Serve(nil, l7test.HTTP2Service(false, addr))
	first := make(chan string)
	go func() {
		_, body := posted(front, "")
		first <- body
	}()
	<-asked
	if status, body := posted(front, ""); status != 200 || body != "/" {
		t.Errorf("meanwhile: %d %s", status, body)
	}
	asked <- true
	if body := <-first; body != "old" {
		t.Errorf("the first got %s, want %s", body, "old")
	}
	if got := <-closed; got != "end" && !strings.HasPrefix(got, "GOAWAY") {
		t.Errorf("then %s", got)
	}
}
