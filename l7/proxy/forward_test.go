package proxy_test

import (
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/enginetest"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/l7test"
)

var get = l7test.Get

func TestBodiesStreamBothWays(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, func(c *l7test.Recorder) {
		if _, err := c.Head(); err != nil {
			return
		}
		c.Say("HTTP/1.1 200 OK\r\nContent-Length: 33554432\r\n\r\n")
		_, _ = io.CopyN(c.TCPConn, c.Unrecorded(), 32<<20)
	})
	c := l7test.Dial(t, l7test.New(t, 1).Serve(nil, l7test.Service("web", b.Addr)))
	c.Send("POST /echo HTTP/1.1\r\nHost: a.test\r\nContent-Length: 33554432\r\n\r\n")
	sum := sha256.New()
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		r := rand.NewChaCha8([32]byte{7})
		_, _ = io.CopyN(io.MultiWriter(c.TCPConn, sum), r, 32<<20)
	}()
	res := c.Get()
	<-sent
	if len(res.Text) != 32<<20 || sha256.Sum256([]byte(res.Text)) != [32]byte(sum.Sum(nil)) {
		t.Fatalf("%d bytes were echoed, changed or truncated", len(res.Text))
	}
}

func TestChunkedResponsePassesWithTrailers(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, l7test.Answer("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y\r\nhello\r\n6\r\n world\r\n0\r\n\r\n"))
	c := l7test.Dial(t, l7test.New(t, 1).Serve(nil, l7test.Service("web", b.Addr)))
	for range 2 {
		if res := c.Send(get("/")).Get(); res.Text != "hello world" {
			t.Fatalf("got %q", res.Text)
		}
	}
	if b.Accepted() != 1 {
		t.Error("the backend's connection was not used again")
	}
}

func TestOldClientGetsAChunkedAnswerWithoutChunks(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, l7test.Answer("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"))
	c := l7test.Dial(t, l7test.New(t, 1).Serve(nil, l7test.Service("web", b.Addr)))
	got := c.Send("GET / HTTP/1.0\r\nHost: a.test\r\n\r\n").Rest()
	if !strings.HasSuffix(got, "\r\n\r\nhello") || strings.Contains(strings.ToLower(got), "chunked") {
		t.Fatalf("got %q", got)
	}
}

func TestBodyUntilCloseEndsTheConnection(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, func(c *l7test.Recorder) {
		_, _ = c.Head()
		c.Say("HTTP/1.1 200 OK\r\n\r\nto the end")
	})
	c := l7test.Dial(t, l7test.New(t, 1).Serve(nil, l7test.Service("web", b.Addr)))
	got := c.Send(get("/")).Rest()
	if !strings.Contains(got, "Connection: close\r\n") || !strings.HasSuffix(got, "to the end") {
		t.Fatalf("got %q", got)
	}
}

func TestInterimAnswersArePassedOn(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, func(c *l7test.Recorder) {
		_, _ = c.Head()
		c.Say("HTTP/1.1 100 Continue\r\n\r\n")
		body := make([]byte, 4)
		_, _ = io.ReadFull(c, body)
		c.Say("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + ok)
	})
	c := l7test.Dial(t, l7test.New(t, 1).Serve(nil, l7test.Service("web", b.Addr)))
	c.Send("POST / HTTP/1.1\r\nHost: a.test\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n")
	line, err := c.Reader().ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "HTTP/1.1 100") {
		t.Fatalf("got %q, %v", line, err)
	}
	_, _ = c.Reader().ReadString('\n')
	c.Send("body")
	if line, _ := c.Reader().ReadString('\n'); !strings.HasPrefix(line, "HTTP/1.1 103") {
		t.Fatalf("got %q", line)
	}
}

func TestEarlyAnswerIsDeliveredWhileTheBodyIsStillSent(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, func(c *l7test.Recorder) {
		_, _ = c.Head()
		c.Say("HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\nConnection: close\r\n\r\nno!")
	})
	c := l7test.Dial(t, l7test.New(t, 1).Serve(nil, l7test.Service("web", b.Addr)))
	c.Send("POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 100000000\r\n\r\n")
	stop := make(chan struct{})
	go func() {
		defer close(stop)
		block := make([]byte, 64<<10)
		for range 1000 {
			if _, err := c.Write(block); err != nil {
				return
			}
		}
	}()
	if res := c.Get(); res.StatusCode != 413 || res.Text != "no!" {
		t.Fatalf("got %s %q", res.Status, res.Text)
	}
	_ = c.Close()
	<-stop
}

