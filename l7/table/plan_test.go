package table_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/password"
	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/l7test"
	"github.com/sluicelb/sluice/l7/table"
)

func TestLimitsHoldToTheByte(t *testing.T) {
	t.Parallel()
	line, head := len("GET /x HTTP/1.1\r\n"), len(ask("GET", "/x"))
	post := func(n int) string { return ask("POST", "/x", fmt.Sprint("Content-Length: ", n)) }
	for what, c := range map[string]struct {
		edit func(*farm.HTTP)
		raw  string
		want string
	}{
		"head as long as it may be":   {func(h *farm.HTTP) { h.MaxHead = uint32(head) }, ask("GET", "/x"), "web <- "},
		"head a byte longer":          {func(h *farm.HTTP) { h.MaxHead = uint32(head - 1) }, ask("GET", "/x"), "431 head over"},
		"line as long as it may be":   {func(h *farm.HTTP) { h.MaxHead = uint32(line) }, ask("GET", "/x"), "431 head over"},
		"line a byte longer":          {func(h *farm.HTTP) { h.MaxHead = uint32(line - 1) }, ask("GET", "/x"), "414 request line over"},
		"body as long as it may be":   {func(h *farm.HTTP) { h.MaxBody = 10 }, post(10), "web <- "},
		"body a byte longer":          {func(h *farm.HTTP) { h.MaxBody = 10 }, post(11), "413 body over"},
		"body of one byte":            {func(h *farm.HTTP) { h.MaxBody = 1 }, post(2), "413 body over"},
		"any body":                    {nil, post(1 << 30), "web <- "},
		"a path that is accepted":     {func(h *farm.HTTP) { h.CheckURL = "^/x$" }, ask("GET", "/x"), "web <- "},
		"another path":                {func(h *farm.HTTP) { h.CheckURL = "^/x$" }, ask("GET", "/y"), "400 path does not match"},
		"its case":                    {func(h *farm.HTTP) { h.CheckURL = "^/X$" }, ask("GET", "/x"), "400 path does not match"},
		"its case, where it is none":  {func(h *farm.HTTP) { h.CheckURL, h.IgnoreCase = "^/X$", true }, ask("GET", "/x"), "web <- "},
		"an expectation":              {nil, ask("POST", "/x", "Expect: 100-continue", "Content-Length: 1"), "Expect: 100-continue"},
		"one that is never met":       {func(h *farm.HTTP) { h.Continue = farm.ContinueNever }, ask("POST", "/x", "Expect: 100-continue", "Content-Length: 1"), "417 100-continue"},
		"none where it is never met":  {func(h *farm.HTTP) { h.Continue = farm.ContinueNever }, post(1), "web <- "},
		"a method":                    {func(h *farm.HTTP) { h.Verbs = farm.VerbsStandard }, post(1), "web <- "},
		"a method not of the set":     {func(h *farm.HTTP) { h.Verbs = farm.VerbsStandard }, ask("DELETE", "/x"), "501 method not in"},
		"a host of no service":        {func(h *farm.HTTP) { h.Services[0].VHost = "b" }, ask("GET", "/x"), "503 no service matches"},
		"a host without regard to it": {func(h *farm.HTTP) { h.Services[0].VHost = "A.TEST" }, ask("GET", "/x"), "web <- "},
	} {
		newPlanner(t, c.edit, web()).want(what, c.raw, c.want)
	}
	for _, c := range []struct {
		max  uint32
		part string
		want string
	}{
		{0, strings.Repeat("x", 1000), ""}, {10, "123456789", ""}, {10, "1234567890", "414"}, {10, "12345678\n0", "431"}, {10, "123456789\n", "431"}, {10, "1234567890\n", "414"},
		{10, "\r\n34567890", "414"}, {10, "\r\n3456\n8901", "431"}, {http1.MaxHead, strings.Repeat("x", http1.MaxHead), ""}, {http1.MaxHead - 1, strings.Repeat("x", http1.MaxHead-1), "414"},
	} {
		p := newPlanner(t, func(h *farm.HTTP) { h.MaxHead = c.max }, web())
		got := ""
		if no := p.farm.Limits.CheckPart([]byte(c.part)); no != nil {
			got = fmt.Sprint(no.Status)
		}
		if got != c.want {
			t.Errorf("%d bytes at most: %.20q is refused with %q, want %q", c.max, c.part, got, c.want)
		}
	}
	for mode, want := range map[farm.ContinueMode]bool{"": false, farm.ContinueIgnore: true, farm.ContinueSilent: false} {
		p := newPlanner(t, func(h *farm.HTTP) { h.Continue = mode }, web())
		p.become(ask("POST", "/", "Content-Length: 1", "Expect: 100-continue"))
		if got := p.query.Invites(); got != want {
			t.Errorf("mode %q: invited %t, want %t", mode, got, want)
		}
		if got := !bytes.Contains(new(table.Outgoing).Append(nil, &p.query), []byte("Expect")); got != want {
			t.Errorf("mode %q: the expectation is gone: got %t, want %t", mode, got, want)
		}
		if p.become(ask("POST", "/", "Content-Length: 1")); p.query.Invites() {
			t.Errorf("mode %q: 100 Continue without Expect", mode)
		}
	}
}

