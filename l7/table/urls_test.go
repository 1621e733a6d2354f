package table_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/l7test"
)

func TestPathsAreRewrittenInTheirCanonicalForm(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, l7test.Answer(ok))
	s := l7test.Service("web", b.Addr)
	s.URL = "^/(old|raw|up|lines|OPT|)"
	s.Rewrites = []farm.URLRewrite{
		{Pattern: "^/old/(.*)$", Replace: "/new/$1", Last: true},
		{Pattern: "^/raw/", Replace: "/a//b/./\u00e9/%7e/"},
		{Pattern: "^/up/", Replace: "/../"},
		{Pattern: "^/lines/", Replace: "no slash"},
		{Pattern: "^/q", Replace: "/x y"},
		{Pattern: "/(n)ew/", Replace: "/$1o/"},
	}
	c := l7test.Dial(t, l7test.New(t, 1).Serve(nil, s))
	for _, test := range []struct{ path, line string }{
		{"/old/page?x=/old/", "GET /new/page?x=/old/ HTTP/1.1"},
		{"/%6fld//x", "GET /new/x HTTP/1.1"},
		{"/raw/x", "GET /a/b/%C3%A9/~/x HTTP/1.1"},
		{"/new/x", "GET /no/x HTTP/1.1"},
		{"/other", "GET /other HTTP/1.1"},
	} {
		if res := c.Send(l7test.Get(test.path)).Get(); res.StatusCode != 200 || b.RequestLine() != test.line {
			t.Errorf("%s: %d, the backend got %q, want %q", test.path, res.StatusCode, b.RequestLine(), test.line)
		}
	}
	before := b.Received()
	for _, path := range []string{"/up/x", "/lines/x", "/q"} {
		c := l7test.Dial(t, c.RemoteAddr().String())
		if res := c.Send(l7test.Get(path)).Get(); res.StatusCode != 400 {
			t.Errorf("%s is answered %d, want 400", path, res.StatusCode)
		}
	}
	if b.Received() != before {
		t.Errorf("an ambiguous path was forwarded: %q", b.Received()[len(before):])
	}
}

// Services and sessions are selected by the client's path.
func TestRewritingComesAfterTheService(t *testing.T) {
	t.Parallel()
	one, two := l7test.NewNamed(t, "1"), l7test.NewNamed(t, "2")
	first, second := l7test.Service("first", one.Addr), l7test.Service("second", two.Addr)
	first.URL, second.URL, second.ID, second.Backends[0].ID = "^/a", "^/b", 2, 2
	first.Rewrites = []farm.URLRewrite{{Pattern: "^/a", Replace: "/b"}}
	c := l7test.Dial(t, l7test.New(t, 1).Serve(nil, first, second))
	if res := c.Send(l7test.Get("/a")).Get(); res.Text != "1" || one.RequestLine() != "GET /b HTTP/1.1" {
		t.Errorf("served by %s as %q", res.Text, one.RequestLine())
	}
}

