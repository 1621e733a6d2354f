package proxy_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/l7test"
)

const sorry = "HTTP/1.1 503 Service Unavailable\r\nX-From: backend\r\nContent-Length: 5\r\n\r\nsorry"

// retrying is a service that retries after the given failures.
func retrying(on []farm.RetryCondition, addrs ...string) farm.Service {
	s := l7test.Service("web", addrs...)
	s.RetryOn, s.RetryBudget = on, 100
	return s
}

func on(conditions ...farm.RetryCondition) []farm.RetryCondition { return conditions }

// answerTo sends a request on its own connection and returns the response.
func answerTo(t *testing.T, addr, request string) l7test.Response {
	t.Helper()
	method, _, _ := strings.Cut(request, " ")
	return l7test.Dial(t, addr).Send(request).Response(method)
}

func TestAnotherBackendAnswersInsteadOfOneThatFails(t *testing.T) {
	t.Parallel()
	hangUp := func(c *l7test.Recorder) { _, _ = c.Head() }
	for name, c := range map[string]struct {
		on  []farm.RetryCondition
		bad func(c *l7test.Recorder)
	}{
		"status":         {on("503"), l7test.Answer(sorry)},
		"chunked status": {on("500", "503"), l7test.Answer("HTTP/1.1 503 No\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nno\r\n0\r\n\r\n")},
		"status in parts": {on("503"), func(c *l7test.Recorder) {
			for {
				if _, err := c.Head(); err != nil {
					return
				}
				for _, part := range []string{sorry[:20], sorry[20 : len(sorry)-3], sorry[len(sorry)-3:]} {
					c.Say(part)
					time.Sleep(20 * time.Millisecond)
				}
			}
		}},
		"status that ends the connection": {on("429"), func(c *l7test.Recorder) {
			_, _ = c.Head()
			c.Say("HTTP/1.1 429 Slow\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx")
		}},
		"reset":   {on("reset"), hangUp},
		"timeout": {on("timeout"), func(c *l7test.Recorder) { _, _ = io.Copy(io.Discard, c) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bad, good := l7test.NewBackend(t, c.bad), l7test.NewBackend(t, l7test.Answer(ok))
			a := l7test.New(t, 1)
			addr := a.Serve(func(h *farm.HTTP) { h.ResponseTimeout = 1 }, retrying(c.on, bad.Addr, good.Addr))
			client := l7test.Dial(t, addr)
			for range 6 {
				if res := client.Send(get("/")).Get(); res.StatusCode != 200 || res.Text != "ok" {
					t.Errorf("answer %d %q", res.StatusCode, res.Text)
				}
			}
			b, f := a.Segment.SumBackend(1), a.Segment.SumFarm(1)
			if b.Retries == 0 || b.Retries != b.Requests || f.Responses[1] != 6 || f.BackendErrors+f.Responses[4] != 0 {
				t.Errorf("backend %+v\nfarm %+v", b, f)
			}
			if b.Established != 0 || name == "status" && (bad.Accepted() != 1 || b.Responses[4] != b.Requests) {
				t.Errorf("%d connections to the failing backend: %+v", bad.Accepted(), b)
			}
		})
	}
}

// The failure of the backend is logged, but the exchange has succeeded.
func TestAFailureThatWasRetriedIsNoneOfTheExchange(t *testing.T) {
	t.Parallel()
	bad := l7test.NewBackend(t, func(c *l7test.Recorder) { _, _ = c.Head() })
	a := l7test.New(t, 1)
	r := l7test.RecordsOf(t, a)
	s := retrying(on("reset"), bad.Addr, l7test.NewBackend(t, l7test.Answer(ok)).Addr)
	addr := a.Serve(logs, s)
	for bad.Accepted() == 0 {
		if res := answerTo(t, addr, get("/")); res.StatusCode != 200 {
			t.Fatalf("answer %d", res.StatusCode)
		}
		if l := r.Next(); l.Status != 200 || l.Rejection != 0 {
			t.Errorf("recorded status %d, class %q", l.Status, classOf(a, l))
		}
	}
	l7test.Eventually(t, "a line about the backend", func() bool { return len(a.Log.Lines(bad.Addr)) > 0 })
	if line := a.Log.Lines(bad.Addr)[0]; strings.Contains(line, "status=") {
		t.Errorf("the line has a status although none was sent: %s", line)
	}
	if n := a.Segment.SumBackend(1); n.Retries != 1 {
		t.Errorf("%d retries are counted", n.Retries)
	}
}

