//go:build !race

package proxy_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509/pkix"
	"math"
	"net"
	"runtime"
	"testing"

	"github.com/sluicelb/sluice/core/doh"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/l7test"
	"github.com/sluicelb/sluice/l7/proxy"
)

// TestExchangesAllocateNothing runs complete exchanges through the loop and counts all
// allocations of the process: client, backend and engine.
func TestExchangesAllocateNothing(t *testing.T) {
	for _, c := range []struct {
		name    string
		request string
		edit    func(h *farm.HTTP, s *farm.Service)
	}{
		{"plain", get("/path?q=1"), func(*farm.HTTP, *farm.Service) {}},
		{"access log", request("X-One: 1", "User-Agent: test", "X-Request-Id: theirs"), func(h *farm.HTTP, _ *farm.Service) {
			h.Logs, h.AccessLog.Headers, h.RequestID = true, []string{"X-One", "X-Two"}, farm.RequestIDBackend
		}},
		{"header rules", request("Cookie: sid=42; a=b", "X-Debug: 1", "Referer: http://a.test/"), func(h *farm.HTTP, s *farm.Service) {
			h.RemoveRequest, h.RemoveResponse = remove("^X-Debug:", "nothing"), remove("^X-Other:", "(a|b)+c")
			h.ReplaceRequest = []farm.HeaderReplace{{Header: "cookie", Match: "sid=([0-9]+)", Replace: "id=$1"}}
			s.ReplaceRequest = []farm.HeaderReplace{{Header: "^Referer$", Match: "(a|b)*[.]test/?$", Replace: "in.test/"}}
			h.ReplaceResponse = []farm.HeaderReplace{{Header: "^Server$", Match: "^(.)(.*)/", Replace: "$2$1"}}
			h.AddRequest, s.AddResponse = add("X-In: 1"), add("X-Out: 2")
		}},
		{"paths", "COPY /shop/tea?x=1 HTTP/1.1\r\nHost: a.test\r\nDestination: http://a.test/shop/tee\r\n\r\n", func(h *farm.HTTP, s *farm.Service) {
			s.Rewrites = []farm.URLRewrite{{Pattern: "^/shop/(.*)", Replace: "//$1/%7e"}, {Pattern: "(a|b)*c", Replace: "d", Last: true}}
			h.RewriteLocation, h.RewriteHost, h.RewriteDestination = farm.RewriteEnabledPath, true, true
		}},
		{"limits and conditions", request("Cookie: LB=x; a=b", "X-Version: 42", "Accept: a/json"), func(h *farm.HTTP, s *farm.Service) {
			h.MaxBody, h.MaxHead, h.CheckURL, h.IgnoreCase, h.Continue = 10, 1000, "^/(A|B)*", true, farm.ContinueNever
			s.HeadRequire, s.HeadDeny = []string{"^X-Version: [0-9]+$", "json"}, []string{"^X-Stop:", "(a|b)*c=d"}
			s.Cookie = &farm.CookieInsert{Name: "LB", TTL: 60, SameSite: farm.SameSiteNone}
			s.AddResponse = add("X: y")
		}},
		{"cookie that is known", request("Cookie: a=b; LB=" + proxy.CookieValue(1, 1)), func(_ *farm.HTTP, s *farm.Service) {
			s.Cookie = &farm.CookieInsert{Name: "LB"}
		}},
		{"backend named to clients", get("/"), func(_ *farm.HTTP, s *farm.Service) { s.ServedBy, s.AddResponse = "X-Other", add("X: y") }},
		{"limits by address and by header", request("X-Customer: a", "X-Forwarded-For: 192.0.2.1"), func(h *farm.HTTP, s *farm.Service) {
			h.Trusted = networks("127.0.0.0/8")
			s.RateLimit = &farm.RateLimit{Requests: 1_000_000, Burst: 1_000_000, Key: farm.RateKeyHeader, Header: "X-Missing"}
		}},
		{"users and keys", request(login("ali:sesame"), "X-Key: a key that is long enough", "X-Two: 2"), func(_ *farm.HTTP, s *farm.Service) {
			s.Auth = asksKey(&l7test.Backend{Addr: "127.0.0.1:1"}, "a key that is long enough").Auth
			s.Auth.Header, s.Auth.Users = "X-Key", asks(&l7test.Backend{Addr: "127.0.0.1:1"}).Auth.Users
		}},
		{"split", request("Cookie: sid=1"), func(h *farm.HTTP, s *farm.Service) {
			weight, none := uint8(50), uint8(0)
			s.Split = &weight
			by, canary := *s, *s
			by.Name, by.ID, by.Split, by.Persistence, by.SessionID = "by session", 2, &none, farm.PersistCookie, "sid"
			canary.Name, canary.ID, canary.URL = "canary", 3, "^/[p]?"
			h.Services = append(h.Services, by, canary)
		}},
		{"retries and a queue", request("X-A: 1"), func(_ *farm.HTTP, s *farm.Service) {
			s.RetryOn, s.Queue = farm.RetryConditions(), 10
			s.Backends[0].ConnLimit = 1
		}},
		{"sessions by user", request(login("ali:sesame")), func(_ *farm.HTTP, s *farm.Service) { s.Persistence = farm.PersistBasic }},
		{"pinned", get("/"), func(_ *farm.HTTP, s *farm.Service) { s.Pinned = true }},
	} {
		t.Run(c.name, func(t *testing.T) { exchanges(t, c.request, c.edit) })
	}
}