func TestLocationsOfAllModes(t *testing.T) {
	t.Parallel()
	var addr string
	b := l7test.NewBackend(t, func(c *l7test.Recorder) {
		for {
			head, err := c.Head()
			if err != nil {
				return
			}
			location := strings.TrimPrefix(strings.Split(head, "\r\n")[2], "Want: ")
			c.Say("HTTP/1.1 302 Found\r\nLocation: " + location + "\r\nContent-Location: " + location + "\r\nContent-Length: 0\r\n\r\n")
		}
	})
	addr = b.Addr
	a := l7test.New(t, 1)
	s := l7test.Service("web", b.Addr)
	s.Rewrites = []farm.URLRewrite{{Pattern: "^/shop/", Replace: "/"}}
	front := a.Serve(nil, s)
	_, port, _ := strings.Cut(addr, ":")
	s.Backends[0].Host = "App.internal"
	backend, named, own := "http://"+addr, "http://app.INTERNAL:"+port, "http://"+front
	for mode, want := range map[farm.RewriteLocation][6]string{
		farm.RewriteDisabled:            {backend + "/x", named + "/x", own + "/x", "/x", "//" + addr, "http://else.test/x"},
		farm.RewriteEnabled:             {"http://a.test/x", "http://a.test/x", "http://a.test/x", "/x", "http://a.test", "http://else.test/x"},
		farm.RewriteEnabledBackends:     {"http://a.test/x", "http://a.test/x", own + "/x", "/x", "http://a.test", "http://else.test/x"},
		farm.RewriteEnabledPath:         {"http://a.test/shop/x", "http://a.test/shop/x", "http://a.test/shop/x", "/shop/x", "http://a.test/shop", "http://else.test/x"},
		farm.RewriteEnabledBackendsPath: {"http://a.test/shop/x", "http://a.test/shop/x", own + "/x", "/shop/x", "http://a.test/shop", "http://else.test/x"},
	} {
		for _, ofService := range []bool{false, true} {
			s.RewriteLocation = ""
			a.Serve(func(h *farm.HTTP) {
				h.RewriteLocation = mode
				if ofService {
					h.RewriteLocation, h.Services[0].RewriteLocation = farm.RewriteDisabled, mode
				}
			}, s)
			c := l7test.Dial(t, front)
			for i, location := range []string{backend + "/x", named + "/x", own + "/x", "/x", "//" + addr, "http://else.test/x"} {
				res := c.Send("GET /shop/tea HTTP/1.1\r\nHost: a.test\r\nWant: " + location + "\r\n\r\n").Get()
				if res.Header.Get("Location") != want[i] || res.Header.Get("Content-Location") != want[i] {
					t.Errorf("%s, of the service %v: %s became %s and %s, want %s", mode, ofService, location, res.Header.Get("Location"), res.Header.Get("Content-Location"), want[i])
				}
			}
			// Without rewriting there is nothing to reverse.
			if res := c.Send("GET /tea HTTP/1.1\r\nHost: a.test\r\nWant: /x\r\n\r\n").Get(); res.Header.Get("Location") != "/x" {
				t.Errorf("%s: /x became %s", mode, res.Header.Get("Location"))
			}
		}
	}
}

func TestBackendsGetTheirOwnAddressAsHost(t *testing.T) {
	t.Parallel()
	one, two := l7test.NewBackend(t, l7test.Answer(ok)), l7test.NewBackend(t, l7test.Answer(ok))
	s := l7test.Service("web", one.Addr, two.Addr)
	_, port, _ := strings.Cut(two.Addr, ":")
	s.Backends[1].Host = "App.internal"
	a := l7test.New(t, 1)
	addr := a.Serve(func(h *farm.HTTP) { h.RewriteHost = true; h.AddRequest = l7test.Add("X: y") }, s)
	c := l7test.Dial(t, addr)
	for range 4 {
		if res := c.Send(l7test.Get("/")).Get(); res.StatusCode != 200 {
			t.Fatal(res.Status)
		}
	}
	if one.Field("Host") != one.Addr || two.Field("Host") != "app.internal:"+port || two.Field("X-Forwarded-Host") != "a.test" {
		t.Errorf("hosts %q and %q, X-Forwarded-Host %q", one.Field("Host"), two.Field("Host"), two.Field("X-Forwarded-Host"))
	}
	one.Close()
	l7test.Eventually(t, "the first backend is down", func() bool {
		c := l7test.Dial(t, addr)
		res := c.Send("POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5\r\n\r\nhello").Response("POST")
		return res.StatusCode == 200 && !a.Health.Slot(1).Usable()
	})
	for _, head := range strings.SplitAfter(two.Received(), "\r\n\r\n") {
		if strings.Contains(head, "Host: 127") {
			t.Errorf("the second backend got the first one's address: %q", head)
		}
	}
	if !strings.HasSuffix(two.Received(), "\r\n\r\nhello") {
		t.Errorf("the body did not follow: %q", two.Received())
	}
}

