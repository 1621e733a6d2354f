package proxy_test

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/enginetest"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/l7/l7test"
)

// Progress restarts the timeout; without progress it passes once. This applies to a client
// that sends a body and the backend that waits for it, and to both in the other direction.
func TestTimeBeginsAnewWithEveryPart(t *testing.T) {
	t.Parallel()
	const post = "POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 30\r\n\r\n"
	part := strings.Repeat("x", 10)
	const wait, limit = 6 * time.Second, 10 * time.Second
	says := make(chan string)
	b := l7test.NewBackend(t, func(c *l7test.Recorder) {
		go func() {
			for text := range says {
				c.Say(text)
			}
		}()
		for {
			if _, err := c.Head(); err != nil { // Head also records the following bytes
				return
			}
		}
	})
	a := l7test.New(t, 1)
	addr := a.Serve(func(h *farm.HTTP) { h.RequestTimeout, h.ResponseTimeout = 10, 10 }, l7test.Service("web", b.Addr))
	pass := func(d time.Duration) { enginetest.Advance(a.Loops[0], d) }
	came := func(n int) {
		t.Helper()
		l7test.Eventually(t, "the part is there", func() bool { return strings.Count(b.Received(), part) == n })
	}
	c := l7test.Dial(t, addr).Send(post)
	sent := 0
	for range 3 { // in total longer than either may take
		c.Send(part)
		sent++
		came(sent)
		pass(wait)
	}
	says <- "HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n"
	if line, err := c.Reader().ReadString('\n'); err != nil || line != "HTTP/1.1 200 OK\r\n" {
		t.Fatal(line, err)
	}
	for range 2 {
		pass(wait)
		says <- part
		if _, err := c.Reader().ReadString('x'); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := io.ReadAll(io.LimitReader(c.Reader(), 18)); err != nil || len(text) != 18 {
		t.Fatalf("%q, %v", text, err)
	}

	// If a backend's timeout passed while the client paused, the backend has its whole
	// timeout from the last part on, but not more.
	for what, end := range map[string]struct {
		part, answer string
	}{"the rest does not come": {part, "408"}, "the answer does not come": {part + part + part, "504"}} {
		heads := strings.Count(b.Received(), "POST ")
		c.Send(post)
		l7test.Eventually(t, "the head is there", func() bool { return strings.Count(b.Received(), "POST ") == heads+1 })
		pass(limit - time.Second)
		c.Send(end.part)
		sent += len(end.part) / len(part)
		came(sent)
		before := a.Segment.SumFarm(1)
		pass(wait)
		if f := a.Segment.SumFarm(1); f.Responses != before.Responses || f.Timeouts != before.Timeouts {
			t.Errorf("%s: given up too early", what)
		}
		pass(wait)
		res, err := http.ReadResponse(c.Reader(), nil)
		if err != nil || !strings.HasPrefix(res.Status, end.answer) {
			t.Fatalf("%s: %v, %v", what, res, err)
		}
		_ = c.Close()
		c = l7test.Dial(t, addr)
	}
	close(says)
}

// restimeout bounds the time between bytes of a backend, within a head and between interim
// responses, too.
func TestABackendHasItsTimeAnewForEachPieceOfAHead(t *testing.T) {
	t.Parallel()
	for name, pieces := range map[string][]string{
		"pieces":            {"HTTP/1.1 200 OK\r\n", "X: ", "y\r\nContent-Le", "ngth: 2\r\n", "\r\nok"},
		"interim responses": {"HTTP/1.1 102 Processing\r\n\r\n", "HTTP/1.1 103 Early Hints\r\n\r\n", "HTTP/1.1 102 Processing\r\n\r\n", ok},
	} {
		for _, silent := range []bool{false, true} {
			says := make(chan string)
			b := l7test.NewBackend(t, func(c *l7test.Recorder) {
				_, _ = c.Head()
				for text := range says {
					c.Say(text)
				}
			})
			a := l7test.New(t, 1)
			addr := a.Serve(func(h *farm.HTTP) { h.ResponseTimeout = 10 }, l7test.Service("web", b.Addr))
			c := l7test.Dial(t, addr).Send(get("/"))
			l7test.Eventually(t, "the request is there", func() bool { return strings.Contains(b.Received(), "\r\n\r\n") })
			last := len(pieces) - 1
			for _, piece := range pieces[:last] {
				says <- piece
				enginetest.Advance(a.Loops[0], 0) // the loop has run once more
				enginetest.Advance(a.Loops[0], 6*time.Second)
			}
			want := 200
			if silent {
				want = 504
				enginetest.Advance(a.Loops[0], 11*time.Second)
			} else {
				says <- pieces[last]
			}
			for status := 0; status < 200; {
				res, err := http.ReadResponse(c.Reader(), nil)
				if err != nil {
					t.Fatalf("%s, silent %v: %v", name, silent, err)
				}
				if status = res.StatusCode; status >= 200 && status != want {
					t.Errorf("%s, silent %v: %s, want %d", name, silent, res.Status, want)
				}
			}
			close(says)
		}
	}
}

// A client that does not read a long response is closed after its timeout.
func TestClientThatTakesNothingIsGivenUp(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, func(c *l7test.Recorder) {
		_, _ = c.Head()
		c.Say(ok)
		_, _ = c.Head()
		c.Say("HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n")
		for piece := make([]byte, 1<<20); ; {
			if _, err := c.Write(piece); err != nil {
				return
			}
		}
	})
	a := l7test.New(t, 1)
	addr := a.Serve(func(h *farm.HTTP) { h.RequestTimeout = 10 }, l7test.Service("web", b.Addr))
	c := l7test.Dial(t, addr)
	c.Send(get("/")).Get() // the loop monitors the client from then on
	c.Send(get("/"))
	l7test.Eventually(t, "it is full", func() (full bool) {
		done := make(chan struct{})
		a.Loops[0].Post(func() {
			defer close(done)
			a.Loops[0].Each(func(c *loop.Conn) { full = full || c.Pending() != 0 })
		})
		<-done
		return full
	})
	for _, test := range []struct {
		pass   time.Duration
		missed uint64
	}{{15 * time.Second, 0}, {10 * time.Second, 1}} { // twice the time lies in between
		if enginetest.Advance(a.Loops[0], test.pass); a.Segment.SumFarm(1).Timeouts != test.missed {
			t.Errorf("after %v more it was given up %d times, want %d", test.pass, a.Segment.SumFarm(1).Timeouts, test.missed)
		}
	}
	l7test.Eventually(t, "nobody sends to it any more", func() bool { return b.Open() == 0 })
}

