package proxy_test

import (
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/rejection"
	"github.com/sluicelb/sluice/l7/l7test"
)

// oneLine waits for the log line about a refusal. It must be the only one and contain rest
// after its reason.
func oneLine(t *testing.T, a *l7test.Appliance, c *l7test.Client, class, reason, rest string) {
	t.Helper()
	l7test.Eventually(t, "a line is left", func() bool { return len(a.Log.Lines("msg=refused")) > 0 })
	a.Engine.Close()
	lines := a.Log.Lines("refused")
	want := fmt.Sprintf("level=WARN msg=refused farm=test class=%s reason=%q client=%s", class, reason, c.LocalAddr())
	if rest != "" {
		want += " " + rest
	}
	if len(lines) != 1 || !strings.HasSuffix(lines[0], " "+want) {
		t.Errorf("got  %s\nwant one line %s", strings.Join(lines, "\n     "), want)
	}
}

// familyVerbs makes a farm accept only known methods.
func familyVerbs(h *farm.HTTP) { h.Verbs = farm.VerbsMSRPCExt }

func TestEachRefusedRequestLeavesOneLine(t *testing.T) {
	chunked := "POST / HTTP/1.1\r\n" + hostLine + "Transfer-Encoding: chunked\r\n\r\n"
	long := strings.Repeat("x", 100<<10)
	for _, c := range []struct {
		send, class, reason string
		status              int
	}{
		{req("POST / HTTP/1.1", "Content-Length: 5\r\nContent-Length: 6\r\n"), "request-smuggling", "several Content-Length fields", 400},
		{req("POST / HTTP/1.1", "Content-Length: +5\r\n"), "request-smuggling", "malformed Content-Length", 400},
		{req("POST / HTTP/1.1", "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n"), "request-smuggling", "Transfer-Encoding with Content-Length", 400},
		{req("POST / HTTP/1.1", "Transfer-Encoding: xchunked\r\n"), "request-smuggling", "Transfer-Encoding is not exactly chunked", 400},
		{chunked + "0x5\r\n", "request-smuggling", "malformed chunk size", 400},
		{chunked + "0\r\nHost: b.test\r\n\r\n", "request-smuggling", "trailer carries a framing or identity field", 400},
		{req("GET / HTTP/1.1", "X: a\r\n b\r\n"), "bad-request", "folded field line", 400},
		{req("GET / HTTP/1.1", "X: a\x00b\r\n"), "bad-request", "control byte in field value", 400},
		{req("GET / HTTP/9.9", ""), "bad-request", "protocol version not supported", 505},
		{req("POST / HTTP/1.1", "Expect: tea\r\nContent-Length: 5\r\n"), "bad-request", "unknown expectation", 417},
		{"GET / HTTP/1.1\r\n\r\n", "bad-host", "no Host", 400},
		{req("GET / HTTP/1.1", hostLine), "bad-host", "several Host fields", 400},
		{req("GET http://b.test/ HTTP/1.1", ""), "bad-host", "absolute target and Host disagree", 400},
		{req("GET /%2e%2e/x HTTP/1.1", ""), "bad-target", "path climbs above the root", 400},
		{req("GET /a%00b HTTP/1.1", ""), "bad-target", "escaped NUL, CR or LF in path", 400},
		{req("GET / HTTP/1.1", "X: "+long+"\r\n"), "head-too-long", "head too long", 431},
		{req("GET / HTTP/1.1", strings.Repeat("X: y\r\n", 1000)), "head-too-long", "too many fields", 431},
		{req("GET /"+long+" HTTP/1.1", ""), "head-too-long", "request target too long", 414},
		{strings.Repeat("A", 100<<10), "bad-method", "method too long", 501},
		{"CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\n\r\n", "bad-method", "method CONNECT on a normal farm", 405},
		{req("BREW / HTTP/1.1", ""), "bad-method", "method not in the set of the farm", 501},
	} {
		t.Run(c.reason, func(t *testing.T) {
			t.Parallel()
			b := l7test.NewBackend(t, func(r *l7test.Recorder) {
				_, _ = r.Head()
				_, _ = io.Copy(io.Discard, r)
			})
			a := l7test.New(t, 1)
			client := l7test.Dial(t, a.Serve(familyVerbs, l7test.Service("web", b.Addr)))
			go func() { _, _ = io.WriteString(client.TCPConn, c.send) }()
			if res := client.Get(); res.StatusCode != c.status {
				t.Errorf("answered %s, want %d", res.Status, c.status)
			}
			oneLine(t, a, client, c.class, c.reason, fmt.Sprintf("status=%d", c.status))
		})
	}
}