func TestDestinationAgreesWithTheHostOfTheBackend(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, l7test.Answer(ok))
	a := l7test.New(t, 1)
	addr := a.Serve(func(h *farm.HTTP) { h.RewriteDestination, h.AddRequest = true, l7test.Add("X: y") }, l7test.Service("web", b.Addr))
	for _, both := range []bool{false, true} {
		a.Serve(func(h *farm.HTTP) { h.RewriteHost = both }, l7test.Service("web", b.Addr))
		c := l7test.Dial(t, addr)
		for sent, want := range map[string]string{
			"http://a.test/dir/b":       "http://HOST/dir/b",
			"https://A.test:8443/dir/b": "http://HOST/dir/b",
			"http://" + addr + "/b":     "http://HOST/b",
			"https://a.test./b":         "http://HOST/b",
			"https://A.test.:443/b":     "http://HOST/b",
			"http://else.test/b":        "http://else.test/b",
			"http://a.test../b":         "http://a.test../b",
			"/b":                        "/b",
		} {
			res := c.Send("MOVE /a HTTP/1.1\r\nHost: a.test\r\nDestination: " + sent + "\r\nOverwrite: F\r\n\r\n").Response("MOVE")
			host := map[bool]string{false: "a.test", true: b.Addr}[both]
			want = strings.Replace(want, "HOST", host, 1)
			if res.StatusCode != 200 || b.Field("Destination") != want || b.Field("Host") != host || b.Field("Overwrite") != "F" || b.Field("X") != "y" {
				t.Errorf("%d, Host %q, Destination %q, want %q", res.StatusCode, b.Field("Host"), b.Field("Destination"), want)
			}
		}
	}
}

func TestRedirectIgnoresCaseWhereTheRuleDoes(t *testing.T) {
	t.Parallel()
	s := farm.Service{ID: 1, Name: "moved", URL: "^/Shop/([A-Z]+)", Redirect: "https://${VHOST}/$1/$9", RedirectType: farm.RedirectAppend, RedirectCode: 307, IgnoreCase: true}
	a := l7test.New(t, 1)
	addr := a.Serve(nil, s)
	c := l7test.Dial(t, addr)
	if res := c.Send(l7test.Get("/shop/tea?a=b")).Get(); res.StatusCode != 307 || res.Header.Get("Location") != "https://a.test/tea/shop/tea?a=b" {
		t.Errorf("got %d %q", res.StatusCode, res.Header.Get("Location"))
	}
	s.IgnoreCase = false
	a.Serve(nil, s)
	if res := c.Send(l7test.Get("/shop/tea")).Get(); res.StatusCode != 503 {
		t.Errorf("with regard to case: got %d, want 503", res.StatusCode)
	}
	a.Serve(func(h *farm.HTTP) { h.IgnoreCase = true }, s)
	if res := c.Send(l7test.Get("/SHOP/TEA")).Get(); res.Header.Get("Location") != "https://a.test/TEA/SHOP/TEA" {
		t.Errorf("the farm's: %q", res.Header.Get("Location"))
	}
}

func TestInvalidPathRulesAreRefused(t *testing.T) {
	t.Parallel()
	for i, s := range []farm.Service{
		{Rewrites: []farm.URLRewrite{{Pattern: "("}}},
		{Rewrites: []farm.URLRewrite{{Pattern: "a", Replace: "b\r\nc"}}},
		{Redirect: "http://a.test/\r\nX: y"},
		{Redirect: "http://a.test/$1", URL: "a(?!b)"},
		{Redirect: "http://a.test/", RedirectCode: 200},
	} {
		s.ID, s.Name = 1, fmt.Sprint("bad", i)
		a := l7test.New(t, 1)
		a.Serve(nil, l7test.Service("web", "127.0.0.1:1"))
		f := a.Farm.Clone()
		f.HTTP.Services = []farm.Service{s}
		if _, err := a.Engine.Publish(100, &farm.Config{Farms: []farm.Farm{f}}, nil); err == nil {
			t.Errorf("service %d is accepted", i)
		}
	}
}
