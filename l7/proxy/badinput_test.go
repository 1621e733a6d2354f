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

// raw is one hostile input with the expected result.
type raw struct {
	name   string
	send   string
	status int    // of the response; 0 means that the connection ends without one
	sees   string // what the backend must receive; empty means nothing
}

const hostLine = "Host: a.test\r\n"

func req(line, fields string) string { return line + "\r\n" + hostLine + fields + "\r\n" }

// runRaw sends each input on its own connection, followed by a hidden second request, and
// compares what reached the backend.
func runRaw(t *testing.T, cases []raw) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := l7test.NewBackend(t, l7test.Answer(ok))
			addr := l7test.New(t, 1).Serve(func(h *farm.HTTP) { h.RequestTimeout = 1 }, l7test.Service("web", b.Addr))
			client := l7test.Dial(t, addr)
			go func() { _, _ = io.WriteString(client.TCPConn, c.send) }()
			status := 0
			res, err := http.ReadResponse(client.Reader(), &http.Request{Method: "GET"})
			if err == nil {
				status = res.StatusCode
				_, _ = io.Copy(io.Discard, res.Body)
			}
			if status != c.status {
				t.Errorf("answered %d, want %d", status, c.status)
			}
			if c.status >= 400 && c.sees == "" {
				if rest := client.Rest(); rest != "" {
					t.Errorf("after the rejection the connection continued: %q", clip(rest))
				}
			}
			got := b.Received()
			if c.sees == "" && got != "" {
				t.Errorf("the backend got %q, want nothing", clip(got))
			}
			if c.sees != "" && !strings.Contains(got, c.sees) {
				t.Errorf("the backend got %q, want %q in it", clip(got), c.sees)
			}
		})
	}
}

func clip(s string) string { return s[:min(len(s), 400)] }

// smuggled follows inputs of ambiguous length. It must never be handled as a separate
// request.
const smuggled = "GET /smuggled HTTP/1.1\r\nHost: a.test\r\n\r\n"

func TestRow1LengthThatCanBeReadTwoWays(t *testing.T) {
	t.Parallel()
	var cases []raw
	for name, fields := range map[string]string{
		"length and chunks":       "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
		"chunks and length":       "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
		"two lengths":             "Content-Length: 5\r\nContent-Length: 6\r\n",
		"two equal lengths":       "Content-Length: 5\r\nContent-Length: 5\r\n",
		"list of lengths":         "Content-Length: 5, 5\r\n",
		"comma without blank":     "Content-Length: 1000,1000\r\n",
		"empty length":            "Content-Length:\r\n",
		"signed length":           "Content-Length: +5\r\n",
		"negative length":         "Content-Length: -5\r\n",
		"hex length":              "Content-Length: 0x5\r\n",
		"length with inner blank": "Content-Length: 1 0\r\n",
		"huge length":             "Content-Length: 99999999999999999999\r\n",
		"fraction":                "Content-Length: 5.0\r\n",
		"xchunked":                "Transfer-Encoding: xchunked\r\n",
		"chunked twice":           "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
		"chunked, chunked":        "Transfer-Encoding: chunked, chunked\r\n",
		"identity":                "Transfer-Encoding: identity\r\n",
		"chunked with parameter":  "Transfer-Encoding: chunked;x=y\r\n",
		"chunked in quotes":       "Transfer-Encoding: \"chunked\"\r\n",
		"vertical tab before it":  "Transfer-Encoding: \x0bchunked\r\n",
		"empty transfer encoding": "Transfer-Encoding:\r\n",
	} {
		cases = append(cases, raw{name, "POST / HTTP/1.1\r\n" + hostLine + fields + "\r\n0\r\n\r\n" + smuggled, 400, ""})
	}
	cases = append(cases, raw{"gzip, chunked", req("POST / HTTP/1.1", "Transfer-Encoding: gzip, chunked\r\n") + "0\r\n\r\n" + smuggled, 501, ""})
	cases = append(cases, raw{"chunks on HTTP/1.0", "POST / HTTP/1.0\r\n" + hostLine + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + smuggled, 400, ""})
	runRaw(t, cases)
}

