package client_test

import (
	"errors"
	"io"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/l7/client"
	"github.com/sluicelb/sluice/l7/l7test"
)

func post(path, length, rest string) string {
	return "POST " + path + " HTTP/1.1\r\nHost: a.test\r\nContent-Length: " + length + "\r\n\r\n" + rest
}

// ends reads the rest of a connection and reports whether it ended with a reset.
func ends(c *l7test.Client) (rest string, reset bool) {
	b, err := io.ReadAll(c.Reader())
	return string(b), errors.Is(err, syscall.ECONNRESET)
}

func TestRequestsIncludeReadAheadBytes(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	c := h.dial()
	third := get("/3")
	c.Send(post("/1", "4", "body") + get("/2") + third[:10])
	v := h.next()
	if v.head != post("/1", "4", "") || v.rest != "body"+get("/2")+third[:10] {
		t.Errorf("got %q and %q", v.head, v.rest)
	}
	v.want("proceed")
	h.counted(1, 0)
	v.finish(true, true)
	v = h.next()
	if v.head != get("/2") || v.rest != third[:10] {
		t.Errorf("got %q and %q", v.head, v.rest)
	}
	v.finish(true, true)
	c.Send(third[10:20]).Send(third[20:] + "GET")
	if v = h.next(); v.head != third || v.rest != "GET" {
		t.Errorf("got %q and %q", v.head, v.rest)
	}
	v.finish(true, true)
	for range 3 {
		if res := c.Get(); res.Text != "ok" {
			t.Errorf("got %q, want %q", res.Text, "ok")
		}
	}
	h.counted(1, 0)
	if n := h.Segment.SumFarm(1).Connections; n != 1 {
		t.Errorf("%d connections are counted, want 1", n)
	}
	_ = c.Close()
	h.counted(0, 0)
}

func TestBodyReadsRespectTheRequestedSize(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	c := h.dial().Send("POST / HTTP/1.1\r\nHost: a.test\r\nUse: none\r\nContent-Length: 10\r\n\r\nread ahead")
	v := h.next()
	for _, want := range []struct {
		most int
		text string
		err  error
	}{{3, "rea", nil}, {100, "d ahead", nil}, {100, "", loop.ErrDry}} {
		if text, err := v.read(want.most); text != want.text || err != want.err {
			t.Errorf("read %q, %v, want %+v", text, err, want)
		}
	}
	v.want("proceed")
	c.Send("later" + get("/next"))
	v.want("readable")
	v.do(func(c client.Client) {
		b := make([]byte, 1000)
		n, err := c.ReadBody(b)
		if string(b[:5]) != "later" || err != nil {
			t.Errorf("read %q, %v", b[:n], err)
		}
		c.Unread(b[5:n])
		c.Again()
	})
	v.want("readable")
	v.finish(true, true)
	if v = h.next(); v.head != get("/next") {
		t.Errorf("the remaining request became %q", v.head)
	}
	v.finish(true, true)
}

func TestResponsesLeaveUnchanged(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	c := h.dial()
	for name, inside := range map[string]bool{"part of the loop's buffer": true, "part of another": false} {
		for _, part := range []string{"", "part"} {
			for _, done := range []bool{false, true} {
				for _, trailer := range []string{"", "trailer"} {
					c.Send(get("/"))
					v := h.next()
					v.do(func(c client.Client) {
						if err := c.Interim([]byte("HTTP/1.1 103 Early\r\n\r\n")); err != nil {
							t.Error(err)
						}
						b := []byte(part)
						if inside {
							at := c.From().Conn.Loop().In[len(c.From().Conn.Loop().In)-4:]
							b = at[:copy(at, part)]
						}
						if err := c.Respond([]byte("HEAD\r\n"), b, done, done, []byte(trailer)); err != nil {
							t.Error(err)
						}
						if err := c.WriteBody([]byte(" more "), true, []byte(trailer)); err != nil {
							t.Error(err)
						}
						c.Serve(nil)
						c.Finish(true, true)
					})
					want := "HTTP/1.1 103 Early\r\n\r\nHEAD\r\n" + part + trailer + " more " + trailer
					got := make([]byte, len(want))
					if n, _ := io.ReadFull(c.Reader(), got); string(got) != want {
						t.Errorf("%s, done %t: got %q, want %q", name, done, got[:n], want)
					}
				}
			}
		}
	}
	c.Send(get("/"))
	v := h.next()
	_ = c.SetLinger(0)
	_ = c.Close()
	for _, trailer := range []string{"", "trailer"} {
		for _, part := range []string{"", "part"} {
			l7test.Eventually(t, "writing to who is gone fails", func() (failed bool) {
				v.do(func(c client.Client) {
					failed = c.Interim([]byte("x")) != nil && c.WriteBody([]byte("x"), true, []byte(trailer)) != nil &&
						c.Respond([]byte("x"), []byte(part), true, true, []byte(trailer)) != nil
				})
				return failed
			})
		}
	}
	v.do(func(c client.Client) { c.Serve(nil); c.Close(true) })
	h.counted(0, 0)
}