func TestFailedConnectGoesOnToTheNextBackend(t *testing.T) {
	t.Parallel()
	dead := l7test.NewBackend(t, l7test.Answer(ok))
	dead.Close()
	live := l7test.NewBackend(t, l7test.Answer(ok))
	a := l7test.New(t, 1)
	c := l7test.Dial(t, a.Serve(nil, l7test.Service("web", dead.Addr, live.Addr)))
	for range 4 {
		if res := c.Send("POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 0\r\n\r\n").Response("POST"); res.StatusCode != 200 {
			t.Fatalf("got %s", res.Status)
		}
	}
	if a.Health.Slot(1).Usable() {
		t.Error("the dead backend is not marked down")
	}
	if n := a.Segment.SumBackend(1).ConnectFailures; n != 1 {
		t.Errorf("%d failed connects counted, want 1: a backend that is down is not tried again", n)
	}
}

func TestBackendIsUsedAgainAfterItCameBack(t *testing.T) {
	t.Parallel()
	port := enginetest.NewSilent(t)
	a := l7test.New(t, 2)
	front := a.Serve(func(h *farm.HTTP) { h.ConnectTimeout, h.ResurrectTime = 1, 1; h.Error503 = "sorry" }, l7test.Service("web", port.Addr))
	res := l7test.Dial(t, front).Send(get("/")).Get()
	if res.StatusCode != 503 || res.Text != "sorry" {
		t.Fatalf("got %s %q", res.Status, res.Text)
	}
	again := port.Listen()
	t.Cleanup(func() { _ = again.Close() })
	go func() {
		for {
			c, err := again.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				buf := make([]byte, 4096)
				for {
					if _, err := c.Read(buf); err != nil {
						return
					}
					_, _ = io.WriteString(c, ok)
				}
			}()
		}
	}()
	l7test.Eventually(t, "the backend is used again", func() bool {
		return l7test.Dial(t, front).Send(get("/")).Get().StatusCode == 200
	})
}

func TestIdempotentRequestIsRepeatedWhenAnIdleConnectionDied(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, func(c *l7test.Recorder) {
		if _, err := c.Head(); err == nil {
			c.Say(ok)
		}
		_, _ = c.Head() // swallows the second request and closes
	})
	c := l7test.Dial(t, l7test.New(t, 1).Serve(nil, l7test.Service("web", b.Addr)))
	for i := range 3 {
		if res := c.Send(get("/")).Get(); res.StatusCode != 200 {
			t.Fatalf("request %d: %s", i, res.Status)
		}
	}
}

func TestRequestThatMayHaveHadAnEffectIsNotRepeated(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, func(c *l7test.Recorder) {
		if _, err := c.Head(); err == nil {
			c.Say(ok)
		}
		_, _ = c.Head()
	})
	c := l7test.Dial(t, l7test.New(t, 1).Serve(nil, l7test.Service("web", b.Addr)))
	post := "POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 0\r\n\r\n"
	if res := c.Send(post).Response("POST"); res.StatusCode != 200 {
		t.Fatal(res.Status)
	}
	if res := c.Send(post).Response("POST"); res.StatusCode != 502 {
		t.Fatalf("got %s, want 502", res.Status)
	}
	if n := strings.Count(b.Received(), "POST"); n != 2 {
		t.Fatalf("the backend got %d requests, want 2", n)
	}
}

func TestSilentBackendIsAnsweredFor(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, func(c *l7test.Recorder) { _, _ = c.Head(); time.Sleep(5 * time.Second) })
	addr := l7test.New(t, 1).Serve(func(h *farm.HTTP) { h.ResponseTimeout = 1 }, l7test.Service("web", b.Addr))
	if res := l7test.Dial(t, addr).Send(get("/")).Get(); res.StatusCode != 504 {
		t.Fatalf("got %s, want 504", res.Status)
	}
}