func TestTheLastRealAnswerIsPassedOn(t *testing.T) {
	t.Parallel()
	chunked := "HTTP/1.1 500 Oops\r\nX-From: backend\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nso\r\n3\r\nrry\r\n0\r\n\r\n"
	for name, c := range map[string]struct {
		first, second func(c *l7test.Recorder)
		status        int
	}{
		"both say so":          {l7test.Answer(sorry), l7test.Answer(sorry), 503},
		"the other has ended":  {l7test.Answer(chunked), func(c *l7test.Recorder) { _, _ = c.Head() }, 500},
		"the other is silent":  {l7test.Answer(sorry), func(c *l7test.Recorder) { _, _ = io.Copy(io.Discard, c) }, 503},
		"the other is invalid": {l7test.Answer(chunked), l7test.Answer("HTTP/1.1 200\x00OK\r\n\r\n"), 500},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first, second := l7test.NewBackend(t, c.first), l7test.NewBackend(t, c.second)
			a := l7test.New(t, 1)
			s := retrying(on("500", "503", "reset", "timeout"), first.Addr, second.Addr)
			s.Retries = 5
			addr := a.Serve(func(h *farm.HTTP) { h.ResponseTimeout, h.Error503 = 1, "ours" }, s)
			for _, proto := range []string{"1.1", "1.0"} {
				for range 2 {
					res := answerTo(t, addr, "GET / HTTP/"+proto+"\r\nHost: a\r\n\r\n")
					if res.StatusCode != c.status || res.Text != "sorry" || res.Header.Get("X-From") != "backend" {
						t.Errorf("HTTP/%s: answer %d %q %v", proto, res.StatusCode, res.Text, res.Header)
					}
				}
			}
			f := a.Segment.SumFarm(1)
			if f.Responses[4] != 4 || f.NoBackend+f.BackendErrors != 0 {
				t.Errorf("%+v", f)
			}
			if one, other := a.Segment.SumBackend(1), a.Segment.SumBackend(2); one.Requests+other.Requests < 8-2 || one.Responses[4] == 0 || one.Responses[4] != one.Requests {
				t.Errorf("%+v\n%+v", one, other)
			}
		})
	}
}

func TestStreamsAreRetriedToo(t *testing.T) {
	t.Parallel()
	chunked := "HTTP/1.1 500 Oops\r\nX-From: backend\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nso\r\n3\r\nrry\r\n0\r\n\r\n"
	bad, good := l7test.NewBackend(t, l7test.Answer(chunked)), l7test.NewBackend(t, l7test.Answer(ok))
	a := l7test.New(t, 1)
	addr := a.Serve(nil, retrying(on("500"), bad.Addr, good.Addr))
	client := l7test.HTTP2Client(t, addr, false)
	ask := func(want string) {
		t.Helper()
		res, err := client.Get("http://" + addr + "/")
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(res.Body)
		if err != nil || string(text) != want {
			t.Errorf("answer %q %v", text, err)
		}
	}
	for range 6 {
		ask("ok")
	}
	a.Serve(nil, retrying(on("500"), bad.Addr))
	for range 3 {
		ask("sorry")
	}
}

// plainH2 starts a backend with HTTP/2 without TLS and returns its address.
func plainH2(t *testing.T, handler http.Handler) string {
	return l7test.HTTP2Server(t, handler, false).Listener.Addr().String()
}

func TestBackendsOfHTTP2AreRetriedToo(t *testing.T) {
	t.Parallel()
	answer := func(status int, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, text)
		}
	}
	for _, all := range []bool{false, true} {
		other := answer(200, "ok")
		want, status := "ok", 200
		if all {
			other, want, status = answer(503, "sorry"), "sorry", 503
		}
		a := l7test.New(t, 1)
		s := retrying(on("503"), plainH2(t, answer(503, "sorry")), plainH2(t, other))
		s.BackendProtocol = farm.BackendHTTP2
		addr := a.Serve(nil, s)
		client := l7test.HTTP2Client(t, addr, false)
		for range 4 {
			if res := answerTo(t, addr, get("/")); res.StatusCode != status || res.Text != want {
				t.Errorf("HTTP/1: answer %d %q", res.StatusCode, res.Text)
			}
			res, err := client.Get("http://" + addr + "/")
			if err != nil {
				t.Fatal(err)
			}
			if text, err := io.ReadAll(res.Body); err != nil || res.StatusCode != status || string(text) != want {
				t.Errorf("HTTP/2: answer %d %q %v", res.StatusCode, text, err)
			}
		}
	}
}