func TestExchangesDecideHowConnectionsEnd(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	for name, c := range map[string]struct {
		behind string // bytes after the request
		end    func(c client.Client)
		reset  bool
		goesOn bool // the next request is served
	}{
		"kept":                          {"", func(c client.Client) { c.Finish(true, true) }, false, true},
		"kept, with a request behind":   {get("/next"), func(c client.Client) { c.Finish(true, true) }, false, true},
		"not kept":                      {"", func(c client.Client) { c.Finish(false, true) }, false, false},
		"not kept, more on its way":     {get("/next"), func(c client.Client) { c.Finish(false, true) }, false, false},
		"the request is not whole":      {"", func(c client.Client) { c.Finish(true, false) }, false, false},
		"neither kept nor whole":        {get("/next"), func(c client.Client) { c.Finish(false, false) }, false, false},
		"not whole, as the end tells":   {"", func(c client.Client) { c.Abort(true) }, false, false},
		"not whole, as nothing tells":   {"", func(c client.Client) { c.Abort(false) }, true, false},
		"client gone in one direction":  {"", func(c client.Client) { c.Close(true) }, false, false},
		"client gone, and not told yet": {"", func(c client.Client) { c.Close(false) }, true, false},
		"an answer of ours":             {"", func(c client.Client) { c.Answer([]byte("ours"), false) }, false, true},
		"the last answer of ours":       {get("/next"), func(c client.Client) { c.Answer([]byte("ours"), true) }, false, false},
	} {
		client := h.dial().Send(get("/") + c.behind)
		v := h.next()
		if v.do(func(cl clientOf) { _ = cl.Interim([]byte("said")); cl.Serve(nil); c.end(cl) }); c.goesOn {
			if c.behind == "" {
				client.Send(get("/next"))
			}
			v = h.next()
			if v.head != get("/next") {
				t.Errorf("%s: %q comes next", name, v.head)
			}
			v.do(func(cl clientOf) { cl.Serve(nil); cl.Abort(true) })
		}
		said, reset := ends(client)
		if reset != c.reset || !reset && !strings.HasPrefix(said, "said") {
			t.Errorf("%s: it ends with %q, by a reset %t", name, said, reset)
		}
		_ = client.Close()
		h.counted(0, 0)
	}
	if len(h.begun) != 0 {
		t.Errorf("%q was started after the last response", (<-h.begun).head)
	}
}

type clientOf = client.Client

// Generated responses are sent in order, up to the last one.
func TestImmediateResponsesKeepTheirOrder(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	c := h.dial().Send(get("/now") + get("/now") + post("/now", "4", "body") + get("/then") + get("/now") + get("/last") + get("/now"))
	v := h.next()
	if v.head != get("/then") || v.rest != get("/now")+get("/last")+get("/now") {
		t.Errorf("got %q and %q", v.head, v.rest)
	}
	v.finish(true, true)
	for i, want := range []string{"ours", "ours", "ours", "ok", "ours", "ours"} {
		if res := c.Get(); res.Text != want {
			t.Errorf("answer %d is %q, want %q", i, res.Text, want)
		}
	}
	if rest, reset := ends(c); rest != "" || reset {
		t.Errorf("behind the last comes %q", rest)
	}
	h.counted(0, 0)
	p := h.frames()
	together(t, p, func() {
		p.Ask(1, true, "GET", "/now")
		p.Ask(3, false, "POST", "/last")
		p.Ask(5, true, "HEAD", "/now")
		p.Ask(7, true, "GET", "/then")
	})
	p.Want("1 HEADERS 200", "1 DATA ours end", "3 HEADERS 200", "3 DATA ours end", "5 HEADERS 200 end")
	h.next().finish(true, true)
	p.Want("7 HEADERS 200", "7 DATA ok end")
	_ = p.Conn.Close()
	h.counted(0, 0)
}