func TestRow2LinesThatCanBeReadTwoWays(t *testing.T) {
	t.Parallel()
	runRaw(t, []raw{
		{"folded line", req("GET / HTTP/1.1", "X: a\r\n b\r\n"), 400, ""},
		{"fold right after the request line", "GET / HTTP/1.1\r\n Host: a.test\r\n\r\n", 400, ""},
		{"bare LF ends a field", "GET / HTTP/1.1\r\nHost: a.test\nX: y\r\n\r\n", 400, ""},
		{"bare LF everywhere", "GET / HTTP/1.1\nHost: a.test\n\n", 400, ""},
		{"bare CR in a value", req("GET / HTTP/1.1", "X: a\rb\r\n"), 400, ""},
		{"NUL in a value", req("GET / HTTP/1.1", "X: a\x00b\r\n"), 400, ""},
		{"NUL in a name", req("GET / HTTP/1.1", "X\x00Y: b\r\n"), 400, ""},
		{"space before the colon", req("GET / HTTP/1.1", "X : b\r\n"), 400, ""},
		{"tab before the colon", req("GET / HTTP/1.1", "X\t: b\r\n"), 400, ""},
		{"empty name", req("GET / HTTP/1.1", ": b\r\n"), 400, ""},
		{"no colon", req("GET / HTTP/1.1", "nonsense\r\n"), 400, ""},
		{"control byte in a value", req("GET / HTTP/1.1", "X: a\x01b\r\n"), 400, ""},
		{"DEL in a value", req("GET / HTTP/1.1", "X: a\x7fb\r\n"), 400, ""},
		{"two spaces in the request line", req("GET  / HTTP/1.1", ""), 400, ""},
		{"no version", "GET /\r\n\r\n", 400, ""},
		{"lower-case version", req("GET / http/1.1", ""), 400, ""},
		{"HTTP/9.9", req("GET / HTTP/9.9", ""), 505, ""},
		{"HTTP/1.2", req("GET / HTTP/1.2", ""), 505, ""},
		{"two empty lines first", "\r\n\r\n" + req("GET / HTTP/1.1", ""), 400, ""},
		{"method with a control byte", req("G\x01T / HTTP/1.1", ""), 400, ""},
		{"TLS hello on a plain port", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400, ""},
	})
}

func TestRow3ChunksThatCanBeReadTwoWays(t *testing.T) {
	head := "POST /up HTTP/1.1\r\n" + hostLine + "Transfer-Encoding: chunked\r\n\r\n"
	var cases []raw
	for name, body := range map[string]string{
		"size too long":             "fffffffffffffffff\r\n",
		"negative size":             "-1\r\nx\r\n",
		"0x size":                   "0x5\r\nhello\r\n",
		"LF only after the size":    "5\nhello\r\n0\r\n\r\n",
		"no size":                   "\r\nhello\r\n",
		"blank before the size":     " 5\r\nhello\r\n",
		"data longer than size":     "3\r\nhello\r\n0\r\n\r\n",
		"LF only after the data":    "5\r\nhello\n0\r\n\r\n",
		"endless extension":         "5;" + strings.Repeat("x", 100<<10) + "\r\nhello\r\n",
		"framing in the trailer":    "0\r\nContent-Length: 50\r\n\r\n",
		"chunking in the trailer":   "0\r\nTransfer-Encoding: chunked\r\n\r\n",
		"host in the trailer":       "0\r\nHost: b.test\r\n\r\n",
		"endless trailer":           "0\r\n" + strings.Repeat("X: y\r\n", 20000) + "\r\n",
		"LF only after a trailer":   "0\r\nX: y\n\r\n",
		"control byte in a trailer": "0\r\nX: a\x00\r\n\r\n",
	} {
		cases = append(cases, raw{name: name, send: head + body + smuggled, status: 400})
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := l7test.NewBackend(t, func(r *l7test.Recorder) {
				if _, err := r.Head(); err != nil {
					return
				}
				_, _ = io.Copy(io.Discard, r)
			})
			client := l7test.Dial(t, l7test.New(t, 1).Serve(nil, l7test.Service("web", b.Addr)))
			go func() { _, _ = io.WriteString(client.TCPConn, c.send) }()
			res, err := http.ReadResponse(client.Reader(), nil)
			if err != nil || res.StatusCode != 400 {
				t.Fatalf("got %v, %v; want 400", res, err)
			}
			client.Rest() // until the connection ends
			if got := b.Received(); strings.Contains(got, "0\r\n\r\n") || strings.Contains(got, "smuggled") {
				t.Errorf("the backend saw a complete request: %q", clip(got))
			}
		})
	}
}

