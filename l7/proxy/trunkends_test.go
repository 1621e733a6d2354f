package proxy_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	xhttp2 "golang.org/x/net/http2"

	"github.com/sluicelb/sluice/core/farm"
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

func TestRequestABackendHasNotLookedAtIsSentAgain(t *testing.T) {
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
				l7test.Eventually(t, "one retry and nothing left is counted", func() bool { // the answer may be here before the counters
					n := a.Segment.SumBackend(1)
					return n.Retries == 1 && n.Established == 0 && n.Pending == 0
				})
			})
		}
	}
}

func TestBackendThatRefusesEverythingGetsThreeMoreTries(t *testing.T) {
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
		t.Errorf("the first got %s", body)
	}
	if got := <-closed; got != "end" && !strings.HasPrefix(got, "GOAWAY") {
		t.Errorf("then %s", got)
	}
}

func TestStreamsBeyondWhatTheBackendAllowsGetConnectionsOfTheirOwn(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	most, open := map[int]int{}, map[int]int{}
	addr, accepted := l7test.NewFrameServer(t, func(h *l7test.FrameServer) {
		var write sync.Mutex
		for {
			id, path := h.Request()
			if id == 0 {
				return
			}
			mu.Lock()
			open[h.N]++
			most[h.N] = max(most[h.N], open[h.N])
			mu.Unlock()
			go func() {
				if path != "/first" {
					time.Sleep(50 * time.Millisecond)
				}
				mu.Lock()
				open[h.N]--
				mu.Unlock()
				write.Lock()
				defer write.Unlock()
				h.Answer(id, path)
			}()
		}
	}, xhttp2.Setting{ID: xhttp2.SettingMaxConcurrentStreams, Val: 5})
	front := l7test.New(t, 1).Serve(nil, l7test.HTTP2Service(false, addr))
	if _, err := http.Get("http://" + front + "/first"); err != nil { // from here on the bound is known
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 20 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			if status, body := posted(front, ""); status != 200 {
				t.Errorf("status %d %s", status, body)
			}
		}()
	}
	wg.Wait()
	for n, streams := range most {
		if streams > 5 {
			t.Errorf("%d streams at once on connection %d", streams, n)
		}
	}
	if n := accepted.Load(); n < 2 || n > 8 {
		t.Errorf("%d connections", n)
	}
}

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
		t.Errorf("the backend got %s", got)
	}
	p := l7test.DialFrames(t, front)
	p.Ask(1, true, "GET", "/gone")
	<-asked
	_ = p.WriteRSTStream(1, xhttp2.ErrCodeCancel)
	if got := <-reset; got != "3 RST_STREAM CANCEL" {
		t.Errorf("the backend got %s", got)
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

func TestInterimAnswersOfAnHTTP2BackendArePassedOn(t *testing.T) {
	t.Parallel()
	addr, _ := l7test.NewFrameServer(t, func(h *l7test.FrameServer) {
		id, _ := h.Request()
		h.Head(id, false, "103", "link", "</a>")
		h.Head(id, false, "100")
		for f := h.Next(); f != "1 DATA body end"; f = h.Next() {
			if f == "end" {
				return
			}
		}
		h.Answer(id, "thanks")
	})
	front := l7test.New(t, 1).Serve(nil, l7test.HTTP2Service(false, addr))
	c := l7test.Dial(t, front).Send("POST / HTTP/1.1\r\nHost: a.test\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n")
	for _, want := range []string{"HTTP/1.1 103 Early Hints\r\n", "link: </a>\r\n", "\r\n", "HTTP/1.1 100 Continue\r\n", "\r\n"} {
		if line, err := c.Reader().ReadString('\n'); line != want {
			t.Fatalf("%q, %v", line, err)
		}
	}
	c.Send("body")
	res, err := http.ReadResponse(c.Reader(), nil)
	if err != nil || res.StatusCode != 200 {
		t.Fatal(res, err)
	}
	if got, _ := io.ReadAll(res.Body); string(got) != "thanks" {
		t.Errorf("%q", got)
	}
}

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

func TestConnectionsToABackendThatIsTakenOutEnd(t *testing.T) {
	t.Parallel()
	asked, ended := make(chan uint32), make(chan string, 1)
	addr, _ := l7test.NewFrameServer(t, func(h *l7test.FrameServer) {
		id, _ := h.Request()
		asked <- id
		<-asked
		h.Answer(id, "last")
		for f := h.Next(); ; f = h.Next() {
			if f == "end" || strings.HasPrefix(f, "GOAWAY") {
				ended <- f
				return
			}
		}
	})
	a := l7test.New(t, 1)
	s := l7test.HTTP2Service(false, addr)
	front := a.Serve(nil, s)
	answered := make(chan string)
	go func() {
		_, body := posted(front, "")
		answered <- body
	}()
	<-asked
	s.Backends[0].Maintenance = farm.MaintenanceDrain
	a.Serve(nil, s)
	asked <- 0
	if body := <-answered; body != "last" {
		t.Errorf("%q", body)
	}
	select {
	case <-ended:
	case <-time.After(5 * time.Second):
		t.Error("the connection stays")
	}
}

// A client that does not read holds up the backend, by its window, and nobody
// else on the connection.
func TestSlowClientHoldsUpItsStreamOnly(t *testing.T) {
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

func TestHeadsAndBodilessAnswersOfAnHTTP2BackendKeepItsConnection(t *testing.T) {
	t.Parallel()
	addr, accepted := l7test.NewFrameServer(t, func(h *l7test.FrameServer) {
		for {
			id, path := h.Request()
			switch path {
			case "":
				return
			case "/head":
				h.Head(id, false, "200", "content-length", "5")
			case "/none":
				h.Head(id, false, "204")
			case "/same":
				h.Head(id, false, "304")
			case "/counted":
				h.Head(id, false, "200", "content-length", "2")
				_ = h.WriteData(id, false, []byte("ok"))
			}
			_ = h.WriteData(id, true, nil) // the end comes by itself
		}
	})
	a := l7test.New(t, 1)
	front := a.Serve(nil, l7test.HTTP2Service(false, addr))
	c := http.Client{}
	defer c.CloseIdleConnections()
	for range 3 {
		for path, want := range map[string]string{"/head": "200 5 ", "/none": "204 0 ", "/same": "304 -1 ", "/counted": "200 2 ok"} {
			method := "GET"
			if path == "/head" {
				method = "HEAD"
			}
			r, _ := http.NewRequest(method, "http://"+front+path, nil)
			res, err := c.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(res.Body)
			if got := fmt.Sprint(res.StatusCode, " ", res.ContentLength, " ", string(bytes.TrimSpace(body))); got != want && path != "/same" {
				t.Errorf("%s: %s", path, got)
			}
		}
	}
	if n := a.Segment.SumBackend(1); accepted.Load() != 1 || n.Requests != 12 || n.Resets+n.BadResponses != 0 {
		t.Errorf("%d connections, counted %+v", accepted.Load(), n)
	}
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