// Lingering covers data in flight; then the descriptor is released.
func TestLingeringClientIsClosedAfterATimeout(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	c := h.dial().Send(get("/") + "x")
	v := h.next()
	v.finish(false, true)
	if rest, _ := ends(c); !strings.HasSuffix(rest, "ok") {
		t.Errorf("got %q", rest)
	}
	h.counted(0, 0)
	open := func() (n int) {
		h.on(func() { h.loop.Each(func(*loop.Conn) { n++ }) })
		return n
	}
	if n := open(); n != 1 {
		t.Errorf("%d connections linger, want 1", n)
	}
	if h.skip(time.Second); open() != 1 {
		t.Error("it is left at once")
	}
	if h.skip(2 * time.Second); open() != 0 {
		t.Error("it is not left")
	}
}

// large is the size of a response that exceeds the socket buffers.
const large = 16 << 20

func TestNonReadingClientTimesOut(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	c := h.dial().Send(get("/"))
	v := h.next()
	v.want("proceed")
	v.do(func(c client.Client) {
		if c.Room(5) != 5 || c.Room(large) != large || c.Pending() != 0 {
			t.Errorf("of 5 bytes %d find room, %d are pending", c.Room(5), c.Pending())
		}
		_ = c.WriteBody(make([]byte, large), false, nil)
		if c.Room(5) != 0 || c.Pending() == 0 {
			t.Errorf("of 5 bytes %d find room, %d are pending", c.Room(5), c.Pending())
		}
		c.Await(int64(time.Second))
		c.Await(int64(time.Hour)) // already awaited
	})
	h.skip(1500 * time.Millisecond)
	v.quiet()
	h.skip(time.Second)
	v.want("expired")
	if _, err := io.CopyN(io.Discard, c.Reader(), large/8); err != nil {
		t.Fatal(err)
	}
	stalled := func() (is bool) {
		v.do(func(c client.Client) { is = c.Stalled(int64(time.Second)) })
		return is
	}
	l7test.Eventually(t, "what it takes leaves", func() bool { return !stalled() })
	l7test.Eventually(t, "it takes no more", stalled)
	v.do(func(c client.Client) { c.SetDeadline(h.loop.Now() + int64(time.Minute)) })
	if _, err := io.CopyN(io.Discard, c.Reader(), large*7/8); err != nil {
		t.Fatal(err)
	}
	v.want("drained")
	v.do(func(c client.Client) {
		if c.Room(5) != 5 || c.Pending() != 0 {
			t.Errorf("of 5 bytes %d find room, %d are pending", c.Room(5), c.Pending())
		}
		_ = c.WriteBody(make([]byte, large), false, nil)
		c.Await(int64(time.Second)) // as if for the first time
	})
	h.skip(2500 * time.Millisecond)
	v.want("expired")
	v.do(func(c client.Client) { c.SetDeadline(h.loop.Now() + int64(time.Second)); c.SetDeadline(0) })
	h.skip(time.Minute)
	v.quiet()
	v.do(func(c client.Client) { c.Serve(nil); c.Abort(false) })
	h.counted(0, 0)
}

// The next request waits until the client has read its response.
func TestNextRequestWaitsForTheSentResponse(t *testing.T) {
	t.Parallel()
	answer := "HTTP/1.1 200 OK\r\n\r\n" + strings.Repeat("x", large)
	for name, then := range map[string]func(c client.Client){
		"an answer of ours": func(c client.Client) { c.Answer([]byte(answer), false) },
		"an exchange":       func(c client.Client) { _ = c.WriteBody([]byte(answer), true, nil); c.Finish(true, true) },
	} {
		for how, behind := range map[string][2]string{"nothing": {"", ""}, "read ahead": {get("/next"), ""}, "later": {"", get("/next")}} {
			h := newHarness(t, nil)
			c := h.dial().Send(get("/") + behind[0])
			h.next().do(func(c client.Client) { c.Serve(nil); then(c) })
			c.Send(behind[1])
			h.skip(timeout)
			if len(h.begun) != 0 {
				t.Fatalf("%s, %s: the next request was started", name, how)
			}
			if _, err := io.CopyN(io.Discard, c.Reader(), int64(len(answer))); err != nil {
				t.Fatal(err)
			}
			if how == "nothing" {
				c.Send(get("/next"))
			}
			v := h.next()
			v.want("proceed")
			v.finish(true, true)
			h.skip(timeout - time.Second)
			h.counted(1, 0)
			h.skip(2 * time.Second)
			h.counted(0, 0)
		}
	}
}