func TestDNSQueriesOverHTTPSAllocateNothing(t *testing.T) {
	const post = "POST /dns-query HTTP/1.1\r\nHost: a.test\r\nContent-Type: application/dns-message\r\nContent-Length: 6\r\n\r\n\r\n\r\nok"
	for _, request := range []string{post, get(query64("\r\n\r\nok"))} {
		a, _ := resolving(t, doh.Answered)
		repeat(t, l7test.Dial(t, a.Serve(nil, asksNames)).TCPConn, request, 0)
	}
}

func TestTellingOfACertificateAllocatesNothing(t *testing.T) {
	ca, shown := clients(t, pkix.Name{CommonName: "c"})
	b := l7test.NewBackend(t, func(c *l7test.Recorder) {
		buf, answer := make([]byte, 8192), []byte(answerOfARule)
		for {
			if _, err := c.TCPConn.Read(buf); err != nil {
				return
			}
			if !bytes.Contains(buf, []byte("X-SSL-Subject: CN=c")) {
				t.Error("the certificate fields are missing")
			}
			if _, err := c.TCPConn.Write(answer); err != nil {
				return
			}
		}
	})
	a := l7test.New(t, 1)
	addr := a.Serve(asking(t, a, ca, farm.ClientAuthRequired, true), l7test.Service("web", b.Addr))
	repeat(t, tls.Client(l7test.Dial(t, addr).TCPConn, &tls.Config{InsecureSkipVerify: true, Certificates: []tls.Certificate{shown}, ServerName: "a.test"}),
		request("X-SSL-Subject: forged"), 1) // crypto/tls allocates a reader for each record
}

const answerOfARule = "HTTP/1.1 200 OK\r\nServer: some/1\r\nX-Other: y\r\nLocation: /login\r\nContent-Length: 2\r\n\r\nok"

// exchanges repeats an exchange and fails if it allocates.
func exchanges(t *testing.T, request string, edit func(*farm.HTTP, *farm.Service)) {
	t.Helper()
	b := l7test.NewBackend(t, func(c *l7test.Recorder) {
		buf := make([]byte, 4096)
		answer := []byte(answerOfARule)
		for {
			if _, err := c.TCPConn.Read(buf); err != nil {
				return
			}
			if _, err := c.TCPConn.Write(answer); err != nil {
				return
			}
		}
	})
	s := l7test.Service("web", b.Addr)
	s.VHost, s.URL = `a\.test`, "^/"
	h := farm.DefaultHTTP()
	edit(h, &s)
	repeat(t, l7test.Dial(t, l7test.New(t, 1).Serve(func(out *farm.HTTP) { h.Services = append(out.Services, h.Services...); *out = *h }, s)).TCPConn, request, 0)
}

// repeat repeats the exchange on one connection; client is the number of allocations by the
// client per exchange.
func repeat(t *testing.T, c net.Conn, request string, client uint64) {
	t.Helper()
	sent, answer := []byte(request), make([]byte, 4096)
	exchange := func() {
		if _, err := c.Write(sent); err != nil {
			t.Fatal(err)
		}
		for n := 0; !bytes.HasSuffix(answer[:n], []byte("\r\n\r\nok")); {
			some, err := c.Read(answer[n:])
			if err != nil {
				t.Fatalf("%v after %q", err, answer[:n])
			}
			n += some
		}
	}
	const count = 5000
	if n := l7test.Mallocs(100, count, exchange); n > count/100+count*client {
		t.Fatalf("%d allocations in %d exchanges, the client's share is %d, want no others", n, count, count*client)
	}
}

// TestRefusingAllocatesNothing is the same for refused requests. The first few log lines,
// which the loop does not write, may allocate.
func TestRefusingAllocatesNothing(t *testing.T) {
	for name, s := range map[string]farm.Service{
		"BREW": l7test.Service("web", "127.0.0.1:1"),
		"HEAD": asksKey(&l7test.Backend{Addr: "127.0.0.1:1"}, "one"),
		"GET":  {ID: 1, Name: "web", Redirect: "http://b.test", RateLimit: &farm.RateLimit{Requests: 1, Period: 3600}},
	} {
		t.Run(name, func(t *testing.T) { refusing(t, name, s) })
	}
}

func refusing(t *testing.T, method string, s farm.Service) {
	c := l7test.Dial(t, l7test.New(t, 1).Serve(nil, s))
	request, answer := []byte(method+" / HTTP/1.1\r\nHost: a.test\r\n\r\n"), make([]byte, 4096)
	refused := func() {
		if _, err := c.TCPConn.Write(request); err != nil {
			t.Fatal(err)
		}
		if _, err := c.TCPConn.Read(answer); err != nil {
			t.Fatal(err)
		}
	}
	for range 100 {
		refused()
	}
	// Some log lines are written every second. The part with the fewest allocations has none
	// of them.
	const requests, parts = 5000, 10
	least := uint64(math.MaxUint64)
	for range parts {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range requests / parts {
			refused()
		}
		runtime.ReadMemStats(&after)
		least = min(least, after.Mallocs-before.Mallocs)
	}
	if least > requests/parts/10 {
		t.Fatalf("%d allocations in %d rejections, want none of the loop", least, requests/parts)
	}
}