func TestOnlySafeRequestsAreRepeated(t *testing.T) {
	t.Parallel()
	post := "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc"
	for name, c := range map[string]struct {
		on      farm.RetryCondition
		unsafe  bool
		request string
		again   bool
	}{
		"POST":                   {"reset", false, post, false},
		"POST by status":         {"503", false, post, false},
		"POST unsafe":            {"reset", true, post, true},
		"POST unsafe by status":  {"503", true, post, true},
		"POST unsafe by timeout": {"timeout", true, post, false},
		"PUT":                    {"503", false, "PUT" + post[4:], true},
		"GET on another status":  {"502", false, get("/"), false},
		"upgrade":                {"503", false, "GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n", false},
		"long":                   {"503", false, "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 70000\r\n\r\n" + strings.Repeat("x", 70000), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script := func(c1 *l7test.Recorder) {
				head, err := c1.Head()
				if err != nil {
					return
				}
				if i := strings.Index(head, "Content-Length: "); i >= 0 {
					n := 0
					_, _ = fmt.Sscan(head[i+16:], &n)
					_, _ = io.CopyN(io.Discard, c1, int64(n))
				}
				switch c.on {
				case "503", "502":
					c1.Say(strings.Replace(sorry, "X-From", "Connection: close\r\nX-From", 1))
				case "timeout":
					_, _ = io.Copy(io.Discard, c1)
				}
			}
			one, other := l7test.NewBackend(t, script), l7test.NewBackend(t, script)
			a := l7test.New(t, 1)
			s := retrying([]farm.RetryCondition{c.on}, one.Addr, other.Addr)
			s.RetryUnsafe = c.unsafe
			res := answerTo(t, a.Serve(func(h *farm.HTTP) { h.ResponseTimeout = 1 }, s), c.request)
			tries := strings.Count(one.Received()+other.Received(), " / HTTP/1.1")
			if res.StatusCode < 500 || (tries == 2) != c.again || tries < 1 {
				t.Errorf("answer %d after %d tries", res.StatusCode, tries)
			}
		})
	}
}

func TestTheWholeBodyComesAgain(t *testing.T) {
	t.Parallel()
	for name, parts := range map[string][]string{
		"at once":  {"PUT /x HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\nabcdef"},
		"in parts": {"PUT /x HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\n", "abc", "def"},
		"chunks":   {"PUT /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTrailer: X-T\r\n\r\n", "3\r\nabc\r\n", "3\r\ndef\r\n0\r\n", "X-T: 1\r\n\r\n"},
		"60 KiB":   {"PUT /x HTTP/1.1\r\nHost: a\r\nContent-Length: 60000\r\n\r\n", strings.Repeat("a", 30000), strings.Repeat("b", 30000)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script := func(c *l7test.Recorder) {
				req, err := http.ReadRequest(bufio.NewReader(c))
				if err != nil {
					return
				}
				_, _ = io.Copy(io.Discard, req.Body)
				c.Say(strings.Replace(sorry, "X-From", "Connection: close\r\nX-From", 1))
				_ = c.CloseWrite()
				_, _ = io.Copy(io.Discard, c)
			}
			one, other := l7test.NewBackend(t, script), l7test.NewBackend(t, script)
			a := l7test.New(t, 1)
			c := l7test.Dial(t, a.Serve(nil, retrying(on("503"), one.Addr, other.Addr)))
			for i, part := range parts {
				if i > 0 {
					sent := len(strings.Join(parts[:i], ""))
					l7test.Eventually(t, "what was sent is at a backend", func() bool { return len(one.Received())+len(other.Received()) >= sent })
				}
				c.Send(part)
			}
			if res := c.Response("PUT"); res.StatusCode != 503 || res.Text != "sorry" {
				t.Errorf("answer %d %q", res.StatusCode, res.Text)
			}
			body := func(b *l7test.Backend) string { _, body, _ := strings.Cut(b.Received(), "\r\n\r\n"); return body }
			_, want, _ := strings.Cut(strings.Join(parts, ""), "\r\n\r\n")
			l7test.Eventually(t, "the one asked last has all of it", func() bool { return body(one) == want || body(other) == want })
			if body(one) != body(other) {
				t.Errorf("%q and %q", body(one), body(other))
			}
		})
	}
}

func TestRetriesEndWithTheFirstByteToTheClient(t *testing.T) {
	t.Parallel()
	for name, said := range map[string]string{"interim": "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n", "part of a head": "HTTP/1.1 200 O"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script := func(c *l7test.Recorder) {
				_, _ = c.Head()
				c.Say(said)
				time.Sleep(50 * time.Millisecond)
			}
			one, other := l7test.NewBackend(t, script), l7test.NewBackend(t, script)
			a := l7test.New(t, 1)
			c := l7test.Dial(t, a.Serve(nil, retrying(on("reset"), one.Addr, other.Addr)))
			c.Send(get("/"))
			for {
				if res := c.Get(); res.StatusCode >= 200 {
					if res.StatusCode != 502 {
						t.Errorf("answer %d", res.StatusCode)
					}
					break
				}
			}
			if n := one.Accepted() + other.Accepted(); n != 1 {
				t.Errorf("%d tries", n)
			}
		})
	}
}

