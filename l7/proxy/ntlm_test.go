package proxy_test

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/l7test"
)

// ntlmBackend binds logins to connections like NTLM: the first response asks for a login,
// the second message gets a challenge, and the third logs in. From then on all requests on
// the connection are that user's.
func ntlmBackend(t *testing.T, schemes ...string) *l7test.Backend {
	t.Helper()
	var users atomic.Int32
	return l7test.NewBackend(t, func(c *l7test.Recorder) {
		user := ""
		for {
			head, err := c.Head()
			if err != nil {
				return
			}
			head = strings.ToLower(head)
			switch {
			case strings.Contains(head, "authorization: ntlm one"):
				c.Say("HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: NTLM challenge\r\nContent-Length: 0\r\n\r\n")
			case strings.Contains(head, "authorization: n") && user == "":
				user = fmt.Sprint("user", users.Add(1))
				fallthrough
			case user != "" || strings.Contains(head, "/open"):
				text := user + "."
				c.Say(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(text), text))
			default:
				c.Say("HTTP/1.1 401 Unauthorized\r\n" + strings.Join(schemes, "\r\n") + "\r\nContent-Length: 0\r\n\r\n")
			}
		}
	})
}

func with(path, authorization string) string {
	return "GET " + path + " HTTP/1.1\r\nHost: a.test\r\nAuthorization: " + authorization + "\r\n\r\n"
}

func TestAConnectionOfABackendThatALogInIsBoundToIsLentToNobodyElse(t *testing.T) {
	t.Parallel()
	for name, schemes := range map[string][]string{
		"NTLM":               {"WWW-Authenticate: NTLM"},
		"Negotiate":          {"www-authenticate: negotiate"},
		"among others":       {`WWW-Authenticate: Basic realm="a, b", Negotiate`},
		"in another line":    {`WWW-Authenticate: Bearer`, `WWW-Authenticate: NTLM`},
		"with a token by it": {`WWW-Authenticate: Negotiate abc==`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := ntlmBackend(t, schemes...)
			a := l7test.New(t, 1)
			addr := a.Serve(logs, l7test.Service("web", b.Addr))
			r := l7test.RecordsOf(t, a)
			one, other := l7test.Dial(t, addr), l7test.Dial(t, addr)
			if got := one.Send(get("/")).Get(); got.StatusCode != 401 {
				t.Fatalf("answered %d", got.StatusCode)
			}
			if got := other.Send(get("/open")).Get(); got.StatusCode != 200 {
				t.Errorf("the other client got %d", got.StatusCode)
			}
			if b.Accepted() != 2 {
				t.Errorf("the other client got the connection with a login: %d connections", b.Accepted())
			}
			if got := one.Send(with("/", "NTLM one")).Get(); got.StatusCode != 401 {
				t.Errorf("the challenge: %d", got.StatusCode)
			}
			for range 3 {
				if got := other.Send(get("/open")).Get(); got.Text != "." {
					t.Errorf("the other client is authenticated as %q", got.Text)
				}
				if got := one.Send(with("/", "NTLM two")).Get(); got.StatusCode != 200 || got.Text != "user1." {
					t.Errorf("logged in: %d %q", got.StatusCode, got.Text)
				}
				if got := one.Send(get("/")).Get(); got.StatusCode != 200 || got.Text != "user1." {
					t.Errorf("after the log-in: %d %q", got.StatusCode, got.Text)
				}
			}
			pinned := 0
			for range 2 + 1 + 9 {
				if r.Next().Why == accesslog.WhyPin {
					pinned++
				}
			}
			if pinned != 7 {
				t.Errorf("%d exchanges are recorded as such of a kept connection", pinned)
			}
			_ = one.Close()
			l7test.Eventually(t, "its connection ends with it", func() bool { return b.Open() == 1 })
		})
	}
}

// Kerberos clients may send their ticket before the server demands it.
func TestALogInThatComesUnaskedBindsTheConnection(t *testing.T) {
	t.Parallel()
	b := ntlmBackend(t, "WWW-Authenticate: Negotiate")
	a := l7test.New(t, 1)
	addr := a.Serve(nil, l7test.Service("web", b.Addr))
	one := l7test.Dial(t, addr)
	if got := one.Send(with("/", "negotiate YII==")).Get(); got.Text != "user1." {
		t.Fatalf("answered %d %q", got.StatusCode, got.Text)
	}
	if got := l7test.Dial(t, addr).Send(get("/open")).Get(); got.Text != "." {
		t.Errorf("another client is authenticated as %q", got.Text)
	}
}

func TestOtherSchemesAndServicesShareConnections(t *testing.T) {
	t.Parallel()
	b := ntlmBackend(t, `WWW-Authenticate: Basic realm="NTLM"`, "WWW-Authenticate: NTLMish")
	a := l7test.New(t, 1)
	addr := a.Serve(nil, l7test.Service("web", b.Addr))
	for range 3 {
		l7test.Dial(t, addr).Send(get("/")).Get()
		l7test.Dial(t, addr).Send(with("/", "Basic NTLM")).Get()
	}
	if b.Accepted() != 1 {
		t.Errorf("%d connections for schemes that bind none", b.Accepted())
	}
}