func TestRateLimitsApplyPerKey(t *testing.T) {
	t.Parallel()
	const refused = "429 more requests"
	for key, c := range map[farm.RateKey]struct{ same, other [3]string }{ // each has: from, path, header
		"":                 {[3]string{"192.0.2.1", "/b", "X-Key: 2"}, [3]string{"192.0.2.2", "/a", "X-Key: 1"}},
		farm.RateKeyPath:   {[3]string{"192.0.2.2", "/a?q=1", "X-Key: 2"}, [3]string{"192.0.2.1", "/b?q", "X-Key: 1"}},
		farm.RateKeyHeader: {[3]string{"192.0.2.2", "/b", "x-KEY: 1"}, [3]string{"192.0.2.1", "/a", "X-Key: 2"}},
	} {
		p := newPlanner(t, nil, web(func(s *farm.Service) {
			s.RateLimit = &farm.RateLimit{Requests: 2, Period: 60, Key: key, Header: "X-KEY"}
		}))
		send := func(r [3]string, want string) {
			t.Helper()
			p.from = r[0]
			p.want(string(key), ask("GET", r[1], r[2]), want)
		}
		first := [3]string{"192.0.2.1", "/a", "X-Key: 1"}
		p.explanations = true
		for range 5 {
			send(first, "web <- ") // explained requests do not count
		}
		p.explanations = false
		send(first, "web <- ")
		send(c.same, "web <- ")
		if send(first, refused); p.plan.Wait <= 0 || p.plan.Wait > int64(30*time.Second) {
			t.Errorf("%q: it would pass in %v", key, time.Duration(p.plan.Wait))
		}
		p.explanations = true
		send(c.same, refused)
		p.explanations = false
		send(c.other, "web <- ")
		if p.plan.Wait != 0 {
			t.Errorf("%q: an admitted request waits %d, want 0", key, p.plan.Wait)
		}
		p.now += int64(31 * time.Second)
		send(first, "web <- ")
		if key == farm.RateKeyHeader { // without the header the address counts
			for _, line := range []string{"X-Other: 1", "X-Key:"} {
				send([3]string{"192.0.2.9", "/a", line}, "web <- ")
			}
			send([3]string{"192.0.2.9", "/a", "X-Key:"}, refused)
		}
	}
}