func TestHalfAHeadLeavesOneLine(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, l7test.Answer(ok))
	a := l7test.New(t, 1)
	c := l7test.Dial(t, a.Serve(nil, l7test.Service("web", b.Addr))).Send("GET / HTTP/1.1\r\nHo")
	_ = c.CloseWrite()
	oneLine(t, a, c, "bad-request", "connection ended within the head", "")
}

func TestBodyThatBreaksAfterTheAnswerBeganLeavesOneLine(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, func(r *l7test.Recorder) {
		_, _ = r.Head()
		r.Say("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nearly")
		_, _ = io.Copy(io.Discard, r)
	})
	a := l7test.New(t, 1)
	c := l7test.Dial(t, a.Serve(nil, l7test.Service("web", b.Addr)))
	c.Send("POST / HTTP/1.1\r\n" + hostLine + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
	if _, err := io.ReadFull(c.Reader(), make([]byte, len("HTTP/1.1 200 OK\r\n"))); err != nil {
		t.Fatal(err)
	}
	c.Send("-1\r\n").Rest()
	oneLine(t, a, c, "request-smuggling", "malformed chunk size", "")
	if s := a.Segment.SumFarm(1); s.BadRequests != 1 {
		t.Errorf("%d bad requests counted, want 1", s.BadRequests)
	}
}

func TestEachClientThatIsTooSlowLeavesOneLine(t *testing.T) {
	early := "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nearly"
	endless := "HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n"
	for _, c := range []struct {
		name, send, says, reason, rest string
	}{
		{"head", "GET / HTTP/1.1\r\nHo", "", "head not complete in time", "status=408"},
		{"body", req("POST / HTTP/1.1", "Content-Length: 10\r\n") + "half", "", "body not complete in time", "status=408"},
		{"body with an early answer", req("POST / HTTP/1.1", "Content-Length: 10\r\n") + "half", early, "body not complete in time", ""},
		{"reader", req("GET / HTTP/1.1", ""), endless, "answer not taken in time", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := l7test.NewBackend(t, func(r *l7test.Recorder) {
				_, _ = r.Head()
				r.Say(c.says)
				if c.says == endless {
					for block := make([]byte, 1<<20); ; {
						if _, err := r.Write(block); err != nil {
							return
						}
					}
				}
				_, _ = io.Copy(io.Discard, r)
			})
			a := l7test.New(t, 1)
			client := l7test.Dial(t, a.Serve(func(h *farm.HTTP) { h.RequestTimeout = 1 }, l7test.Service("web", b.Addr))).Send(c.send)
			l7test.Eventually(t, "the time-out is counted", func() bool { return a.Segment.SumFarm(1).Timeouts == 1 })
			oneLine(t, a, client, "timeout", c.reason, c.rest)
		})
	}
}

