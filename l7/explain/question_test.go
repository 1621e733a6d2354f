package explain_test

import (
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/explain"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/l7test"
)

// A question is equivalent to the bytes of a client.
func TestQuestionsEqualClientRequests(t *testing.T) {
	t.Parallel()
	a, secure := l7test.New(t, 1), l7test.New(t, 1)
	origin := a.Serve(nil, l7test.Service("web", "127.0.0.1:1"))
	secure.Serve(secure.HTTPS(l7test.Certificate(t, "a.pem", "a.test")), l7test.Service("web", "127.0.0.1:1"))
	for _, c := range []struct {
		on   *l7test.Appliance
		q    explain.Question
		line string // method, host and path
		name string // TLS server name
	}{
		{a, explain.Question{URL: "/"}, "GET " + origin + " /", ""},
		{a, explain.Question{URL: "/a?b#c"}, "GET " + origin + " /a?b", ""},
		{a, explain.Question{URL: "*", Method: "OPTIONS"}, "OPTIONS " + origin + " *", ""},
		{a, explain.Question{URL: "/", Headers: []string{"HOST: b.test"}}, "GET b.test /", ""},
		{a, explain.Question{URL: "HTTP://a.test:80/x"}, "GET a.test /x", ""},
		{a, explain.Question{URL: "http://a.test:8080"}, "GET a.test:8080 /", ""},
		{a, explain.Question{URL: "http://a.test?x=1"}, "GET a.test /?x=1", ""},
		{a, explain.Question{URL: "http://a.test/", Headers: []string{"Host: b.test"}}, "GET b.test /", ""},
		{secure, explain.Question{URL: "https://a.test:443/"}, "GET a.test /", "a.test"},
		{secure, explain.Question{URL: "https://a.test:80/"}, "GET a.test:80 /", "a.test"},
		{secure, explain.Question{URL: "https://a.test/", Headers: []string{"Host: b.test"}}, "GET b.test /", "a.test"},
		{secure, explain.Question{URL: "/", Headers: []string{"Host: b.test"}}, "GET b.test /", "b.test"},
		{secure, explain.Question{URL: "https://a.test/", SNI: "c.test"}, "GET a.test /", "c.test"},
	} {
		c.q.Farm = 1
		e, err := c.on.Engine.Explain(&c.q)
		if err != nil || e.Request == nil {
			t.Errorf("%+v: %+v, %v", c.q, e, err)
			continue
		}
		if got := e.Request.Method + " " + e.Request.Host + " " + e.Request.Path; got != c.line || e.SNI != c.name {
			t.Errorf("%+v is %s, TLS name %q; want %s and %q", c.q, got, e.SNI, c.line, c.name)
		}
	}
}

func TestQuestionsUseTheirSourceAddress(t *testing.T) {
	t.Parallel()
	a := l7test.New(t, 1)
	a.Serve(func(h *farm.HTTP) { h.Trusted = l7test.Networks("192.0.2.0/24") }, l7test.Service("web", "127.0.0.1:1"))
	for from, want := range map[string]string{"": "127.0.0.1", "::ffff:192.0.2.1": "192.0.2.1", "198.51.100.1": "198.51.100.1", "2001:db8::1": "2001:db8::1"} {
		e, err := a.Engine.Explain(&explain.Question{Farm: 1, URL: "/", From: from})
		if err != nil || e.From != want || e.Request.Trusted != strings.HasPrefix(want, "192.0.2.") || !strings.Contains(strings.Join(e.Head, "\n"), "X-Forwarded-For: "+want) {
			t.Errorf("from %q: %+v, %+v, %v", from, e, e.Request, err)
		}
	}
}

func TestQuestionsKeepTheirBounds(t *testing.T) {
	t.Parallel()
	a := l7test.New(t, 1)
	a.Serve(nil, l7test.Service("web", "127.0.0.1:1"))
	lines := make([]string, explain.MaxHeaders+1)
	for i := range lines {
		lines[i] = "X: 1"
	}
	long := strings.Repeat("x", explain.MaxQuestion/2)
	for want, list := range map[bool][]explain.Question{
		true:  {{URL: "/", Headers: lines[1:]}, {URL: "/", Headers: []string{"X: " + long[4:], "Y: " + long[4:]}}},
		false: {{URL: "/", Headers: lines}, {URL: "/", Headers: []string{"X: " + long, "Y: " + long}}, {URL: "/", Method: long, SNI: long}},
	} {
		for _, q := range list {
			q.Farm = 1
			if e, err := a.Engine.Explain(&q); (err == nil) != want {
				t.Errorf("%.40v: %.40v, %v", q, e, err)
			}
		}
	}
}