func TestRow3ExtensionsAreTakenOut(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, func(r *l7test.Recorder) {
		for {
			if _, err := r.Head(); err != nil {
				return
			}
			for br := bufio.NewReader(r); ; {
				if line, err := br.ReadString('\n'); err != nil || line == "0\r\n" {
					break
				}
			}
			r.Say(ok)
		}
	})
	client := l7test.Dial(t, l7test.New(t, 1).Serve(nil, l7test.Service("web", b.Addr)))
	client.Send("POST / HTTP/1.1\r\n" + hostLine + "Transfer-Encoding: chunked\r\n\r\n5;ext=1\r\nhello\r\n0\r\n\r\n")
	if res := client.Response("POST"); res.StatusCode != 200 {
		t.Fatal(res.Status)
	}
	if got := b.Received(); strings.Contains(got, "ext=1") {
		t.Errorf("the backend got %q", got)
	}
}

func TestRow4HostAndTarget(t *testing.T) {
	t.Parallel()
	runRaw(t, []raw{
		{"two hosts", req("GET / HTTP/1.1", "Host: b.test\r\n"), 400, ""},
		{"two equal hosts", req("GET / HTTP/1.1", hostLine), 400, ""},
		{"no host", "GET / HTTP/1.1\r\n\r\n", 400, ""},
		{"host with a path", "GET / HTTP/1.1\r\nHost: a.test/x\r\n\r\n", 400, ""},
		{"host with a user", "GET / HTTP/1.1\r\nHost: u@a.test\r\n\r\n", 400, ""},
		{"host with a blank", "GET / HTTP/1.1\r\nHost: a.test b.test\r\n\r\n", 400, ""},
		{"host list", "GET / HTTP/1.1\r\nHost: a.test, b.test\r\n\r\n", 400, ""},
		{"host with a bad port", "GET / HTTP/1.1\r\nHost: a.test:99999\r\n\r\n", 400, ""},
		{"absolute target of another host", req("GET http://b.test/ HTTP/1.1", ""), 400, ""},
		{"absolute target of the host", req("GET http://A.test/x HTTP/1.1", ""), 200, "GET /x HTTP/1.1\r\nHost: a.test\r\n"},
		{"absolute target with a user", req("GET http://u@a.test/x HTTP/1.1", ""), 400, ""},
		{"CONNECT", "CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\n\r\n", 405, ""},
		{"target without a slash", req("GET x HTTP/1.1", ""), 400, ""},
		{"star for GET", req("GET * HTTP/1.1", ""), 400, ""},
		{"star for OPTIONS", req("OPTIONS * HTTP/1.1", ""), 200, "OPTIONS * HTTP/1.1\r\n"},
	})
}