func TestEachRefusedAnswerLeavesOneLineWithItsBackend(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\n"
	for _, c := range []struct {
		says, class, reason string
		status              int
	}{
		{"220 mail.example ESMTP\r\n\r\n", "bad-answer", "malformed status line", 502},
		{head + "Content-Length: 2\r\nContent-Length: 3\r\n\r\nok", "bad-answer", "several Content-Length fields", 502},
		{head + "X: " + strings.Repeat("x", 70<<10), "bad-answer", "head too long", 502},
		{head + "Transfer-Encoding: chunked\r\n\r\nzz\r\n", "bad-answer", "malformed chunk size", 502},
		{ok + ok, "bad-answer", "more than was announced", 0},
		{strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", 40) + ok, "bad-answer", "too many interim answers", 502},
		{"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n", "bad-answer", "switch of protocols without a request for it", 502},
		{"HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\nno", "bad-answer", "body of a response that has none", 0},
		{"", "cut-answer", "connection ended before the answer", 502},
		{"HTTP/1.1 200 O", "cut-answer", "connection ended within the head", 502},
		{head + "Content-Length: 10\r\n\r\npart", "cut-answer", "connection ended within the body", 0},
	} {
		t.Run(c.reason, func(t *testing.T) {
			t.Parallel()
			b := l7test.NewBackend(t, func(r *l7test.Recorder) {
				_, _ = r.Head()
				r.Say(c.says)
				_ = r.CloseWrite()
				_, _ = io.Copy(io.Discard, r.Unrecorded())
			})
			a := l7test.New(t, 1)
			client := l7test.Dial(t, a.Serve(nil, l7test.Service("web", b.Addr))).Send(req("GET / HTTP/1.1", "Connection: close\r\n"))
			client.Rest()
			rest := "backend=" + b.Addr
			if c.status != 0 {
				rest += fmt.Sprintf(" status=%d", c.status)
			}
			oneLine(t, a, client, c.class, c.reason, rest)
		})
	}
}

func TestBadChunkWithinTheAnswerLeavesOneLine(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, func(r *l7test.Recorder) {
		_, _ = r.Head()
		r.Say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
		time.Sleep(100 * time.Millisecond) // its end is read separately
		r.Say("zz\r\n")
		_, _ = io.Copy(io.Discard, r)
	})
	a := l7test.New(t, 1)
	c := l7test.Dial(t, a.Serve(nil, l7test.Service("web", b.Addr))).Send(get("/"))
	c.Rest()
	oneLine(t, a, c, "bad-answer", "malformed chunk size", "backend="+b.Addr)
}

func TestEachBackendThatIsTooSlowLeavesOneLine(t *testing.T) {
	for _, c := range []struct{ says, reason, status string }{
		{"", "no answer in time", " status=504"},
		{"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\npart", "answer not complete in time", ""},
	} {
		t.Run(c.reason, func(t *testing.T) {
			t.Parallel()
			b := l7test.NewBackend(t, func(r *l7test.Recorder) {
				_, _ = r.Head()
				r.Say(c.says)
				_, _ = io.Copy(io.Discard, r)
			})
			a := l7test.New(t, 1)
			client := l7test.Dial(t, a.Serve(func(h *farm.HTTP) { h.ResponseTimeout = 1 }, l7test.Service("web", b.Addr))).Send(req("GET / HTTP/1.1", "Connection: close\r\n"))
			client.Rest()
			oneLine(t, a, client, "backend-timeout", c.reason, "backend="+b.Addr+c.status)
		})
	}
}

func TestGoodRequestsLeaveNoLine(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, web)
	a := l7test.New(t, 2)
	addr := a.Serve(func(h *farm.HTTP) { h.RequestTimeout = 1 }, l7test.Service("web", b.Addr))
	idle, silent := l7test.Dial(t, addr).Send(get("/")), l7test.Dial(t, addr)
	for range 10 {
		c := l7test.Dial(t, addr)
		for range 20 {
			if res := c.Send(post(100)).Response("POST"); res.StatusCode != 200 {
				t.Fatal(res.Status)
			}
		}
		_ = c.Close()
	}
	idle.Rest()   // closed after a good request
	silent.Rest() // closed without any
	a.Engine.Close()
	if text := a.Log.String(); text != "" {
		t.Errorf("logged %s", text)
	}
}

var suppressed = regexp.MustCompile(` suppressed=(\d+)$`)