// The exchange is over, and the response is left to the client.
func TestClientNotReadingAResponseTimesOut(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	c := h.dial().Send(get("/"))
	h.next().over(func(c client.Client) { c.Answer(make([]byte, large), false) })
	h.skip(2*timeout - time.Second)
	h.counted(1, 0)
	if _, err := io.CopyN(io.Discard, c.Reader(), large/8); err != nil {
		t.Fatal(err)
	}
	h.skip(2 * time.Second) // it has read something
	h.counted(1, 0)
	l7test.Eventually(t, "it is left", func() bool {
		h.skip(2 * timeout) // sockets may have accepted more meanwhile
		return h.Segment.SumFarm(1).Established == 0
	})
	if n := h.Segment.SumFarm(1).Timeouts; n != 1 {
		t.Errorf("%d time-outs are counted, want 1", n)
	}
	if _, reset := ends(c); !reset {
		t.Error("the client may mistake a part for the whole")
	}
	l7test.Eventually(t, "a line is left", func() bool { return len(h.Log.Lines("answer not taken in time")) == 1 })
}

// Responses without a backend count, too, even if they follow one of a backend.
func TestClientNotReadingGeneratedResponsesTimesOut(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	c := h.dial().Send(get("/slow") + get("/large") + get("/large"))
	v := h.next()
	v.want("proceed")
	v.do(func(c client.Client) { c.Listen(false) })
	h.skip(time.Second)
	v.want("expired")
	v.do(func(c client.Client) { c.Hear() }) // no deadline is left
	v.finish(true, true)
	l7test.Eventually(t, "it is left", func() bool {
		h.skip(2 * timeout)
		return h.Segment.SumFarm(1).Established == 0
	})
	if _, reset := ends(c); !reset {
		t.Error("the client may mistake a part for the whole")
	}
}

// The time to read a response is not cut short by the end of an upload.
func TestUploadingClientHasTimeToRead(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	c := h.dial().Send(post("/", "4", ""))
	v := h.next()
	v.want("proceed")
	v.do(func(c client.Client) { c.Listen(true) })
	c.Send("body" + get("/next"))
	v.want("readable")
	v.do(func(c client.Client) {
		_ = c.WriteBody(make([]byte, large), false, nil)
		c.Await(int64(timeout))
		c.Listen(false)
	})
	h.skip(2*timeout - time.Second)
	v.Turn()
	for len(v.events) > 0 {
		if got := <-v.events; got != "readable" { // it may be told again
			t.Errorf("got %q, want %q", got, "readable")
		}
	}
	h.skip(2 * time.Second)
	v.want("expired")
	v.do(func(c client.Client) { c.Serve(nil); c.Abort(false) })
}

// Many requests in one piece delay no other client, and all are served.
func TestPipelinedRequestsDelayNoOtherClient(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	const many = 1000
	first, second := h.dial(), h.dial()
	h.counted(2, 2)
	h.on(func() {
		first.Send(strings.Repeat(get("/now"), many) + get("/end"))
		second.Send(get("/"))
	})
	v := h.next()
	if v.head != get("/") || v.behind > many/10 {
		t.Errorf("%q came behind %d requests of another client", v.head, v.behind)
	}
	v.finish(true, true)
	v = h.next()
	if v.head != get("/end") || v.behind != many {
		t.Errorf("%q came after %d of %d requests", v.head, v.behind, many)
	}
	v.finish(true, true)
	for i := range many {
		if res := first.Get(); res.Text != "ours" {
			t.Fatalf("response %d is %q, want %q", i, res.Text, "ours")
		}
	}
	if res := first.Get(); res.Text != "ok" {
		t.Errorf("the last response is %q, want %q", res.Text, "ok")
	}
}

// The exchange decides which departures of the client are detected.
func TestDeparturesAreReportedAsWatched(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	for _, c := range []struct {
		watches client.Watch
		reset   bool
		want    string
	}{
		{client.WatchNothing, false, "readable"}, {client.WatchResets, false, "readable"}, {client.WatchCloses, false, "gone"},
		{client.WatchResets, true, "gone"}, {client.WatchCloses, true, "gone"},
	} {
		for _, heard := range []bool{false, true} {
			cl := h.dial().Send(get("/"))
			v := h.next()
			v.want("proceed")
			v.do(func(cl client.Client) {
				if v.watches = c.watches; !heard {
					cl.Listen(true)
				}
			})
			if c.reset {
				_ = cl.SetLinger(0)
				_ = cl.Close()
			} else {
				_ = cl.CloseWrite()
			}
			if heard { // after a while
				v.do(func(c client.Client) { c.Listen(false) })
				h.skip(200 * time.Millisecond)
				v.want("expired")
				v.do(func(c client.Client) { c.Hear() })
			}
			if v.want(c.want); c.want != "gone" {
				v.do(func(c client.Client) { c.Serve(nil); c.Abort(false) })
			}
			h.counted(0, 0)
		}
	}
}

