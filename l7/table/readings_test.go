package table_test

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/explain"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/l7test"
)

// service returns a service with that number and URL pattern, with one backend.
func service(id uint32, name, url string, edit func(s *farm.Service)) farm.Service {
	s := l7test.Service(name, "198.51.100.1:8001")
	s.ID, s.URL, s.Backends[0].ID = id, url, id
	if edit != nil {
		edit(&s)
	}
	return s
}

func guarded(header, key string) func(s *farm.Service) {
	return func(s *farm.Service) {
		s.Auth = &farm.Auth{Header: header, Keys: []farm.AuthKey{keyDigest(key)}}
	}
}

const key = "a-key-of-16-or-more"

func TestEveryReadingOfAPathIsProtected(t *testing.T) {
	t.Parallel()
	const nobody = "401 no key the service knows"
	const denied = "503 the path can be read as one of a service without backends"
	closed := func(s *farm.Service) { s.Backends = nil }
	weighted := func(n uint8) func(*farm.Service) { return func(s *farm.Service) { s.Split = &n } }
	for what, c := range map[string]struct {
		services []farm.Service
		path     string
		want     string
	}{
		"a guard behind the open service": {[]farm.Service{service(1, "shop", "^/shop/", nil), service(2, "rest", "", guarded("X-Key", key))}, "/shop/..%2Fx", nobody},
		"a query":                         {[]farm.Service{service(1, "a", "^/a$", guarded("X-Key", key)), service(2, "rest", "", nil)}, "/a?x", nobody},
		"a query that is meant":           {[]farm.Service{service(1, "open", "^/a\\?open$", nil), service(2, "a", "^/a", guarded("X-Key", key))}, "/a?open", "open <- "},
		"a path that leaves it again":     {[]farm.Service{service(1, "a", "^/a(/|$)", guarded("X-Key", key)), service(2, "rest", "", nil)}, "/a/../x", nobody},
		"dots within what is open":        {[]farm.Service{service(1, "a", "^/a(/|$)", guarded("X-Key", key)), service(2, "rest", "", nil)}, "/b/./c/../a", "rest <- "},
		"a query behind a parameter":      {[]farm.Service{service(1, "a", "^/a$", guarded("X-Key", key)), service(2, "rest", "", nil)}, "/a;x?y", nobody},
		"a denial by a query":             {[]farm.Service{service(1, "a", "^/a$", closed), service(2, "rest", "", nil)}, "/a?x", denied},
		"a redirect and a query": {[]farm.Service{service(1, "a", "^/$", func(s *farm.Service) { s.Redirect = "https://b.test/home" }), service(2, "rest", "", nil)},
			"/?x", "rest <- "},
		"a redirect of a reading": {[]farm.Service{service(1, "a", "^/a$", func(s *farm.Service) { s.Redirect = "https://b.test/" }), service(2, "rest", "", nil)},
			"/a;x", "302 => https://b.test/"},
		"one of another host": {[]farm.Service{service(1, "a", "^/a$", func(s *farm.Service) { guarded("X-Key", key)(s); s.VHost = "b.test" }), service(2, "rest", "", nil)},
			"/a;x", "rest <- "},
		"one that shares": {[]farm.Service{service(1, "a", "^/a$", weighted(1)), service(2, "b", "^/a", func(s *farm.Service) { guarded("X-Key", key)(s); weighted(0)(s) }), service(3, "rest", "", nil)},
			"/a;x", nobody},
		"one that shares other paths": {[]farm.Service{service(1, "a", "^/a$", weighted(1)), service(2, "b", "^/b", func(s *farm.Service) { guarded("X-Key", key)(s); weighted(0)(s) }), service(3, "rest", "", nil)},
			"/a;x", "rest <- "},
		"a path out of what is served":  {[]farm.Service{service(1, "shop", "^/shop/", guarded("Cookie", key)), service(2, "b", "^/b/", nil)}, "/b/..%2Fx", "503 no service matches the decoded path"},
		"a path within what is served":  {[]farm.Service{service(1, "x", "^/x", guarded("X-Key", key)), service(2, "b", "^/b/%2F", nil)}, "/b/%2Fc", "b <- "},
		"nothing protected":             {[]farm.Service{service(1, "shop", "^/shop/", nil), service(2, "rest", "", nil)}, "/shop/..%2Fx", "shop <- GET /shop/..%2Fx HTTP/1.1\n"},
		"conditions of the other":       {[]farm.Service{service(1, "a", "^/a$", func(s *farm.Service) { closed(s); s.HeadRequire = []string{"^X-No:"} }), service(2, "rest", "", nil)}, "/a;x", "rest <- "},
		"conditions of the other, kept": {[]farm.Service{service(1, "a", "^/a$", func(s *farm.Service) { closed(s); s.HeadRequire = []string{"^X-Yes:"} }), service(2, "rest", "", nil)}, "/a;x", denied},
	} {
		newPlanner(t, nil, c.services...).want(what, ask("GET", c.path, "X-Yes: 1"), c.want)
	}
	// A request that passes both services is forwarded without the credentials of either.
	p := newPlanner(t, nil, service(1, "a", "^/a$", guarded("X-Key", key)), service(2, "rest", "", guarded("X-Other", key)))
	p.want("both keys", ask("GET", "/a;x", "X-Key: "+key, "X-Other: "+key), "rest <- ", "!"+key)
	p.want("one key", ask("GET", "/a;x", "X-Other: "+key), nobody)
	p.explanations = true
	p.become(ask("GET", "/a;x", "X-Other: "+key))
	if e := p.explanation; e.Result.Outcome != explain.Refuse || e.Result.Service != "a" || !strings.Contains(asJSON(e.Steps), `"the path can be read as /a: service a"`) {
		t.Errorf("explained as %+v, %s", e.Result, asJSON(e.Steps))
	}
	// A rate limit counts a request once, regardless of the number of readings.
	p = newPlanner(t, nil, service(1, "a", "^/a", func(s *farm.Service) { s.RateLimit = &farm.RateLimit{Requests: 2, Period: 60} }), service(2, "rest", "", nil))
	p.want("once", ask("GET", "/%2561;x"), "rest <- ")
	p.want("twice", ask("GET", "/%2561%2562;x"), "rest <- ")
	p.want("thrice", ask("GET", "/%2561;x"), "429 ")
}