func TestRow5TheRouteSeesOneFormOfAPath(t *testing.T) {
	t.Parallel()
	admin := l7test.NewBackend(t, l7test.Answer("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n"))
	open := l7test.NewBackend(t, l7test.Answer(ok))
	guard, rest := l7test.Service("admin", admin.Addr), l7test.Service("rest", open.Addr)
	guard.URL, guard.VHost = "^/admin", `a\.test`
	rest.ID, rest.Backends[0].ID = 2, 2
	c := l7test.Dial(t, l7test.New(t, 1).Serve(nil, guard, rest))
	for _, target := range []string{"/admin", "//admin", "/x/../admin", "/%61dmin", "/./admin/", "/x/%2e%2e/%61dmin", "http://A.TEST/admin"} {
		for _, host := range []string{"a.test", "A.TEST", "a.test.", "a.test:80"} {
			if strings.HasPrefix(target, "http:") && host != "a.test" && host != "A.TEST" {
				continue
			}
			res := c.Send("GET " + target + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n").Get()
			if res.StatusCode != 403 {
				t.Errorf("%s on %s was answered %d: the guarded service was passed by", target, host, res.StatusCode)
			}
		}
	}
}

func TestRow6IdentityCannotBeForged(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, l7test.Answer(ok))
	c := l7test.Dial(t, l7test.New(t, 1).Serve(nil, l7test.Service("web", b.Addr)))
	c.Send(req("GET / HTTP/1.1", "Connection: X-Forwarded-For, keep-alive, X-Secret, Host, Content-Length\r\n"+
		"X-Forwarded-For: 6.6.6.6\r\nX_Forwarded_For: 6.6.6.6\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: evil.test\r\n"+
		"Forwarded: for=6.6.6.6\r\nX-Real-IP: 6.6.6.6\r\nx-real_ip: 6.6.6.6\r\nX-SSL-Client-CN: root\r\nX_SSL_Client_CN: root\r\n"+
		"X-Secret: s\r\nKeep-Alive: 5\r\nProxy-Connection: x\r\nTE: gzip\r\nProxy: http://evil\r\nX-Own_Name: kept\r\n")).Get()
	got := b.Received()
	for _, bad := range []string{"6.6.6.6", "evil", "root", "X-Secret", "Keep-Alive", "Proxy-Connection", "gzip"} {
		if strings.Contains(got, bad) {
			t.Errorf("%q reached the backend", bad)
		}
	}
	for _, want := range []string{"X-Forwarded-For: 127.0.0.1\r\n", "X-Forwarded-Proto: http\r\n", "X-Forwarded-Host: a.test\r\n", "Forwarded: for=127.0.0.1", "Host: a.test\r\n", "X-Own_Name: kept\r\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("the backend did not get %q:\n%s", want, got)
		}
	}
}

func TestRow7TooMuch(t *testing.T) {
	t.Parallel()
	runRaw(t, []raw{
		{"header block", req("GET / HTTP/1.1", "X: "+strings.Repeat("x", 100<<10)+"\r\n"), 431, ""},
		{"10,000 headers", req("GET / HTTP/1.1", strings.Repeat("X: y\r\n", 10000)), 431, ""},
		{"1,000 cookies", req("GET / HTTP/1.1", strings.Repeat("Cookie: a=b\r\n", 1000)), 431, ""},
		{"1 MB address", req("GET /"+strings.Repeat("x", 1<<20)+" HTTP/1.1", ""), 414, ""},
		{"10,000 query parameters", req("GET /?"+strings.Repeat("a=bcdef&", 10000)+" HTTP/1.1", ""), 414, ""},
		{"endless method", strings.Repeat("A", 100<<10), 501, ""},
	})
}

func TestRow8SlowBodyIsAnswered(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, func(c *l7test.Recorder) {
		_, _ = c.Head()
		_, _ = io.Copy(io.Discard, c)
	})
	addr := l7test.New(t, 1).Serve(func(h *farm.HTTP) { h.RequestTimeout = 1 }, l7test.Service("web", b.Addr))
	c := l7test.Dial(t, addr).Send(req("POST / HTTP/1.1", "Content-Length: 10\r\n") + "half")
	if res := c.Response("POST"); res.StatusCode != 408 {
		t.Fatalf("got %s, want 408", res.Status)
	}
}

