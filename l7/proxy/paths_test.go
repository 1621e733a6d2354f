package proxy_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/explain"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/l7test"
)

// Paths that HAProxy 2.6 and nginx 1.22 both forward byte for byte are forwarded: escaped
// and raw slashes and backslashes, doubly encoded paths, bytes that are not UTF-8. Where
// they differ, the stricter one is followed. nginx responds with 400 to malformed escapes
// (%, %zz, %u0041), an escaped NUL and a path above the root, and HAProxy to '#'. Only
// Sluice refuses an escaped CR or LF, because a backend that decodes it into a field splits
// its response.

// spelling is a path as sent by a client, the forms that rules see, and its outcome.
type spelling struct {
	sent      string
	canonical string // "" if unchanged
	readings  string // separated by spaces
	outcome   string // service that forwards it, or a status
}

// In this farm /admin needs a key, /secret has no backends, /old redirects, and /shop/ and
// everything else are open.
var spellings = []spelling{
	// plain
	{"/", "", "", "site"},
	{"/shop/tea?q=%2F..;//", "", "", "shop"},
	{"/admin", "", "", "401"},
	{"/admin/x", "", "", "401"},
	{"/administrator", "", "", "site"},
	{"/Admin", "", "", "site"},
	{"/secret/x", "", "", "503"},
	{"/a\"<>^`{|}b", "", "", "site"},
	// one path in several spellings
	{"//", "/", "", "site"},
	{"/shop//tea", "/shop/tea", "", "shop"},
	{"/s3/bucket//key", "/s3/bucket/key", "", "site"},
	{"/img/https://a.test/b.png", "/img/https:/a.test/b.png", "", "site"},
	{"/./shop/./tea", "/shop/tea", "/./shop/./tea", "shop"},
	{"/shop/../admin", "/admin", "/shop/../admin", "401"},
	{"//admin", "/admin", "", "401"},
	{"/%61dmin", "/admin", "", "401"},
	{"/%41dmin", "/Admin", "", "site"},
	{"/shop/%2e%2e/admin", "/admin", "/shop/../admin", "401"},
	{"/shop/.%2E/secret", "/secret", "/shop/../secret", "503"},
	{"/caf%c3%a9", "/caf%C3%A9", "/caf\u00e9", "site"},
	{"/caf\u00e9", "/caf%C3%A9", "/caf\u00e9", "site"},
	{"/caf\xe9", "/caf%E9", "/caf\xe9", "site"},
	{"/a%20b%09", "", "/a\u0020b\t", "site"},
	{"/100%25", "", "/100%", "site"},
	// escaped slashes and backslashes
	{"/api/queues/%2F/q", "", "/api/queues/q", "site"},
	{"/api/queues/%2f/q", "/api/queues/%2F/q", "/api/queues/q", "site"},
	{"/api/v4/projects/group%2Fproject", "", "/api/v4/projects/group/project", "site"},
	{"/@scope%2fpackage", "/@scope%2Fpackage", "/@scope/package", "site"},
	{"/a%5Cb", "", "/a/b", "site"},
	{"/a\\b", "/a%5Cb", "/a/b", "site"},
	{"/admin\\x", "/admin%5Cx", "/admin/x", "401"},
	{"/\\admin", "/%5Cadmin", "/admin", "401"},
	{"/shop/..\\admin", "/shop/..%5Cadmin", "/admin /shop/../admin", "401"},
	{"/admin%2Fx", "", "/admin/x", "401"},
	{"/%2Fadmin", "", "/admin", "401"},
	{"/admin%5cx", "/admin%5Cx", "/admin/x", "401"},
	{"/shop/..%2Fadmin", "", "/admin /shop/../admin", "401"},
	{"/shop/..%5Cadmin", "", "/admin /shop/../admin", "401"},
	{"/shop/%2e%2e%2fsecret", "/shop/..%2Fsecret", "/secret /shop/../secret", "503"},
	{"/shop/..%2Fshop/tea", "", "/shop/tea /shop/../shop/tea", "shop"},
	// encoded twice, and more
	{"/a%252Fb", "", "/a%2Fb /a/b", "site"},
	{"/%2561dmin", "", "/%61dmin /admin", "401"},
	{"/%25%36%31dmin", "/%2561dmin", "/%61dmin /admin", "401"},
	{"/%252561dmin", "", "/%2561dmin /admin", "401"},
	{"/admin%252fx", "", "/admin%2fx /admin/x", "401"},
	{"/shop/%252e%252e/secret", "", "/shop/%2e%2e/secret /secret /shop/../secret", "503"},
	// parameters
	{"/shop/tea;jsessionid=1", "", "/shop/tea", "shop"},
	{"/admin;x", "", "/admin", "401"},
	{"/admin;x=1/y", "", "/admin/y", "401"},
	{"/;x/admin", "", "/admin", "401"},
	{"/admin%3Bx", "", "/admin;x /admin", "401"},
	{"/admin;x%2Fy", "", "/admin /admin/y", "401"},
	{"/secret;x", "", "/secret", "503"},
	{"/old;x", "", "/old", "302"},
	{"/shop/..;/admin", "", "/admin /shop/../admin", "401"},
	{"/shop/.;/tea", "", "/shop/tea /shop/./tea", "shop"},
	{"/admin//../shop/tea", "/shop/tea", "/admin/shop/tea /admin/../shop/tea", "401"},
	// dot segments that leave a protected path again
	{"/admin/../x", "/x", "/admin/../x", "401"},
	{"/admin/%2e%2e/x", "/x", "/admin/../x", "401"},
	{"/admin/..;a/x", "", "/x /admin/../x", "401"},
	{"/%2561dmin/../x", "/x", "/%61dmin/../x /admin/../x", "401"},
	{"/admin%252f..%252fx", "", "/admin%2f..%2fx /x /admin/../x", "401"},
	{"/secret/./../x", "/x", "/secret/./../x", "503"},
	{"/shop/../x", "/x", "/shop/../x", "site"},
	// a query
	{"/admin?x", "", "", "401"},
	{"/admin%2F?x", "", "/admin/?x", "401"},
	{"/?/admin", "", "", "site"},
	// no path at all
	{"/a%00b", "", "", "400"},
	{"/a%2500b", "", "", "400"},
	{"/a%0d%0ab", "", "", "400"},
	{"/a%250ab", "", "", "400"},
	{"/%c0%afadmin", "", "", "400"},
	{"/%e0%80%af", "", "", "400"},
	{"/..", "", "", "400"},
	{"/shop/../../admin", "", "", "400"},
	{"/..%2Fadmin", "", "", "400"},
	{"/..;/admin", "", "", "400"},
	{"/%", "", "", "400"},
	{"/%u002fadmin", "", "", "400"},
	{"/a\x01b", "", "", "400"},
}