func TestUsersOfTwoServicesMustBeTheSame(t *testing.T) {
	t.Parallel()
	user := func(name string) func(s *farm.Service) {
		return func(s *farm.Service) {
			s.Auth = &farm.Auth{Users: []farm.AuthUser{{Name: name, Hash: strings.Repeat("x", 60)}}}
		}
	}
	const line = "Authorization: Basic dXNlcjpwYXNz"
	p := newPlanner(t, nil, service(1, "a", "^/a$", user("user")), service(2, "rest", "", user("user")))
	if p.become(ask("GET", "/a;x", line)); !p.plan.Unchecked || p.plan.Auth != p.farm.Services[1].Auth {
		t.Errorf("the same users: %+v", p.plan)
	}
	p = newPlanner(t, nil, service(1, "a", "^/a$", user("user")), service(2, "rest", "", user("other")))
	p.want("other users", ask("GET", "/a;x", line), "400 the path can be read as one of two services with different users")
	p = newPlanner(t, nil, service(1, "a", "^/a$", user("user")), service(2, "rest", "", nil))
	if p.become(ask("GET", "/a;x", line)); !p.plan.Unchecked || p.plan.Auth != p.farm.Services[0].Auth || p.plan.Service.Name != "rest" {
		t.Errorf("users of the other service: %+v", p.plan)
	}
	p.want("nobody", ask("GET", "/a;x"), "401 no credentials")
}

func TestAcceptedPathsAreAcceptedInEveryReading(t *testing.T) {
	t.Parallel()
	p := newPlanner(t, func(h *farm.HTTP) { h.CheckURL = "^/(shop/|[a-z/%0-9A-F]*$)" }, web())
	for path, want := range map[string]string{
		"/shop/a": "web <- ", "/shop/a%2Fb": "web <- ", "/a%2Fb": "web <- ", "/shop/..%2Fb_": "400 path does not match", "/a%5Fb": "400 path does not match", "/a%255Fb": "400 path does not match",
	} {
		p.want(path, ask("GET", path), want)
	}
}

// All spellings of a path share one key of a limit.
func TestALimitByPathCountsSpellingsTogether(t *testing.T) {
	t.Parallel()
	p := newPlanner(t, nil, service(1, "a", "", func(s *farm.Service) { s.RateLimit = &farm.RateLimit{Requests: 2, Period: 60, Key: farm.RateKeyPath} }))
	p.want("once", ask("GET", "/a/b"), "a <- ")
	p.want("twice", ask("GET", "/a%2Fb;x?y"), "a <- ")
	p.want("thrice", ask("GET", "/a//%2562"), "429 ")
	p.want("by dots", ask("GET", "/x/../a/b"), "429 ")
	p.want("by dots alone", ask("GET", "/./a/b"), "429 ")
	p.want("another", ask("GET", "/c"), "a <- ")
}

// The path appended to a redirect is the client's; groups refer to the canonical one.
func TestARedirectKeepsThePathOfTheClient(t *testing.T) {
	t.Parallel()
	p := newPlanner(t, nil, service(1, "a", "^/(.*)", func(s *farm.Service) { s.Redirect, s.RedirectType = "https://b.test/", farm.RedirectAppend }))
	p.want("append", ask("GET", "//c.test//%2f;x/../?//"), "302 => https://b.test//c.test//%2f;x/../?//")
	p.edit(func(h *farm.HTTP) { h.Services[0].Redirect, h.Services[0].RedirectType = "https://b.test/$1", "" })
	p.want("group", ask("GET", "//c.test//%2f;x/../?//"), "302 => https://b.test/c.test/?//")
}

func keyDigest(key string) farm.AuthKey {
	sum := sha256.Sum256([]byte(key))
	return farm.AuthKey(hex.EncodeToString(sum[:]))
}