func TestServicesMatchInOrderAndRedirect(t *testing.T) {
	t.Parallel()
	one := l7test.NewBackend(t, l7test.Answer("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\none"))
	two := l7test.NewBackend(t, l7test.Answer("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\ntwo"))
	s1, s2 := l7test.Service("one", one.Addr), l7test.Service("two", two.Addr)
	s1.VHost, s1.URL = `one\.test`, "^/app"
	s2.ID, s2.Backends[0].ID = 2, 2
	s2.VHost = `(one|two)\.test`
	moved := farm.Service{ID: 3, Name: "moved", URL: "^/old", Redirect: "http://new.test/base/", RedirectType: farm.RedirectAppend, RedirectCode: 301}
	c := l7test.Dial(t, l7test.New(t, 1).Serve(nil, s1, s2, moved))
	for _, test := range []struct {
		host, path, text string
		status           int
		location         string
	}{
		{"one.test", "/app/1", "one", 200, ""},
		{"ONE.test:8080", "/%61pp", "one", 200, ""},
		{"one.test", "/other", "two", 200, ""},
		{"two.test", "/app", "two", 200, ""},
		{"three.test", "/old/page?x=1", "", 301, "http://new.test/base/old/page?x=1"},
		{"three.test", "/", "", 503, ""},
	} {
		res := c.Send("GET " + test.path + " HTTP/1.1\r\nHost: " + test.host + "\r\n\r\n").Get()
		if res.StatusCode != test.status || (test.text != "" && res.Text != test.text) || res.Header.Get("Location") != test.location {
			t.Errorf("%s%s: got %d %q %q", test.host, test.path, res.StatusCode, res.Text, res.Header.Get("Location"))
		}
	}
}

func TestLocationOfTheBackendBecomesTheClientsHost(t *testing.T) {
	t.Parallel()
	says := make(chan string, 1)
	b := l7test.NewBackend(t, func(c *l7test.Recorder) {
		for {
			if _, err := c.Head(); err != nil {
				return
			}
			c.Say("HTTP/1.1 302 Found\r\n" + <-says + "\r\nContent-Length: 0\r\n\r\n")
		}
	})
	a := l7test.New(t, 1)
	own := a.Serve(nil, l7test.Service("web", b.Addr))
	c := l7test.Dial(t, own)
	modes := []farm.RewriteLocation{farm.RewriteEnabled, farm.RewriteEnabledBackends, farm.RewriteDisabled}
	for _, test := range []struct {
		says string
		want [3]string // by mode; empty means unchanged
	}{
		{"http://" + b.Addr + "/next?a", [3]string{"http://a.test/next?a", "http://a.test/next?a", ""}},
		{"//" + b.Addr + "/next", [3]string{"http://a.test/next", "http://a.test/next", ""}},
		{"http://" + own + "/next", [3]string{"http://a.test/next", "", ""}},
		{"https://" + b.Addr + "/next", [3]string{"http://a.test/next", "http://a.test/next", ""}},
		{"https://a.test/next", [3]string{}},
		{"http://else.test/next", [3]string{}},
		{"/next", [3]string{}},
		{"next", [3]string{}},
		{"", [3]string{}},
	} {
		for i, mode := range modes {
			a.Serve(func(h *farm.HTTP) { h.RewriteLocation = mode }, l7test.Service("web", b.Addr))
			want := test.want[i]
			if want == "" {
				want = test.says
			}
			for _, names := range [][]string{{"Location"}, {"Content-Location"}, {"Location", "Content-Location"}} {
				var lines []string
				for _, name := range names {
					lines = append(lines, name+": "+test.says)
				}
				says <- strings.Join(lines, "\r\n")
				res := c.Send(get("/")).Get()
				for _, name := range names {
					if got := res.Header.Get(name); got != want {
						t.Errorf("%s, %s %q: got %q, want %q", mode, name, test.says, got, want)
					}
				}
			}
		}
	}
}

func TestBackendThatBreaksTheRulesIsAnswered502(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{
		"bad chunk":              "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
		"endless header":         "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 70<<10),
		"1xx flood":              strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", 40) + ok,
		"length and chunks":      "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"101 nobody asked for":   "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n",
		"not HTTP":               "220 mail.example ESMTP\r\n\r\n",
		"end before the head":    "HTTP/1.1 200 O",
		"two different lengths":  "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok",
		"space before the colon": "HTTP/1.1 200 OK\r\nContent-Length : 2\r\n\r\nok",
	} {
		t.Run(name, func(t *testing.T) {
			b := l7test.NewBackend(t, func(c *l7test.Recorder) {
				_, _ = c.Head()
				c.Say(answer)
				_ = c.CloseWrite()
				_, _ = io.Copy(io.Discard, c.Unrecorded())
			})
			c := l7test.Dial(t, l7test.New(t, 1).Serve(nil, l7test.Service("web", b.Addr)))
			res := c.Send(get("/")).Get()
			for res.StatusCode < 200 {
				res = c.Get()
			}
			if res.StatusCode != 502 {
				t.Fatalf("got %s %q, want 502", res.Status, res.Text)
			}
		})
	}
}

