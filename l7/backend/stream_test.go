package backend_test

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	xhttp2 "golang.org/x/net/http2"

	"github.com/sluicelb/sluice/l7/l7test"
)

func TestClientThatLeavesCancelsItsStreamOnly(t *testing.T) {
	t.Parallel()
	reset := make(chan string, 1)
	asked := make(chan bool, 1)
	addr, accepted := l7test.NewFrameServer(t, func(h *l7test.FrameServer) {
		for range 2 {
			_, _ = h.Request()
			asked <- true
			reset <- h.Next()
		}
		h.Serve()
	})
	a := l7test.New(t, 1)
	front := a.Serve(nil, l7test.HTTP2Service(false, addr))
	c := l7test.Dial(t, front).Send("GET /gone HTTP/1.1\r\nHost: a.test\r\n\r\n")
	<-asked
	_ = c.SetLinger(0)
	_ = c.Close()
	if got := <-reset; got != "1 RST_STREAM CANCEL" {
		t.Errorf("the backend got %s, want %s", got, "1 RST_STREAM CANCEL")
	}
	p := l7test.DialFrames(t, front)
	p.Ask(1, true, "GET", "/gone")
	<-asked
	_ = p.WriteRSTStream(1, xhttp2.ErrCodeCancel)
	if got := <-reset; got != "3 RST_STREAM CANCEL" {
		t.Errorf("the backend got %s, want %s", got, "3 RST_STREAM CANCEL")
	}
	if status, body := posted(front, ""); status != 200 || accepted.Load() != 1 {
		t.Errorf("status %d %s on connection %d", status, body, accepted.Load())
	}
	l7test.Eventually(t, "nothing is under way", func() bool { return a.Segment.SumBackend(1).Established == 0 })
	if n := a.Segment.SumBackend(1); n.Established != 0 || n.Connects != 1 {
		t.Errorf("counted %+v", n)
	}
}

func TestAnswerBeforeTheEndOfTheRequestIsPassedOn(t *testing.T) {
	t.Parallel()
	for name, code := range map[string]xhttp2.ErrCode{"and the stream is reset": xhttp2.ErrCodeNo, "and nothing more": 99} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := make(chan string, 10)
			addr, _ := l7test.NewFrameServer(t, func(h *l7test.FrameServer) {
				id, _ := h.Request()
				h.Head(id, false, "413")
				_ = h.WriteData(id, true, []byte("too much"))
				if code == xhttp2.ErrCodeNo {
					_ = h.WriteRSTStream(id, code)
					got <- ""
					h.Serve()
					return
				}
				for f := h.Next(); ; f = h.Next() {
					if !strings.Contains(f, "DATA") {
						got <- f
						break
					}
				}
				h.Serve()
			})
			front := l7test.New(t, 1).Serve(nil, l7test.HTTP2Service(false, addr))
			p := l7test.DialFrames(t, front)
			p.Ask(1, false, "POST", "/")
			_ = p.WriteData(1, false, []byte("some"))
			p.Want("1 HEADERS 413", "1 DATA too much end", "1 RST_STREAM NO_ERROR")
			p.Ask(3, true, "GET", "/again")
			p.Want("3 HEADERS 200", "3 DATA /again end")
			if f := <-got; code != xhttp2.ErrCodeNo && f != "1 RST_STREAM CANCEL" {
				t.Errorf("the backend got %s", f)
			}
		})
	}
}

// A client that does not read stalls only its own stream, through flow control.
func TestSlowClientDelaysOnlyItsStream(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	wrote := 0
	s := l7test.HTTP2Server(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/large" {
			_, _ = io.WriteString(w, r.URL.Path)
			return
		}
		part := make([]byte, 32<<10)
		for range 1000 {
			if _, err := w.Write(part); err != nil {
				return
			}
			mu.Lock()
			wrote += len(part)
			mu.Unlock()
		}
	}), false)
	front := l7test.New(t, 1).Serve(nil, l7test.HTTP2Service(false, s.Listener.Addr().String()))
	p := l7test.DialFrames(t, front, xhttp2.Setting{ID: xhttp2.SettingInitialWindowSize, Val: 1000})
	p.Ask(1, true, "GET", "/large")
	p.Want("1 HEADERS 200", "1 DATA "+string(make([]byte, 1000)))
	last := -1
	l7test.Eventually(t, "the backend pauses", func() bool {
		time.Sleep(200 * time.Millisecond)
		mu.Lock()
		defer mu.Unlock()
		defer func() { last = wrote }()
		return wrote == last
	})
	if last > 1<<20 {
		t.Errorf("the backend could write %d bytes", last)
	}
	p.Ask(3, true, "GET", "/other")
	p.Want("3 HEADERS 200", "3 DATA /other end")
	_ = p.WriteWindowUpdate(1, 1<<30)
	total := 1000
	for {
		f, err := p.ReadFrame()
		if err != nil {
			t.Fatal(err)
		}
		if d, ok := f.(*xhttp2.DataFrame); ok {
			total += len(d.Data())
			_ = p.WriteWindowUpdate(0, uint32(max(1, len(d.Data()))))
			if d.StreamEnded() {
				break
			}
		}
	}
	if total != 32000<<10 {
		t.Errorf("%d bytes came", total)
	}
}