func TestTunnelsEndOneDirectionAtATime(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	c := h.dial().Send(get("/"))
	v := h.next()
	v.do(func(c client.Client) {
		_ = c.WriteBody([]byte("bye"), false, nil)
		if c.EndTunnel(false); c.WantsTunnel() {
			t.Error("it would take any answer for a tunnel")
		}
	})
	if rest, reset := ends(c); rest != "bye" || reset {
		t.Errorf("got %q", rest)
	}
	c.Send("still here")
	l7test.Eventually(t, "what follows is read", func() bool {
		text, _ := v.read(100)
		return text == "still here"
	})
	v.do(func(c client.Client) { c.Serve(nil); c.Close(true) })
	h.counted(0, 0)
}

func TestClientsOfHTTP1HaveTheirTime(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		edit     func(*farm.HTTP)
		sends    string
		answered bool // an earlier request got its response
		told     string
		timeouts uint64
		pending  uint64
	}{
		"between requests":            {nil, "", true, "", 0, 0},
		"within the first head":       {nil, "GET / HT", false, "408", 1, 1},
		"within another head":         {nil, "GET / HT", true, "408", 1, 0},
		"before a PROXY header":       {wantsHeader, "PRO", false, "", 0, 1},
		"within a PROXY header":       {wantsHeader, "PROXY TCP4 192.0.2.1", false, "", 1, 1},
		"behind a PROXY header":       {wantsHeader, "PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n", false, "", 0, 1},
		"within the preface of h2":    {nil, "PRI * HT", false, "408", 1, 1},
		"within a head behind header": {wantsHeader, "PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\nGET / HTTP/1.1\r\n", false, "408", 1, 1},
	} {
		h := newHarness(t, c.edit)
		cl := h.dial()
		if c.answered {
			cl.Send(get("/"))
			h.next().finish(true, true)
			if cl.Get(); c.sends != "" {
				h.skip(timeout / 2) // the timeout of a head starts with its first byte
			}
		}
		cl.Send(c.sends)
		h.counted(1, c.pending)
		h.taken(cl)
		h.skip(timeout - time.Second)
		if h.counted(1, c.pending); c.sends != "" && c.told == "408" { // more bytes do not extend the timeout
			cl.Send("T")
			h.taken(cl)
		}
		h.skip(2 * time.Second)
		rest, reset := ends(cl)
		if reset && c.told != "" || !strings.Contains(rest, c.told) || (rest == "") != (c.told == "") {
			t.Errorf("%s: it got %q, a reset: %t", name, rest, reset)
		}
		h.counted(0, 0)
		answered := map[bool]uint64{true: 1}[c.told != ""]
		if f := h.Segment.SumFarm(1); f.Timeouts != c.timeouts || f.Responses[3] != answered {
			t.Errorf("%s: %d time-outs and %d answers are counted", name, f.Timeouts, f.Responses[3])
		}
		l7test.Eventually(t, name+" leaves a line for a time-out", func() bool {
			lines := h.Log.Lines("class=timeout")
			return len(lines) == int(c.timeouts) && (c.told == "" || strings.Contains(lines[0], "status="+c.told))
		})
	}
}

func wantsHeader(h *farm.HTTP) {
	h.ProxyIn, h.Trusted = farm.ProxyInRequired, l7test.Networks("127.0.0.0/8")
}

// taken waits until the loop has processed the sent bytes.
func (h *harness) taken(c *l7test.Client) {
	h.t.Helper()
	l7test.Eventually(h.t, "it came", func() bool { return pendingAt(h.t, c.TCPConn) == 0 })
	h.Turn()
	h.Turn()
}

// A client that still sends a large body when it gets the last response keeps its connection
// until it has sent the body, so that it can read the response.
func TestEarlyResponseLetsTheBodyFinish(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	c := h.dial().Send("POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 1000000\r\n\r\n")
	h.next().over(func(c client.Client) {
		c.Answer([]byte("HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n"), true)
	})
	for range 5 {
		c.Send("part of the body")
		h.skip(1500 * time.Millisecond)
	}
	c.Send("part of the body")
	_ = c.CloseWrite()
	if got, reset := ends(c); !strings.HasPrefix(got, "HTTP/1.1 401") || reset {
		t.Errorf("got %q, reset: %t", got, reset)
	}
}