// A client logged in at one service keeps its login when it uses another service.
func TestALogInOutlivesRequestsToOtherServices(t *testing.T) {
	t.Parallel()
	b, plain := ntlmBackend(t, "WWW-Authenticate: NTLM"), l7test.NewBackend(t, l7test.Answer(ok))
	a := l7test.New(t, 1)
	logo, web := l7test.Service("logo", plain.Addr), l7test.Service("web", b.Addr)
	logo.URL, logo.ID, logo.Backends[0].ID = "^/logo", 2, 2
	c := l7test.Dial(t, a.Serve(nil, logo, web))
	c.Send(with("/", "NTLM two")).Get()
	c.Send(get("/logo")).Get()
	if got := c.Send(get("/")).Get(); got.Text != "user1." {
		t.Errorf("it is %q now", got.Text)
	}
}

// Streams have no connection of their own. Such a login ends with the exchange, and other
// clients cannot use it.
func TestALogInOfAStreamIsLentToNobodyElse(t *testing.T) {
	t.Parallel()
	b := ntlmBackend(t, "WWW-Authenticate: NTLM")
	a := l7test.New(t, 1)
	addr := a.Serve(nil, l7test.Service("web", b.Addr))
	c := l7test.HTTP2Client(t, addr, false)
	for range 3 {
		req, _ := http.NewRequest("GET", "http://a.test/", nil)
		req.Header.Set("Authorization", "NTLM two")
		res, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != 200 {
			t.Errorf("answered %d", res.StatusCode)
		}
		if got := l7test.Dial(t, addr).Send(get("/open")).Get(); got.Text != "." {
			t.Errorf("another client is authenticated as %q", got.Text)
		}
	}
	l7test.Eventually(t, "none is kept for it", func() bool { return b.Open() == 1 })
}

// An HTTP/2 connection that carried such a login gets no more exchanges.
func TestAnHTTP2ConnectionOnWhichALogInBeganIsLeft(t *testing.T) {
	t.Parallel()
	var connections atomic.Int32
	s := l7test.HTTP2Server(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/asks" {
			w.Header().Set("WWW-Authenticate", "Negotiate")
			w.WriteHeader(401)
		}
	}), false, func(s *http.Server) {
		s.ConnState = func(_ net.Conn, st http.ConnState) {
			if st == http.StateNew {
				connections.Add(1)
			}
		}
	})
	a := l7test.New(t, 1)
	service := l7test.Service("web", s.Listener.Addr().String())
	service.BackendProtocol = farm.BackendHTTP2
	c := l7test.Dial(t, a.Serve(nil, service))
	for i, request := range []string{get("/"), get("/"), get("/asks"), get("/"), get("/"), with("/", "Negotiate x"), get("/")} {
		want := []int32{1, 1, 1, 2, 2, 2, 3}[i]
		if c.Send(request).Get(); connections.Load() != want {
			t.Errorf("request %d: %d connections, want %d", i, connections.Load(), want)
		}
	}
}

// A stream cannot log in its connection, so it gets HTTP_1_1_REQUIRED. Browsers and curl
// switch to HTTP/1.1 automatically.
func TestStreamWhoseBackendAsksForALogInGoesBackToHTTP1(t *testing.T) {
	t.Parallel()
	for _, scheme := range []string{"NTLM", "Negotiate", `Basic realm="x", Negotiate`} {
		b := ntlmBackend(t, "WWW-Authenticate: "+scheme)
		a := l7test.New(t, 1)
		addr := a.Serve(logs, l7test.Service("web", b.Addr))
		r := l7test.RecordsOf(t, a)
		p := l7test.DialFrames(t, addr)
		p.Ask(1, true, "GET", "/")
		p.Want("1 RST_STREAM HTTP_1_1_REQUIRED")
		if l := r.Next(); l.Status != 401 {
			t.Errorf("%s: recorded with status %d", scheme, l.Status)
		}
		l7test.Eventually(t, "a line", func() bool {
			return a.Log.Has(`reason="the backend asks for NTLM or Negotiate, which need HTTP/1.1"`)
		})
		p.Ask(3, true, "GET", "/open") // the connection continues
		p.Want("3 HEADERS 200")
		if b.Open() != 1 {
			t.Errorf("%s: %d connections are kept", scheme, b.Open())
		}
		answerTo(t, addr, get("/"))
		if n := a.Segment.SumBackend(1).Logins; n != 2 {
			t.Errorf("%s: %d responses are counted that ask for a login, want 2", scheme, n)
		}
	}
	b := ntlmBackend(t, `WWW-Authenticate: Basic realm="x"`)
	p := l7test.DialFrames(t, l7test.New(t, 1).Serve(nil, l7test.Service("web", b.Addr)))
	p.Ask(1, true, "GET", "/")
	p.Want("1 HEADERS 401 end")
}