func digest(key string) farm.AuthKey {
	sum := sha256.Sum256([]byte(key))
	return farm.AuthKey(hex.EncodeToString(sum[:]))
}

func spelled(b *l7test.Backend) []farm.Service {
	admin, secret, old := l7test.Service("admin", b.Addr), l7test.Service("secret"), l7test.Service("old")
	shop, site := l7test.Service("shop", b.Addr), l7test.Service("site", b.Addr)
	admin.URL, secret.URL, old.URL, shop.URL = "^/admin(/|$)", "^/secret(/|$)", "^/old$", "^/shop/"
	admin.Auth = &farm.Auth{Header: "X-Key", Keys: []farm.AuthKey{digest("a-key-of-16-or-more")}}
	old.Redirect = "https://a.test/new"
	for i, s := range []*farm.Service{&admin, &secret, &old, &shop, &site} {
		s.ID = uint32(i + 1)
		for k := range s.Backends {
			s.Backends[k].ID = uint32(i + 1)
		}
	}
	shop.AddRequest, site.AddRequest, admin.AddRequest = l7test.Add("X-Of: shop"), l7test.Add("X-Of: site"), l7test.Add("X-Of: admin")
	return []farm.Service{admin, secret, old, shop, site}
}

// TestEverySpellingOfAPath checks that the backend gets the path byte for byte, and that its
// canonical form selects the service. Protection of a path must apply to every form in which
// a backend may read it.
func TestEverySpellingOfAPath(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, l7test.Answer(ok))
	a := l7test.New(t, 1)
	addr := a.Serve(nil, spelled(b)...)
	if len(spellings) < 60 {
		t.Errorf("only %d spellings", len(spellings))
	}
	for _, s := range spellings {
		for _, version := range []string{"HTTP/1.1", "HTTP/2.0"} {
			before := len(b.Received())
			status := askSpelling(t, addr, version, s.sent)
			if s.outcome[0] >= '0' && s.outcome[0] <= '9' {
				if fmt.Sprint(status) != s.outcome || len(b.Received()) != before {
					t.Errorf("%s %q: status %d, want %s; the backend got %q", version, s.sent, status, s.outcome, b.Received()[before:])
				}
				continue
			}
			if line := b.RequestLine(); status != 200 || line != "GET "+s.sent+" HTTP/1.1" || b.Field("X-Of") != s.outcome {
				t.Errorf("%s %q: status %d, service %q, the backend got %q", version, s.sent, status, b.Field("X-Of"), line)
			}
		}
		explainSpelling(t, a, s)
	}
}

// askSpelling returns the status of a request.
func askSpelling(t *testing.T, addr, version, path string) (status int) {
	t.Helper()
	if version == "HTTP/1.1" {
		return l7test.Dial(t, addr).Send("GET " + path + " HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n").Get().StatusCode
	}
	c := l7test.DialFrames(t, addr)
	c.Ask(1, true, "GET", path)
	frame := c.Next()
	if strings.HasPrefix(frame, "1 RST_STREAM") { // refused by HTTP/2 itself
		return 400
	}
	_, _ = fmt.Sscanf(frame, "1 HEADERS %d", &status)
	return status
}