func TestRow8SlowReaderIsCut(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, func(c *l7test.Recorder) {
		_, _ = c.Head()
		c.Say("HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n")
		block := make([]byte, 1<<20)
		for range 1024 {
			if _, err := c.Write(block); err != nil {
				return
			}
		}
	})
	a := l7test.New(t, 1)
	l7test.Dial(t, a.Serve(func(h *farm.HTTP) { h.RequestTimeout = 1 }, l7test.Service("web", b.Addr))).Send(req("GET / HTTP/1.1", ""))
	end := time.Now().Add(9 * time.Second)
	for a.Segment.SumFarm(1).Established != 0 {
		if time.Now().After(end) {
			t.Fatal("a client that never reads is kept")
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func TestRow10RedirectCannotBeSplit(t *testing.T) {
	t.Parallel()
	s := farm.Service{ID: 1, Name: "moved", Redirect: "http://new.test", RedirectType: farm.RedirectAppend}
	c := l7test.Dial(t, l7test.New(t, 1).Serve(nil, s))
	res := c.Send(req("GET /a%09Set-Cookie:x HTTP/1.1", "")).Get()
	if res.StatusCode != 302 || res.Header.Get("Location") != "http://new.test/a%09Set-Cookie:x" || len(res.Header["Set-Cookie"]) != 0 {
		t.Fatalf("got %s %v", res.Status, res.Header)
	}
}

func TestMethodsOutsideTheSetAreAnswered501(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, l7test.Answer(ok))
	a := l7test.New(t, 1)
	for _, test := range []struct {
		set    farm.VerbSet
		method string
		status int
	}{
		{farm.VerbsStandard, "GET", 200}, {farm.VerbsStandard, "PUT", 501},
		{farm.VerbsExtended, "DELETE", 200}, {farm.VerbsExtended, "PROPFIND", 501},
		{farm.VerbsWebDAV, "PROPFIND", 200}, {farm.VerbsWebDAV, "SUBSCRIBE", 501},
		{farm.VerbsMSRPCExt, "RPC_IN_DATA", 200}, {farm.VerbsMSRPCExt, "BREW", 501},
		{farm.VerbsAny, "GET", 200}, {farm.VerbsAny, "RPC_OUT_DATA", 200}, {farm.VerbsAny, "RDG_OUT_DATA", 200}, {farm.VerbsAny, "MKCALENDAR", 200},
		{farm.VerbsAny, "QUERY", 200}, {farm.VerbsAny, "get", 200}, {farm.VerbsAny, "!#$%&'*+-.^_`|~1", 200}, {farm.VerbsAny, "CONNECT", 405}, {farm.VerbsAny, "connect", 200},
		{farm.VerbsOptionsHTTP, "OPTIONS", 200}, {farm.VerbsOptionsHTTP, "TRACE", 501},
	} {
		addr := a.Serve(func(h *farm.HTTP) { h.Verbs = test.set; h.Error501 = "<p>no</p>" }, l7test.Service("web", b.Addr))
		res := l7test.Dial(t, addr).Send(req(test.method+" / HTTP/1.1", "")).Response(test.method)
		if res.StatusCode != test.status {
			t.Errorf("%s with %s: %d, want %d", test.method, test.set, res.StatusCode, test.status)
		}
		if test.status == 501 && (res.Text != "<p>no</p>" || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/html")) {
			t.Errorf("501 had the body %q as %s", res.Text, res.Header.Get("Content-Type"))
		}
	}
}

func TestHostileInputIsCountedAndNobodyElseIsDisturbed(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, l7test.Answer(ok))
	a := l7test.New(t, 1)
	addr := a.Serve(nil, l7test.Service("web", b.Addr))
	good := l7test.Dial(t, addr)
	for i := range 50 {
		l7test.Dial(t, addr).Send(fmt.Sprintf("GET /%d HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n", i)).Rest()
		if res := good.Send(req("GET / HTTP/1.1", "")).Get(); res.StatusCode != 200 {
			t.Fatal(res.Status)
		}
	}
	l7test.Eventually(t, "the refused ones are counted and closed", func() bool {
		s := a.Segment.SumFarm(1)
		return s.BadRequests == 50 && s.Established == 1 && s.Responses[3] == 50
	})
}