func TestAnswerBeforeTheRequestIsNotTakenForTheNext(t *testing.T) {
	t.Parallel()
	said := make(chan bool)
	b := l7test.NewBackend(t, func(c *l7test.Recorder) {
		if _, err := c.Head(); err != nil {
			return
		}
		c.Say(ok)
		<-said
		c.Say("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged")
		said <- true
		_, _ = c.Head()
	})
	c := l7test.Dial(t, l7test.New(t, 1).Serve(nil, l7test.Service("web", b.Addr)))
	c.Send(get("/")).Get()
	said <- true
	<-said
	time.Sleep(50 * time.Millisecond)
	c.Send(get("/"))
	go func() { said <- true; <-said }()
	if res := c.Get(); res.Text == "forged" {
		t.Fatal("an unsolicited response reached a client")
	}
}

func TestCutAnswerIsNotTakenForAWholeOne(t *testing.T) {
	t.Parallel()
	for name, head := range map[string]string{
		"counted": "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n",
		"chunked": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n64\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			b := l7test.NewBackend(t, func(c *l7test.Recorder) { _, _ = c.Head(); c.Say(head + "part") })
			c := l7test.Dial(t, l7test.New(t, 1).Serve(nil, l7test.Service("web", b.Addr)))
			got := c.Send(get("/")).Rest()
			if !strings.HasSuffix(got, "part") || strings.HasSuffix(got, "0\r\n\r\n") {
				t.Fatalf("got %q", got)
			}
		})
	}
}

func TestClientThatDoesNotReadCostsLittleMemory(t *testing.T) {
	const size = 1 << 30
	b := l7test.NewBackend(t, func(c *l7test.Recorder) {
		_, _ = c.Head()
		c.Say(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", size))
		block := make([]byte, 1<<20)
		for i := range block {
			block[i] = byte(i * 7)
		}
		for range size >> 20 {
			if _, err := c.TCPConn.Write(block); err != nil {
				return
			}
		}
	})
	c := l7test.Dial(t, l7test.New(t, 1).Serve(nil, l7test.Service("web", b.Addr)))
	_ = c.SetDeadline(time.Now().Add(60 * time.Second))
	before := heap()
	c.Send(get("/big"))
	time.Sleep(time.Second)
	if grown := int64(heap()) - int64(before); grown > 2<<20 { // includes the backend's own block
		t.Errorf("%d bytes more are held while the client does not read", grown)
	}
	res, err := c.Reader().ReadString('\n')
	if err != nil {
		t.Fatal(res, err)
	}
	for line := res; line != "\r\n"; {
		if line, err = c.Reader().ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := io.CopyN(checker{}, c.Reader(), size); err != nil {
		t.Fatalf("after %d bytes: %v", n, err)
	}
}

type checker struct{}

func (checker) Write(p []byte) (int, error) { return len(p), nil }

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func TestTrailersPassBothWaysAnnouncedOrNot(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, func(c *l7test.Recorder) {
		if _, err := c.Head(); err != nil {
			return
		}
		c.Say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n5\r\nhello\r\n0\r\nX-Sum: 42\r\nX-Else: 1\r\n\r\n")
		_, _ = io.Copy(io.Discard, c)
	})
	c := l7test.Dial(t, l7test.New(t, 1).Serve(nil, l7test.Service("web", b.Addr)))
	c.Send("POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\nTrailer: X-In\r\n\r\n2\r\nhi\r\n0\r\nX-In: 7\r\nX-Also: 1\r\n\r\n")
	res := c.Response("POST")
	if res.Text != "hello" || res.Trailer.Get("X-Sum") != "42" || res.Trailer.Get("X-Else") != "1" {
		t.Errorf("the client got %q with %v", res.Text, res.Trailer)
	}
	l7test.Eventually(t, "the trailer reaches the backend", func() bool {
		return strings.HasSuffix(b.Received(), "0\r\nX-In: 7\r\nX-Also: 1\r\n\r\n")
	})
}

func TestRedirectTakesTheHostAndGroupsOfTheRequest(t *testing.T) {
	t.Parallel()
	s := farm.Service{ID: 1, Name: "moved", URL: "^/shop/([a-z]+)/([0-9]+)", Redirect: "https://${VHOST}/$1?id=$2&price=$$5"}
	c := l7test.Dial(t, l7test.New(t, 1).Serve(nil, s))
	res := c.Send(get("/shop/tea/42/x")).Get()
	if got, want := res.Header.Get("Location"), "https://a.test/tea?id=42&price=$"; res.StatusCode != 302 || got != want {
		t.Fatalf("got %d %q, want %q", res.StatusCode, got, want)
	}
}