// stoodFor returns the number of rejections of a class reported by the lines.
func stoodFor(t *testing.T, lines []string, class string) (n int) {
	t.Helper()
	for _, line := range lines {
		if !strings.Contains(line, " class="+class+" ") {
			t.Errorf("another class: %s", line)
		}
		if strings.Contains(line, " msg=refused ") {
			n++
		}
		if m := suppressed.FindStringSubmatch(line); m != nil {
			left, err := strconv.Atoi(m[1])
			if err != nil {
				t.Fatal(err)
			}
			n += left
		}
	}
	return n
}

func TestFloodOfRefusedRequestsLeavesFewLinesAndTheRightTotal(t *testing.T) {
	t.Parallel()
	const loops, clients, each = 2, 20, 500
	b := l7test.NewBackend(t, l7test.Answer(ok))
	a := l7test.New(t, loops)
	addr := a.Serve(familyVerbs, l7test.Service("web", b.Addr))
	began := time.Now()
	for range clients {
		c := l7test.Dial(t, addr)
		go func() { _, _ = io.WriteString(c.TCPConn, strings.Repeat(req("BREW / HTTP/1.1", ""), each)) }()
		for range each {
			if res := c.Get(); res.StatusCode != 501 {
				t.Fatal(res.Status)
			}
		}
	}
	took := int(time.Since(began)/rejection.Every) + 1
	l7test.Eventually(t, "all are told though nobody comes again", func() bool {
		return stoodFor(t, a.Log.Lines("refused"), "bad-method") == clients*each
	})
	a.Engine.Close()
	lines := a.Log.Lines("refused")
	if got := stoodFor(t, lines, "bad-method"); got != clients*each {
		t.Errorf("the lines cover %d requests, want %d", got, clients*each)
	}
	if most := loops*(rejection.Burst+took) + took + 2; len(lines) > most {
		t.Errorf("%d lines, want at most %d", len(lines), most)
	}
	if counted := a.Segment.SumFarm(1).BadMethods; counted != clients*each {
		t.Errorf("%d counted, want %d", counted, clients*each)
	}
}

func TestBytesOfAPeerReachNoLine(t *testing.T) {
	t.Parallel()
	evil := "forged\r\x1b[31m\x07\x00\nlevel=ERROR msg=forged"
	plain := "forged%0d%0alevel=ERROR+msg=forged\x1b[31m"
	b := l7test.NewBackend(t, func(r *l7test.Recorder) {
		_, _ = r.Head()
		r.Say("HTTP/1.1 200 " + evil + "\r\n\r\n")
		_, _ = io.Copy(io.Discard, r.Unrecorded())
	})
	a := l7test.New(t, 1)
	addr := a.Serve(nil, l7test.Service("web", b.Addr))
	sent := 0
	for _, bytes := range []string{evil, plain} {
		for _, request := range []string{
			bytes + "\r\n\r\n",
			bytes + " / HTTP/1.1\r\nHost: a.test\r\n\r\n",
			"GET /" + bytes + " HTTP/1.1\r\nHost: a.test\r\n\r\n",
			"GET / HTTP/1.1\r\nHost: " + bytes + "\r\n\r\n",
			"GET / HTTP/1.1\r\nHost: a.test\r\n" + bytes + ": x\r\n\r\n",
			"GET / HTTP/1.1\r\nHost: a.test\r\nContent-Length: " + bytes + "\r\n\r\n",
			"POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n" + bytes + "\r\n",
		} {
			l7test.Dial(t, addr).Send(request).Rest()
			sent++
		}
	}
	l7test.Dial(t, addr).Send(get("/")).Get() // the backend's bytes
	sent++
	a.Engine.Close()
	lines := a.Log.Lines("")
	if len(lines) != sent {
		t.Errorf("%d lines, want %d", len(lines), sent)
	}
	for _, line := range lines {
		if !strings.HasPrefix(line, "time=") || !strings.Contains(line, " level=WARN msg=refused farm=test ") {
			t.Errorf("not a line of ours: %q", line)
		}
		if strings.Contains(line, "forged") || strings.ContainsFunc(line, func(r rune) bool { return r < ' ' || r > '~' }) {
			t.Errorf("bytes of a peer: %q", line)
		}
	}
}
