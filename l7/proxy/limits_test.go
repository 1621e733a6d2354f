package proxy_test

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/l7test"
)

// expecting is a request that waits for 100 Continue.
const expecting = "POST / HTTP/1.1\r\nHost: a.test\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n"

// continuing is a backend that sends 100 Continue and responds with the body.
func continuing(t *testing.T) *l7test.Backend {
	t.Helper()
	return l7test.NewBackend(t, func(c *l7test.Recorder) {
		for {
			head, err := c.Head()
			if err != nil {
				return
			}
			if strings.Contains(head, "Expect:") {
				c.Say("HTTP/1.1 100 Continue\r\n\r\n")
			}
			c.Say("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")
			body := make([]byte, 4)
			_, _ = io.ReadFull(c, body)
			c.Say("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n" + string(body))
		}
	})
}

// status reads the status line and the fields of a response.
func status(t *testing.T, c *l7test.Client) string {
	t.Helper()
	line, err := c.Reader().ReadString('\n')
	if err != nil {
		t.Fatalf("no answer: %v", err)
	}
	for more := line; more != "\r\n"; {
		if more, err = c.Reader().ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	return strings.Fields(line)[1]
}

func TestExpectationsByMode(t *testing.T) {
	t.Parallel()
	for mode, want := range map[farm.ContinueMode]string{
		"": "100 103 200", farm.ContinuePass: "100 103 200", farm.ContinueIgnore: "100 103 200", farm.ContinueSilent: "103 200", farm.ContinueNever: "417",
	} {
		b := continuing(t)
		c := l7test.Dial(t, l7test.New(t, 1).Serve(func(h *farm.HTTP) { h.Continue = mode }, l7test.Service("web", b.Addr)))
		c.Send(expecting)
		for i, code := range strings.Fields(want) {
			if got := status(t, c); got != code {
				t.Errorf("%s: answer %d is %s, want %s", mode, i, got, code)
			}
			if i == 0 {
				c.Send("body")
			}
		}
		asked := mode != farm.ContinueIgnore
		if strings.Contains(b.Received(), "Expect: 100-continue\r\n") != asked && mode != farm.ContinueNever {
			t.Errorf("%s: the backend got %q", mode, b.Received())
		}
		if mode == farm.ContinueNever {
			if b.Received() != "" {
				t.Errorf("%s: the backend got %q", mode, b.Received())
			}
			if rest := c.Rest(); strings.Contains(rest, "HTTP/1.1") {
				t.Errorf("%s: the connection continues: %q", mode, rest)
			}
		}
	}
}

func TestInvitedOnlyWhenTheBodyIsAwaited(t *testing.T) {
	t.Parallel()
	b := continuing(t)
	a := l7test.New(t, 1)
	addr := a.Serve(func(h *farm.HTTP) { h.Continue = farm.ContinueIgnore }, l7test.Service("web", b.Addr))
	c := l7test.Dial(t, addr).Send(expecting + "body")
	if got := status(t, c) + status(t, c); got != "103200" {
		t.Errorf("with the body at once: %s", got)
	}
	s := l7test.Service("moved", b.Addr)
	s.Redirect, s.Backends = "http://b.test/", nil
	a.Serve(nil, s)
	if got := status(t, l7test.Dial(t, addr).Send(expecting)); got != "302" {
		t.Errorf("a redirect begins with %s", got)
	}
}

func chunks(sizes ...int) string {
	var b strings.Builder
	b.WriteString("POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n")
	for _, n := range sizes {
		fmt.Fprintf(&b, "%x\r\n%s\r\n", n, strings.Repeat("x", n))
	}
	b.WriteString("0\r\n\r\n")
	return b.String()
}

func TestBodiesOverTheLimitAreRefused(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, web)
	a := l7test.New(t, 1)
	addr := a.Serve(func(h *farm.HTTP) { h.MaxBody = 10 }, l7test.Service("web", b.Addr))
	for name, c := range map[string]struct {
		send   string
		status int
	}{
		"counted, at the limit": {post(10), 200},
		"counted, over it":      {post(11), 413},
		"chunked, at the limit": {chunks(4, 6), 200},
		"chunked, over it":      {chunks(4, 7), 413},
		"one chunk over it":     {chunks(1 << 20), 413},
		"huge length":           {"POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 999999999999999999\r\n\r\n", 413},
		"expected":              {"POST / HTTP/1.1\r\nHost: a.test\r\nExpect: 100-continue\r\nContent-Length: 11\r\n\r\n", 413},
	} {
		before := strings.Count(b.Received(), "x")
		cl := l7test.Dial(t, addr)
		go func() { _, _ = io.WriteString(cl.TCPConn, c.send) }()
		res := cl.Response("POST")
		if res.StatusCode != c.status {
			t.Errorf("%s: %d, want %d", name, res.StatusCode, c.status)
		}
		if seen := strings.Count(b.Received(), "x") - before; seen > 10 {
			t.Errorf("%s: the backend got %d bytes of it", name, seen)
		}
		if c.status == 413 {
			if rest := cl.Rest(); rest != "" {
				t.Errorf("%s: the connection continues: %q", name, rest)
			}
		}
	}
}