func TestBackendRewritesTheRequestHead(t *testing.T) {
	t.Parallel()
	move := func(h *farm.HTTP) { h.RewriteDestination = true }
	secure := func(h *farm.HTTP) { h.Services[0].TLS = &farm.BackendTLS{} }
	destination := func(v string) string { return ask("MOVE", "/a", "Destination: "+v, "X: y") }
	both := func(edits ...func(*farm.HTTP)) func(*farm.HTTP) {
		return func(h *farm.HTTP) {
			for _, e := range edits {
				e(h)
			}
		}
	}
	named := func(h *farm.HTTP) { h.Services[0].Backends[0].Host = "App.Internal." }
	port := func(n uint16) func(h *farm.HTTP) { return func(h *farm.HTTP) { h.Services[0].Backends[0].Port = n } }
	hosted := func(h *farm.HTTP) { h.RewriteHost = true }
	for what, c := range map[string]struct {
		edit  func(*farm.HTTP)
		raw   string
		texts []string
	}{
		"as it is":                       {nil, ask("GET", "/a?b", "X: y"), []string{"web <- GET /a?b HTTP/1.1\nHost: a.test\nX: y\nX-Forwarded-For: 192.0.2.1\n", "X-Forwarded-Proto: http\n"}},
		"without a host":                 {nil, "GET / HTTP/1.0\r\n\r\n", []string{"web <- GET / HTTP/1.1\nHost: 192.0.2.80:80\n"}},
		"with the backend's host":        {hosted, ask("GET", "/a", "X: y"), []string{"web <- GET /a HTTP/1.1\nHost: 198.51.100.1:8001\nX: y\n", "X-Forwarded-Host: a.test\n"}},
		"with its name":                  {both(hosted, named), ask("GET", "/a"), []string{"Host: app.internal:8001\n"}},
		"with its usual port":            {both(hosted, named, port(80)), ask("GET", "/a"), []string{"Host: app.internal\n"}},
		"with that of https":             {both(hosted, named, port(443)), ask("GET", "/a"), []string{"Host: app.internal:443\n"}},
		"with its usual port and TLS":    {both(hosted, named, port(443), secure), ask("GET", "/a"), []string{"Host: app.internal\n"}},
		"with that of http and TLS":      {both(hosted, named, port(80), secure), ask("GET", "/a"), []string{"Host: app.internal:80\n"}},
		"a name that is no host":         {both(hosted, func(h *farm.HTTP) { h.Services[0].Backends[0].Host = "a b" }), ask("GET", "/a"), []string{"Host: 198.51.100.1:8001\n"}},
		"no name":                        {both(hosted, func(h *farm.HTTP) { h.Services[0].Backends[0].Host = "" }), ask("GET", "/a"), []string{"Host: 198.51.100.1:8001\n"}},
		"destination":                    {move, destination("http://a.test/b"), []string{"Destination: http://a.test/b\n\n", "Host: a.test\nX: y\n"}},
		"destination, Host as sent":      {move, "MOVE /a HTTP/1.1\r\nHost: A.test.\r\nDestination: http://a.test/b\r\n\r\n", []string{"Host: A.test.\n", "Destination: http://A.test./b\n\n"}},
		"destination without a path":     {move, destination("http://a.test"), []string{"Destination: http://a.test\n\n"}},
		"destination, and TLS":           {both(move, secure), destination("http://a.test/b"), []string{"Destination: https://a.test/b\n\n"}},
		"destination, behind TLS":        {move, destination("https://a.test:443/b"), []string{"Destination: http://a.test/b\n\n"}},
		"destination without a Host":     {move, "MOVE /a HTTP/1.0\r\nDestination: http://192.0.2.80/b\r\n\r\n", []string{"Host: 192.0.2.80:80\n", "Destination: http://192.0.2.80:80/b\n\n"}},
		"destination and host":           {both(move, hosted), destination("http://a.test/b"), []string{"web <- MOVE /a HTTP/1.1\nHost: 198.51.100.1:8001\nX: y\n", "Destination: http://198.51.100.1:8001/b\n\n"}},
		"destination at our address":     {move, destination("http://192.0.2.80/b"), []string{"Destination: http://a.test/b\n\n"}},
		"destination elsewhere":          {move, destination("http://b.test/b"), []string{"Destination: http://b.test/b\nX: y\n"}},
		"destination that is a path":     {move, destination("/b"), []string{"Destination: /b\nX: y\n"}},
		"destination as it is":           {nil, destination("http://a.test/b"), []string{"Destination: http://a.test/b\n"}},
		"no destination":                 {move, ask("MOVE", "/a"), []string{"!Destination"}},
		"destination and fields of ours": {both(move, func(h *farm.HTTP) { h.AddRequest = l7test.Add("A: 1") }), destination("http://a.test/b"), []string{"A: 1\nDestination: http://a.test/b\n\n"}},
		"removed by the farm":            {func(h *farm.HTTP) { h.RemoveRequest = l7test.Remove("^X:") }, ask("GET", "/", "X: y", "Y: z"), []string{"!X: y", "Y: z"}},
		"removed by both": {func(h *farm.HTTP) {
			h.RemoveRequest, h.Services[0].RemoveRequest = l7test.Remove("^X:"), l7test.Remove("^Y:")
		}, ask("GET", "/", "X: y", "Y: z"), []string{"!X: y", "!Y: z"}},
		"added by both": {func(h *farm.HTTP) { h.AddRequest, h.Services[0].AddRequest = l7test.Add("A: 1"), l7test.Add("B: 1") }, ask("GET", "/"), []string{"B: 1\nA: 1\n\n"}},
		"one header added by both": {func(h *farm.HTTP) {
			h.AddRequest, h.Services[0].AddRequest = l7test.Add("A-b: 1", "C: 1"), l7test.Add("a_B: 2")
		}, ask("GET", "/"), []string{"a_B: 2\nC: 1\n\n", "!A-b"}},
		"set instead of the client's": {func(h *farm.HTTP) { h.AddRequest = l7test.Add("X-Internal: 1", "X-Internal: 2", "Cookie: a=b") },
			ask("GET", "/", "x-internal: 7", "X_Internal: 8", "Cookie: c=d", "X-Other: 9"),
			[]string{"X-Internal: 1\nX-Internal: 2\nCookie: a=b\n\n", "Cookie: c=d\nX-Other: 9\n", "!7", "!8"}},
		"set instead of a trusted peer's": {func(h *farm.HTTP) {
			h.Trusted, h.AddRequest = l7test.Networks("192.0.2.0/24"), l7test.Add("X-Forwarded-Proto: https")
		},
			ask("GET", "/", "X-Forwarded-Proto: http"), []string{"X-Forwarded-Proto: https\n\n", "!X-Forwarded-Proto: http\n"}},
		"replaced by both": {func(h *farm.HTTP) {
			h.ReplaceRequest = []farm.HeaderReplace{{Header: "^X$", Match: "2", Replace: "3"}}
			h.Services[0].ReplaceRequest = []farm.HeaderReplace{{Header: "^X$", Match: "1", Replace: "2"}}
		}, ask("GET", "/", "X: 1"), []string{"X: 3\n"}},
		"a rule that tells who it is": {func(h *farm.HTTP) { h.AddRequest = l7test.Add("X-Forwarded-For: 10.0.0.1") }, ask("GET", "/"), []string{"X-Forwarded-For: 10.0.0.1\n", "!X-Forwarded-For: 192.0.2.1"}},
		"a path by a rule":            {func(h *farm.HTTP) { h.Services[0].Rewrites = []farm.URLRewrite{{Pattern: "^/a", Replace: "/b"}} }, ask("GET", "/a?c"), []string{"web <- GET /b?c HTTP/1.1\n"}},
		"a path no rule is for":       {func(h *farm.HTTP) { h.Services[0].Rewrites = []farm.URLRewrite{{Pattern: "^/x", Replace: "/b"}} }, ask("GET", "/a"), []string{"web <- GET /a HTTP/1.1\n"}},
		"no path at all":              {func(h *farm.HTTP) { h.Services[0].Rewrites = []farm.URLRewrite{{Pattern: "^", Replace: "/b"}} }, ask("OPTIONS", "*"), []string{"web <- OPTIONS * HTTP/1.1\n"}},
		"a path that grows":           {func(h *farm.HTTP) { h.Services[0].Rewrites = []farm.URLRewrite{{Pattern: "(.*)", Replace: "$1$1"}} }, ask("GET", "/"+strings.Repeat("a", 9000)), []string{"broken: http/1: request target too long"}},
		"a value that grows": {func(h *farm.HTTP) {
			h.ReplaceRequest = []farm.HeaderReplace{{Header: "^X$", Match: "(.*)", Replace: "$1$1"}}
		}, ask("GET", "/a", "X: "+strings.Repeat("a", 40000)), []string{"broken: http/1: head too long"}},
		"a path that climbs": {func(h *farm.HTTP) { h.Services[0].Rewrites = []farm.URLRewrite{{Pattern: "^/a", Replace: "/../b"}} }, ask("GET", "/a"), []string{"broken: "}},
	} {
		newPlanner(t, c.edit, web()).want(what, c.raw, c.texts...)
	}
	p := newPlanner(t, func(h *farm.HTTP) { h.AddRequest = l7test.Add("A: 1") }, web())
	p.told.Proto, p.told.Certificate = []byte("https"), []byte("X-SSL-Subject: me\r\n")
	p.want("certificate", ask("GET", "/", "X-Request-ID: theirs"), "A: 1\nX-SSL-Subject: me\n", "X-Forwarded-Proto: https\n", "X-Request-ID: theirs\n")
	p.told.ID = []byte("ours")
	p.want("id", ask("GET", "/", "X-Request-ID: theirs", "x-request-id: two"), "A: 1\nX-SSL-Subject: me\nX-Request-Id: ours\n", "!theirs", "!two")
	p.want("id before all", "GET / HTTP/1.1\r\nX-Request-ID: theirs\r\nHost: a.test\r\n\r\n", "X-Request-Id: ours\n", "!theirs")
	p.want("id again", ask("GET", "/"), "A: 1\nX-SSL-Subject: me\nX-Request-Id: ours\n", "!ours\nA: 1")
	head := []byte("a head without holes")
	if got := new(table.Outgoing).Address(new([]byte), head, &p.service().Backends[0]); &got[0] != &head[0] {
		t.Error("a head that has no holes is copied")
	}
	p.told.Certificate = nil
	p.want("id alone", ask("GET", "/"), "A: 1\nX-Request-Id: ours\n", "!X-SSL")
}

