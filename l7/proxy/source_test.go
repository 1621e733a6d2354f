package proxy_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/l7/l7test"
)

// seen is a backend that responds with the peer's address.
func seen(t *testing.T) *l7test.Backend {
	t.Helper()
	return l7test.NewBackend(t, func(c *l7test.Recorder) {
		from := netip.MustParseAddrPort(c.RemoteAddr().String()).Addr().String()
		for {
			if _, err := c.Head(); err != nil {
				return
			}
			c.Say("HTTP/1.1 200 OK\r\nContent-Length: " + string(rune('0'+len(from))) + "\r\n\r\n" + from)
		}
	})
}

func TestConnectionsComeFromTheSourceOfTheBackend(t *testing.T) {
	t.Parallel()
	b := seen(t)
	a := l7test.New(t, 1)
	s := l7test.Service("web", b.Addr)
	c := l7test.Dial(t, a.Serve(nil, s))
	for _, source := range []string{"127.0.0.1", "127.0.0.5", "127.0.0.6"} {
		s.Backends[0].Source = netip.MustParseAddr(source)
		a.Serve(nil, s)
		for range 2 {
			if got := c.Send(get("/")).Get().Text; got != source {
				t.Errorf("the backend saw %s, want %s", got, source)
			}
		}
	}
}

func TestSourceThatIsNotHereTakesTheBackendOut(t *testing.T) {
	t.Parallel()
	one, two := seen(t), seen(t)
	a := l7test.New(t, 1)
	s := l7test.Service("web", one.Addr, two.Addr)
	s.Backends[0].Source, s.Backends[0].Alias = netip.MustParseAddr("192.0.2.1"), "rack one"
	addr := a.Serve(func(h *farm.HTTP) { h.ResurrectTime = 1 }, s)
	for range 4 {
		if res := l7test.Dial(t, addr).Send(get("/")).Get(); res.StatusCode != 200 {
			t.Fatalf("answered %s", res.Status)
		}
	}
	if one.Accepted() != 0 || a.Health.Slot(1).Usable() {
		t.Error("the first backend was connected to")
	}
	if lines := a.Log.Lines("backend is down"); len(lines) != 1 || !strings.Contains(lines[0], `alias="rack one"`) {
		t.Errorf("log lines %q", lines)
	}
	s.Backends[0].Source = netip.MustParseAddr("127.0.0.7")
	a.Serve(nil, s)
	l7test.Eventually(t, "it is found up from another address", func() bool { return a.Health.Slot(1).Usable() })
}

func TestMarksAreServedOrRefusedWithTheReason(t *testing.T) {
	t.Parallel()
	b := seen(t)
	a := l7test.New(t, 1)
	s := l7test.Service("web", b.Addr)
	addr := a.Serve(nil, s)
	f := a.Farm.Clone()
	f.HTTP.Services[0].Backends[0].Mark = 7
	_, err := a.Engine.Publish(100, &farm.Config{Farms: []farm.Farm{f}}, nil)
	if loop.CanMark() != nil {
		if err == nil || !strings.Contains(err.Error(), "mark 7") || !strings.Contains(err.Error(), "CAP_NET_ADMIN") {
			t.Errorf("refused with %v", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if res := l7test.Dial(t, addr).Send(get("/")).Get(); res.StatusCode != 200 {
		t.Errorf("answered %s", res.Status)
	}
}

func TestLinesOfABackendNameIt(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, l7test.Answer("nonsense\r\n\r\n"))
	a := l7test.New(t, 1)
	s := l7test.Service("web", b.Addr)
	s.Backends[0].Alias = "old one"
	l7test.Dial(t, a.Serve(nil, s)).Send(get("/")).Get()
	l7test.Eventually(t, "a line names it", func() bool {
		lines := a.Log.Lines("bad-answer")
		return len(lines) == 1 && strings.Contains(lines[0], `alias="old one"`)
	})
}

func TestStrictTransportSecurityIsSentWithTLSOnly(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, l7test.Answer("HTTP/1.1 200 OK\r\nStrict-Transport-Security: max-age=1\r\nContent-Length: 2\r\n\r\nok"))
	s, moved := l7test.Service("web", b.Addr), farm.Service{ID: 2, Name: "moved", Redirect: "https://b.test/", STS: 200}
	s.STS, s.URL = 300, "^/app"
	a := l7test.New(t, 1)
	edit := a.HTTPS(l7test.Certificate(t, "a.pem", "a.test"))
	addr := a.Serve(edit, s, moved)
	for path, want := range map[string]string{"/app": "max-age=300", "/": "max-age=200"} {
		res, err := browser(t, addr, nil).Get("https://a.test" + path)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if got := strings.Join(res.Header.Values("Strict-Transport-Security"), "+"); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	a.Serve(func(h *farm.HTTP) { h.TLS = nil }, s, moved)
	for path, want := range map[string]string{"/app": "max-age=1", "/": ""} {
		res := l7test.Dial(t, addr).Send(get(path)).Get()
		if got := strings.Join(res.Header.Values("Strict-Transport-Security"), "+"); got != want {
			t.Errorf("%s without TLS: %q, want %q", path, got, want)
		}
	}
}