// Requests of up to 64 KiB are kept for another attempt, however they arrive.
func TestRequestsAreKeptForAnotherTryUpToABound(t *testing.T) {
	t.Parallel()
	// readsAll responds once it has the whole request of size bytes.
	readsAll := func(answer string, size int, began chan<- bool) func(c *l7test.Recorder) {
		return func(c *l7test.Recorder) {
			head, _ := c.Head()
			began <- true
			_, _ = io.CopyN(io.Discard, c, int64(size-len(head)))
			c.Say(answer)
		}
	}
	overhead := 0
	for _, extra := range []int{-1, 0, 1} { // the first determines the length of a head
		for _, parts := range []bool{false, true} {
			size := 64<<10 + extra
			if extra < 0 {
				size = 10300
			}
			began := make(chan bool, 2)
			body := strings.Repeat("x", max(10000, size-overhead))
			if extra < 0 {
				size = 0
			}
			bad, good := l7test.NewBackend(t, readsAll(sorry, size, began)), l7test.NewBackend(t, readsAll(ok, size, began))
			a := l7test.New(t, 1)
			addr := a.Serve(nil, retrying(on("503"), bad.Addr, good.Addr))
			at := len(body)
			if parts {
				at = 10
			}
			c := l7test.Dial(t, addr).Send("PUT / HTTP/1.1\r\nHost: a.test\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body[:at])
			<-began
			res := c.Send(body[at:]).Response("PUT")
			want := 200
			if extra > 0 {
				want = 503
			}
			if extra < 0 {
				overhead = strings.Index(good.Received()+bad.Received(), "\r\n\r\n") + 4
				continue
			}
			if res.StatusCode != want {
				t.Errorf("%d bytes, in parts %t: %d, want %d", size, parts, res.StatusCode, want)
			}
			if got := len(bad.Received()); got != size {
				t.Errorf("the backend got %d bytes of %d", got, size)
			}
		}
	}
}

// Reversals for one request do not apply to the next one.
func TestPathsAreUndoneForTheirRequestOnly(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, l7test.Answer("HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n"))
	s := l7test.Service("web", b.Addr)
	s.Rewrites = []farm.URLRewrite{{Pattern: "^/shop/", Replace: "/"}}
	addr := l7test.New(t, 1).Serve(func(h *farm.HTTP) { h.RewriteLocation = farm.RewriteEnabledPath }, s)
	c := l7test.Dial(t, addr)
	for _, test := range []struct{ path, want string }{{"/shop/y", "/shop/x"}, {"/y", "/x"}} {
		if got := c.Send(get(test.path)).Get().Header.Get("Location"); got != test.want {
			t.Errorf("%s: %s, want %s", test.path, got, test.want)
		}
	}
}