func TestRedirectTargetsAreExpanded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, url string
		kind      farm.RedirectType
		code      int
		target    string
		want      string
	}{
		{"http://b.test/x", "", "", 0, "/y?z", "302 => http://b.test/x"},
		{"http://b.test/x", "", "", 301, "/y?z", "301 => http://b.test/x"},
		{"http://b.test", "", farm.RedirectAppend, 307, "/y?z", "307 => http://b.test/y?z"},
		{"http://b.test/", "", farm.RedirectAppend, 0, "/y", "302 => http://b.test/y"},
		{"http://${VHOST}/$1", "^/(y)", "", 0, "/y", "302 => http://a.test/y"},
		{"http://b.test/$1-$2", "^/(y)/(z)", "", 0, "/y/z", "302 => http://b.test/y-z"},
	} {
		p := newPlanner(t, nil, farm.Service{ID: 1, Name: "web", URL: c.url, Redirect: c.text, RedirectType: c.kind, RedirectCode: c.code})
		if got := p.become(ask("GET", c.target)); got != c.want {
			t.Errorf("%+v: got %s, want %s", c, got, c.want)
		}
		if p.service().Redirect.STS != nil {
			t.Error("plain HTTP tells of Strict-Transport-Security")
		}
	}
	for _, code := range []int{300, 303, 308} {
		if newPlanner(t, nil, web()).try(func(h *farm.HTTP) { h.Services[0].Redirect, h.Services[0].RedirectCode = "http://b.test", code }) == nil {
			t.Errorf("%d is accepted as redirect code", code)
		}
	}
}