// explainSpelling compares the forms that an explanation shows.
func explainSpelling(t *testing.T, a *l7test.Appliance, s spelling) {
	t.Helper()
	e, err := a.Engine.Explain(&explain.Question{Farm: 1, URL: s.sent, Headers: []string{"Host: a.test"}})
	if err != nil {
		if s.outcome != "400" {
			t.Errorf("%q is not explained: %v", s.sent, err)
		}
		return
	}
	if s.outcome == "400" {
		if e.Result.Status != 400 {
			t.Errorf("%q: explained as %+v", s.sent, e.Result)
		}
		return
	}
	canonical, sent := s.canonical, s.sent
	if canonical == "" {
		canonical, sent = s.sent, ""
	}
	if got := e.Request; got.Path != canonical || got.Sent != sent || strings.Join(got.Readings, " ") != s.readings {
		t.Errorf("%q: the explanation shows %q, readings %q, sent %q", s.sent, got.Path, got.Readings, got.Sent)
	}
	if got := fmt.Sprint(e.Result.Status); s.outcome[0] >= '0' && s.outcome[0] <= '9' && got != s.outcome {
		t.Errorf("%q: explained as %+v", s.sent, e.Result)
	}
}

// The service of the canonical path forwards a request that satisfies the services of its
// readings: unchanged, but without their credentials.
func TestAKeyOpensEverySpelling(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, l7test.Answer(ok))
	addr := l7test.New(t, 1).Serve(nil, spelled(b)...)
	for path, service := range map[string]string{"/admin": "admin", "/admin;x": "site", "/shop/..%2Fadmin": "shop", "/admin?x": "site"} {
		res := l7test.Dial(t, addr).Send("GET " + path + " HTTP/1.1\r\nHost: a.test\r\nX-Key: a-key-of-16-or-more\r\n\r\n").Get()
		if res.StatusCode != 200 || b.RequestLine() != "GET "+path+" HTTP/1.1" || b.Field("X-Of") != service || b.Field("X-Key") != "" {
			t.Errorf("%s: %d, service %q, key %q, %q", path, res.StatusCode, b.Field("X-Of"), b.Field("X-Key"), b.RequestLine())
		}
	}
}

// A backend that gets the canonical path sees no dot segments. So a service does not protect
// paths that only pass through its prefix.
func TestCanonicalPathsAreProtectedWithoutTheirDots(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, l7test.Answer(ok))
	a := l7test.New(t, 1)
	for policy, want := range map[farm.PathPolicy]int{farm.PathAsIs: 401, farm.PathCanonical: 200, farm.PathStrict: 200} {
		addr := a.Serve(func(h *farm.HTTP) { h.PathPolicy = policy }, spelled(b)...)
		if status := askSpelling(t, addr, "HTTP/1.1", "/admin/../x"); status != want {
			t.Errorf("%s: %d, want %d", policy, status, want)
		}
		if status := askSpelling(t, addr, "HTTP/1.1", "/x/../admin"); status != 401 {
			t.Errorf("%s: a path into the protected service: %d", policy, status)
		}
	}
}

func TestPathPoliciesSayWhatBackendsGet(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, l7test.Answer(ok))
	a := l7test.New(t, 1)
	for _, c := range []struct {
		policy     farm.PathPolicy
		sent, gets string // "" for a 400
	}{
		{"", "/a//b/%2f", "/a//b/%2f"}, {farm.PathAsIs, "/a//b/%2f", "/a//b/%2f"},
		{farm.PathCanonical, "/a//b/%2f?//", "/a/b/%2F?//"}, {farm.PathCanonical, "/a/%61;x", "/a/a;x"}, {farm.PathCanonical, "/a%252f", "/a%252f"},
		{farm.PathStrict, "/a//b;x/./c%20", "/a/b;x/c%20"}, {farm.PathStrict, "/a%2fb", ""}, {farm.PathStrict, "/a%5cb", ""}, {farm.PathStrict, "/a%2541", ""},
		{farm.PathStrict, "/a\\b", ""}, {farm.PathAsIs, "/a\\b", "/a\\b"}, {farm.PathCanonical, "/a\\b", "/a%5Cb"},
		{farm.PathStrict, "/a/..;x/b", ""}, {farm.PathStrict, "/\xff", ""}, {farm.PathStrict, "/a?%2f%252f", "/a?%2f%252f"},
	} {
		addr := a.Serve(func(h *farm.HTTP) { h.PathPolicy = c.policy }, l7test.Service("web", b.Addr))
		for _, version := range []string{"HTTP/1.1", "HTTP/2.0"} {
			switch status := askSpelling(t, addr, version, c.sent); {
			case c.gets == "" && status != 400:
				t.Errorf("%s, %s %q: %d", c.policy, version, c.sent, status)
			case c.gets != "" && (status != 200 || b.RequestLine() != "GET "+c.gets+" HTTP/1.1"):
				t.Errorf("%s, %s %q: %d, the backend got %q", c.policy, version, c.sent, status, b.RequestLine())
			}
		}
	}
}