func TestResponseThatCannotBeKeptIsForwarded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 100_000)
	for name, answer := range map[string]string{
		"long":        fmt.Sprintf("HTTP/1.1 503 No\r\nContent-Length: %d\r\n\r\n%s", len(long), long),
		"chunked":     fmt.Sprintf("HTTP/1.1 503 No\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(long), long),
		"until close": "HTTP/1.0 503 No\r\n\r\n" + long,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script := func(c *l7test.Recorder) { _, _ = c.Head(); c.Say(answer) }
			one, other := l7test.NewBackend(t, script), l7test.NewBackend(t, script)
			res := answerTo(t, l7test.New(t, 1).Serve(nil, retrying(on("503"), one.Addr, other.Addr)), get("/"))
			if n := one.Accepted() + other.Accepted(); res.StatusCode != 503 || res.Text != long || n != 1 {
				t.Errorf("answer %d of %d bytes after %d tries", res.StatusCode, len(res.Text), n)
			}
		})
	}
}

// A response that cannot be replaced is forwarded before it is complete.
func TestResponseToAnUnrepeatableRequestIsForwarded(t *testing.T) {
	t.Parallel()
	seen := make(chan bool)
	script := func(c *l7test.Recorder) {
		_, _ = c.Head()
		c.Say(sorry[:len(sorry)-3])
		<-seen
		c.Say(sorry[len(sorry)-3:])
	}
	one, other := l7test.NewBackend(t, script), l7test.NewBackend(t, script)
	c := l7test.Dial(t, l7test.New(t, 1).Serve(nil, retrying(on("503"), one.Addr, other.Addr))).Send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n")
	if text, err := c.Reader().Peek(len("HTTP/1.1 503")); err != nil {
		t.Errorf("no bytes before the complete response: %q, %v", text, err)
	}
	close(seen)
	if res := c.Response("POST"); res.StatusCode != 503 || res.Text != "sorry" {
		t.Errorf("answer %d %q", res.StatusCode, res.Text)
	}
}

func TestRetriesKeepToTheirNumberAndBudget(t *testing.T) {
	t.Parallel()
	var backends []string
	for range 4 {
		backends = append(backends, l7test.NewBackend(t, l7test.Answer(sorry)).Addr)
	}
	tries := func(a *l7test.Appliance) (n uint64) {
		for id := range backends {
			n += a.Segment.SumBackend(uint32(id + 1)).Requests
		}
		return n
	}
	for most := uint8(1); most <= 5; most++ {
		a := l7test.New(t, 1)
		s := retrying(on("503"), backends...)
		s.Retries = most
		answerTo(t, a.Serve(nil, s), get("/"))
		if got, want := tries(a), uint64(min(most, 3))+1; got != want {
			t.Errorf("retries %d: %d tries, want %d", most, got, want)
		}
	}
	const requests = 200
	a := l7test.New(t, 1)
	s := retrying(on("503"), backends...)
	s.RetryBudget, s.Retries = 0, 5
	c := l7test.Dial(t, a.Serve(nil, s))
	for range requests {
		if res := c.Send(get("/")).Get(); res.StatusCode != 503 {
			t.Fatalf("answer %d", res.StatusCode)
		}
	}
	// A percentage of the requests at that time, which cannot exceed the percentage of all.
	if n := tries(a) - requests; n < requests/10 || n > requests/5+10 {
		t.Errorf("%d retries of %d requests within a budget of 20 %%", n, requests)
	}
}

// A kept response is forwarded unchanged, wherever its bytes were split.
func TestAKeptAnswerThatComesInPiecesIsWhole(t *testing.T) {
	const head = "HTTP/1.1 503 Busy\r\nTransfer-Encoding: chunked\r\nTrailer: ETag\r\n\r\n"
	const body = "2;note=\"x\"\r\nso\r\n3;y\r\nrry\r\n0;z\r\nSet-Cookie: 1\r\nETag: \"1\"\r\n\r\n"
	for cut := range len(body) {
		t.Run(fmt.Sprint(cut), func(t *testing.T) {
			t.Parallel()
			says := func(c *l7test.Recorder) {
				for {
					if _, err := c.Head(); err != nil {
						return
					}
					c.Say(head + body[:cut])
					time.Sleep(5 * time.Millisecond)
					c.Say(body[cut:])
				}
			}
			one, other := l7test.NewBackend(t, says), l7test.NewBackend(t, says)
			a := l7test.New(t, 1)
			c := l7test.Dial(t, a.Serve(nil, retrying(on("503"), one.Addr, other.Addr))).Send(req("GET / HTTP/1.1", "TE: trailers\r\nConnection: TE, close\r\n"))
			if rest := c.Rest(); !strings.HasPrefix(rest, "HTTP/1.1 503 Busy\r\n") || !strings.HasSuffix(rest, "2\r\nso\r\n3\r\nrry\r\n0\r\nETag: \"1\"\r\n\r\n") {
				t.Errorf("the client got %q", rest)
			}
		})
	}
}