func TestChunksThatDripInAreCounted(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, func(c *l7test.Recorder) { _, _ = io.Copy(io.Discard, struct{ io.Reader }{c}) })
	addr := l7test.New(t, 1).Serve(func(h *farm.HTTP) { h.MaxBody = 10 }, l7test.Service("web", b.Addr))
	c := l7test.Dial(t, addr).Send("POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n")
	for range 10 {
		c.Send("1\r\nx\r\n")
		time.Sleep(2 * time.Millisecond)
	}
	l7test.Eventually(t, "what is allowed reaches the backend", func() bool { return strings.Count(b.Received(), "x\r\n") == 10 })
	for _, ch := range "1\r\nx\r\n" {
		c.Send(string(ch))
		time.Sleep(2 * time.Millisecond)
	}
	if res := c.Response("POST"); res.StatusCode != 413 {
		t.Errorf("answered %d", res.StatusCode)
	}
	l7test.Eventually(t, "the backend's connection ends", func() bool { return b.Open() == 0 })
	if n := strings.Count(b.Received(), "x\r\n"); n != 10 {
		t.Errorf("the backend saw %d bytes", n)
	}
}

func TestHeadsOverTheLimitAreRefused(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, l7test.Answer(ok))
	a := l7test.New(t, 1)
	addr := a.Serve(func(h *farm.HTTP) { h.MaxHead, h.Error414 = 200, "too long\n" }, l7test.Service("web", b.Addr))
	fill := func(head string, n int) string {
		return strings.Replace(head, "_", strings.Repeat("x", n-len(head)+1), 1)
	}
	for name, c := range map[string]struct {
		send   string
		status int
	}{
		"at the limit":       {fill("GET / HTTP/1.1\r\nHost: a.test\r\nX: _\r\n\r\n", 200), 200},
		"over it":            {fill("GET / HTTP/1.1\r\nHost: a.test\r\nX: _\r\n\r\n", 201), 431},
		"line over it":       {fill("GET /_ HTTP/1.1\r\nHost: a.test\r\n\r\n", 230), 414},
		"endless field":      {"GET / HTTP/1.1\r\nHost: a.test\r\nX: " + strings.Repeat("x", 300), 431},
		"endless line":       {"GET /" + strings.Repeat("x", 300), 414},
		"endless empty line": {"\r\nGET /" + strings.Repeat("x", 300), 414},
	} {
		for _, slow := range []bool{false, true} {
			before := b.Received()
			cl := l7test.Dial(t, addr)
			if slow {
				go func() {
					for i := range c.send {
						if _, err := io.WriteString(cl.TCPConn, c.send[i:i+1]); err != nil {
							return
						}
						time.Sleep(100 * time.Microsecond)
					}
				}()
			} else {
				cl.Send(c.send)
			}
			res := cl.Get()
			if res.StatusCode != c.status || c.status != 200 && (res.Text != "too long\n" || b.Received() != before) {
				t.Errorf("%s, byte by byte %v: %d %q, want %d", name, slow, res.StatusCode, res.Text, c.status)
			}
		}
	}
	if n := a.Segment.SumFarm(1).RefusedHead; n != 10 {
		t.Errorf("%d refused heads are counted, want 10", n)
	}
}