func TestServicesAuthenticateClients(t *testing.T) {
	t.Parallel()
	hash, err := password.Hash("secret")
	if err != nil {
		t.Fatal(err)
	}
	basic := func(text string) string {
		return "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(text))
	}
	right, wrong := basic("joe:secret"), basic("joe:other")
	users := []farm.AuthUser{{Name: "joe", Hash: hash}}
	keys := []farm.AuthKey{farm.AuthKey(fmt.Sprintf("%x", sha256.Sum256([]byte("k1"))))}
	const noKey, stranger = "401 no key the service knows", "401 no credentials"
	for what, c := range map[string]struct {
		auth      farm.Auth
		lines     []string
		want      []string
		challenge string
		unchecked bool
	}{
		"no user":             {farm.Auth{Users: users}, nil, []string{stranger}, `WWW-Authenticate: Basic realm="Restricted", charset="UTF-8"`, false},
		"a realm":             {farm.Auth{Users: users, Realm: `a"b\c`}, nil, []string{stranger}, `WWW-Authenticate: Basic realm="a\"b\\c", charset="UTF-8"`, false},
		"two of them":         {farm.Auth{Users: users}, []string{right, right}, []string{"401 credentials that cannot be read"}, "Basic", false},
		"another scheme":      {farm.Auth{Users: users}, []string{"Authorization: Bearer x"}, []string{"401 credentials that cannot be read"}, "Basic", false},
		"the right password":  {farm.Auth{Users: users}, []string{right, "X: y"}, []string{"web <- ", "X: y\n", "!Authorization"}, "", true},
		"it passes":           {farm.Auth{Users: users, Pass: true}, []string{right}, []string{"web <- ", right + "\n"}, "", true},
		"the wrong one":       {farm.Auth{Users: users}, []string{wrong}, []string{"web <- "}, "", true},
		"no key":              {farm.Auth{Keys: keys, Header: "X-Key"}, nil, []string{noKey}, `WWW-Authenticate: Key realm="Restricted"`, false},
		"a wrong key":         {farm.Auth{Keys: keys, Header: "X-Key"}, []string{"X-Key: k2"}, []string{noKey}, "Key", false},
		"two keys":            {farm.Auth{Keys: keys, Header: "X-Key"}, []string{"X-Key: k1", "x-key: k1"}, []string{noKey}, "Key", false},
		"a key":               {farm.Auth{Keys: keys, Header: "X-KEY"}, []string{"X-key: k1", "Authorization: x"}, []string{"web <- ", "Authorization: x\n", "!k1"}, "", false},
		"a key that passes":   {farm.Auth{Keys: keys, Header: "X-Key", Pass: true}, []string{"X-Key: k1"}, []string{"web <- ", "X-Key: k1\n"}, "", false},
		"both, without users": {farm.Auth{Keys: keys, Header: "X-Key", Users: users}, []string{"X-Key: k1"}, []string{stranger}, "Basic", false},
		"both":                {farm.Auth{Keys: keys, Header: "X-Key", Users: users}, []string{"X-Key: k1", right}, []string{"web <- ", "!k1", "!Authorization"}, "", true},
	} {
		for _, explained := range []bool{false, true} {
			p := newPlanner(t, nil, web(func(s *farm.Service) { s.Auth = &c.auth }))
			p.explanations = explained
			p.want(what, ask("GET", "/", c.lines...), c.want...)
			if p.plan.Unchecked != c.unchecked {
				t.Errorf("%s: left to be checked: got %t, want %t", what, p.plan.Unchecked, c.unchecked)
			}
			if !strings.Contains(string(p.plan.Lines), c.challenge) || (len(p.plan.Lines) == 0) != (p.plan.Refused == nil) {
				t.Errorf("%s: the answer has %q, want %q", what, p.plan.Lines, c.challenge)
			}
		}
	}
	for what, auth := range map[string]farm.Auth{"nobody": {}, "a realm of two lines": {Users: users, Realm: "a\r\nb"}} {
		if newPlanner(t, nil, web()).try(func(h *farm.HTTP) { h.Services[0].Auth = &auth }) == nil {
			t.Errorf("%s: it is accepted", what)
		}
	}
	if newPlanner(t, nil, web()).try(func(h *farm.HTTP) {
		h.Services[0].Auth, h.Services[0].Redirect = &farm.Auth{Users: users}, "http://b.test"
	}) == nil {
		t.Error("a redirect is protected")
	}
}
