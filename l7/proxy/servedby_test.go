package proxy_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/l7test"
)

// forging is the response of a backend that names itself, twice.
const forging = "HTTP/1.1 200 OK\r\nX-Backend: me\r\nx-backend: me too\r\nX-Backends: other\r\nContent-Length: 2\r\n\r\nok"

func TestAnswersNameTheirBackend(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, l7test.Answer(forging))
	s := l7test.Service("web", b.Addr)
	s.ServedBy = "X-Backend"
	s.Cookie = &farm.CookieInsert{Name: "LB"}
	s.AddResponse = add("X: y")
	for alias, want := range map[string]string{"": b.Addr, "db 1": "db 1"} {
		s.Backends[0].Alias = alias
		addr := l7test.New(t, 1).Serve(nil, s)
		overHTTP2, err := l7test.HTTP2Client(t, addr, false).Get("http://a.test/")
		if err != nil {
			t.Fatal(err)
		}
		_ = overHTTP2.Body.Close()
		for _, h := range []http.Header{l7test.Dial(t, addr).Send(request()).Get().Header, overHTTP2.Header} {
			if got := h.Values("X-Backend"); !slices.Equal(got, []string{want}) || h.Get("X") != "y" || h.Get("Set-Cookie") == "" || h.Get("X-Backends") != "other" {
				t.Errorf("got %q, want %q in X-Backend", h, want)
			}
		}
	}
}

func TestAnswersNameNobodyUnlessAsked(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, l7test.Answer(forging))
	s := l7test.Service("web", b.Addr)
	s.Backends[0].Alias = "db 1"
	res := l7test.Dial(t, l7test.New(t, 1).Serve(nil, s)).Send(request()).Get()
	if got := res.Header.Values("X-Backend"); !slices.Equal(got, []string{"me", "me too"}) {
		t.Errorf("got %q, want the backend's own values", got)
	}
}

func TestTunnelsNameTheirBackend(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, l7test.Answer("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"))
	s := l7test.Service("web", b.Addr)
	s.ServedBy = "X-Backend"
	res := l7test.Dial(t, l7test.New(t, 1).Serve(nil, s)).Send(request("Upgrade: x", "Connection: upgrade")).Response("GET")
	if res.StatusCode != 101 || res.Header.Get("X-Backend") != b.Addr {
		t.Errorf("got %d %q", res.StatusCode, res.Header)
	}
}

func TestNamesThatCannotNameABackendAreRefused(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a b", "a:", "Connection", "Content_Length", "x\r\ny"} {
		a := l7test.New(t, 1)
		a.Serve(nil, l7test.Service("web", "127.0.0.1:1"))
		f := a.Farm.Clone()
		f.HTTP.Services[0].ServedBy = name
		if _, err := a.Engine.Publish(100, &farm.Config{Farms: []farm.Farm{f}}, nil); err == nil {
			t.Errorf("%q is accepted", name)
		}
	}
}