func TestPathsTheFarmDoesNotAcceptAreRefused(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, l7test.Answer(ok))
	a := l7test.New(t, 1)
	s := l7test.Service("web", b.Addr)
	addr := a.Serve(func(h *farm.HTTP) { h.CheckURL = `^/[a-z]+(\?id=[0-9]+)?$` }, s)
	for path, want := range map[string]int{"/abc": 200, "/abc?id=1": 200, "/%61bc": 200, "/ABC": 400, "/abc?id=x": 400, "/": 400} {
		if res := l7test.Dial(t, addr).Send(get(path)).Get(); res.StatusCode != want {
			t.Errorf("%s: %d, want %d", path, res.StatusCode, want)
		}
	}
	a.Serve(func(h *farm.HTTP) { h.IgnoreCase = true }, s)
	if res := l7test.Dial(t, addr).Send(get("/ABC")).Get(); res.StatusCode != 200 {
		t.Errorf("ignoring case: %d", res.StatusCode)
	}
}

func TestServicesAskForFields(t *testing.T) {
	t.Parallel()
	var services []farm.Service
	for i, name := range []string{"strict", "denied", "ws", "any"} {
		s := l7test.Service(name, named(t, name).Addr)
		s.ID, s.Backends[0].ID = uint32(i+1), uint32(i+1)
		services = append(services, s)
	}
	services[0].HeadRequire = []string{"^x-version: [0-9]+$", "json"}
	services[1].HeadRequire, services[1].HeadDeny = []string{"^Cookie:"}, []string{"^cookie:.*stop", "^X-Stop:"}
	services[2].HeadRequire = []string{"^Upgrade: websocket"}
	a := l7test.New(t, 1)
	addr := a.Serve(nil, services...)
	for want, cases := range map[string][][]string{
		"strict": {{"X-Version: 42", "Accept: application/json"}, {"x-VERSION:42", "X: JSON", "Cookie: a"}},
		"denied": {{"Cookie: a=b"}, {"X-Version: x", "Cookie: json"}},
		"ws":     {{"Upgrade: WebSocket", "Connection: upgrade", "Sec-WebSocket-Key: " + l7test.SocketKey}, {"Cookie: a; stop", "Upgrade: websocket"}},
		"any":    {{}, {"X-Version: 42"}, {"Cookie: a", "X-Stop: y"}, {"X-Forwarded-For: x-version: 1 json"}},
	} {
		for _, lines := range cases {
			if res := l7test.Dial(t, addr).Send(request(lines...)).Get(); res.Text != want {
				t.Errorf("%q is served by %q, want %s", lines, res.Text, want)
			}
		}
	}
	// Fields removed by the farm's rules do not count.
	a.Serve(func(h *farm.HTTP) { h.RemoveRequest = remove("^Cookie:") }, services...)
	if res := l7test.Dial(t, addr).Send(request("Cookie: a=b")).Get(); res.Text != "any" {
		t.Errorf("a removed field was seen: %s", res.Text)
	}
}

func TestSilentTunnelEnds(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, func(c *l7test.Recorder) {
		_, _ = c.Head()
		c.Say("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
		_, _ = io.Copy(c.TCPConn, c.Unrecorded())
	})
	addr := l7test.New(t, 1).Serve(func(h *farm.HTTP) { h.TunnelTimeout = 2 }, l7test.Service("web", b.Addr))
	c := l7test.Dial(t, addr).Send("GET /ws HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
	status(t, c)
	for range 6 { // data keeps it alive
		c.Send("ping")
		time.Sleep(500 * time.Millisecond)
	}
	if rest, err := io.ReadAll(c.Reader()); string(rest) != strings.Repeat("ping", 6) || err != nil {
		t.Errorf("got %q, then %v", rest, err)
	}
}

func TestLimitsThatCannotBeAreRefused(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]func(h *farm.HTTP){
		"checkurl":    func(h *farm.HTTP) { h.CheckURL = "(" },
		"headrequire": func(h *farm.HTTP) { h.Services[0].HeadRequire = []string{"a", "(?=b)"} },
		"headdeny":    func(h *farm.HTTP) { h.Services[0].HeadDeny = []string{"["} },
	} {
		a := l7test.New(t, 1)
		a.Serve(nil, l7test.Service("web", "127.0.0.1:1"))
		f := a.Farm.Clone()
		edit(f.HTTP)
		if _, err := a.Engine.Publish(100, &farm.Config{Farms: []farm.Farm{f}}, nil); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
