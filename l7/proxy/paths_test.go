package proxy_test

import (
	"cmp"
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

// spelling is a path as sent by a client, with the forms that rules see and the outcome for
// each path policy. An outcome is the service that forwards the request, or a status.
type spelling struct {
	sent      string
	canonical string // "" if unchanged

	readings, asis string // asis: readings of the path as sent, separated by spaces

	// canonical and strict: the backend gets the canonical path, and rules see the readings
	// of that
	cleaned, outcome, strict string
}

// In this farm /admin needs a key, /secret has no backends, /old redirects, and /shop/ and
// everything else are open.
var spellings = []spelling{
	// plain
	{"/", "", "", "site", "", "site", "site"},
	{"/shop/tea?q=%2F..;//", "", "", "shop", "", "shop", "shop"},
	{"/admin", "", "", "401", "", "401", "401"},
	{"/admin/x", "", "", "401", "", "401", "401"},
	{"/administrator", "", "", "site", "", "site", "site"},
	{"/Admin", "", "", "site", "", "site", "site"},
	{"/secret/x", "", "", "503", "", "503", "503"},
	{"/a\"<>^`{|}b", "", "", "site", "", "site", "site"},
	// one path in several spellings
	{"//", "/", "", "site", "", "site", "site"},
	{"/shop//tea", "/shop/tea", "", "shop", "", "shop", "shop"},
	{"/s3/bucket//key", "/s3/bucket/key", "", "site", "", "site", "site"},
	{"/img/https://a.test/b.png", "/img/https:/a.test/b.png", "", "site", "", "site", "site"},
	{"/./shop/./tea", "/shop/tea", "/./shop/./tea", "shop", "", "shop", "shop"},
	{"/shop/../admin", "/admin", "/shop/../admin", "401", "", "401", "401"},
	{"//admin", "/admin", "", "401", "", "401", "401"},
	{"/%61dmin", "/admin", "", "401", "", "401", "401"},
	{"/%41dmin", "/Admin", "", "site", "", "site", "site"},
	{"/shop/%2e%2e/admin", "/admin", "/shop/../admin", "401", "", "401", "401"},
	{"/shop/.%2E/secret", "/secret", "/shop/../secret", "503", "", "503", "503"},
	{"/caf%c3%a9", "/caf%C3%A9", "/caf\u00e9", "site", "/caf\u00e9", "site", "site"},
	{"/caf\u00e9", "/caf%C3%A9", "/caf\u00e9", "site", "/caf\u00e9", "site", "site"},
	{"/caf%e9", "/caf%E9", "/caf\xe9", "site", "/caf\xe9", "site", "400"},
	{"/caf\xe9", "/caf%E9", "/caf\xe9", "site", "/caf\xe9", "site", "400"},
	{"/a%20b%09", "", "/a\u0020b\t", "site", "/a\u0020b\t", "site", "site"},
	{"/100%25", "", "/100%", "site", "/100%", "site", "site"},
	// escaped slashes and backslashes
	{"/api/queues/%2F/q", "", "/api/queues/q", "site", "/api/queues/q", "site", "400"},
	{"/api/queues/%2f/q", "/api/queues/%2F/q", "/api/queues/q", "site", "/api/queues/q", "site", "400"},
	{"/api/v4/projects/group%2Fproject", "", "/api/v4/projects/group/project", "site", "/api/v4/projects/group/project", "site", "400"},
	{"/@scope%2fpackage", "/@scope%2Fpackage", "/@scope/package", "site", "/@scope/package", "site", "400"},
	{"/a%5Cb", "", "/a/b", "site", "/a/b", "site", "400"},
	{"/a\\b", "/a%5Cb", "/a/b", "site", "/a/b", "site", "400"},
	{"/admin\\x", "/admin%5Cx", "/admin/x", "401", "/admin/x", "401", "400"},
	{"/\\admin", "/%5Cadmin", "/admin", "401", "/admin", "401", "400"},
	{"/shop/..\\admin", "/shop/..%5Cadmin", "/admin /shop/../admin", "401", "/admin /shop/../admin", "401", "400"},
	{"/admin%2Fx", "", "/admin/x", "401", "/admin/x", "401", "400"},
	{"/%2Fadmin", "", "/admin", "401", "/admin", "401", "400"},
	{"/admin%5cx", "/admin%5Cx", "/admin/x", "401", "/admin/x", "401", "400"},
	{"/shop/..%2Fadmin", "", "/admin /shop/../admin", "401", "/admin /shop/../admin", "401", "400"},
	{"/shop/..%5Cadmin", "", "/admin /shop/../admin", "401", "/admin /shop/../admin", "401", "400"},
	{"/shop/%2e%2e%2fsecret", "/shop/..%2Fsecret", "/secret /shop/../secret", "503", "/secret /shop/../secret", "503", "400"},
	{"/shop/..%2Fshop/tea", "", "/shop/tea /shop/../shop/tea", "shop", "/shop/tea /shop/../shop/tea", "shop", "400"},
	// encoded twice, and more
	{"/a%252Fb", "", "/a%2Fb /a/b", "site", "/a%2Fb /a/b", "site", "400"},
	{"/%2561dmin", "", "/%61dmin /admin", "401", "/%61dmin /admin", "401", "400"},
	{"/%25%36%31dmin", "/%2561dmin", "/%61dmin /admin", "401", "/%61dmin /admin", "401", "400"},
	{"/%252561dmin", "", "/%2561dmin /admin", "401", "/%2561dmin /admin", "401", "400"},
	{"/admin%252fx", "", "/admin%2fx /admin/x", "401", "/admin%2fx /admin/x", "401", "400"},
	{"/shop/%252e%252e/secret", "", "/shop/%2e%2e/secret /secret /shop/../secret", "503", "/shop/%2e%2e/secret /secret /shop/../secret", "503", "400"},
	// parameters
	{"/shop/tea;jsessionid=1", "", "/shop/tea", "shop", "/shop/tea", "shop", "shop"},
	{"/admin;x", "", "/admin", "401", "/admin", "401", "401"},
	{"/admin;x=1/y", "", "/admin/y", "401", "/admin/y", "401", "401"},
	{"/;x/admin", "", "/admin", "401", "/admin", "401", "401"},
	{"/admin%3Bx", "", "/admin;x /admin", "401", "/admin;x /admin", "401", "401"},
	{"/admin;x%2Fy", "", "/admin /admin/y", "401", "/admin /admin/y", "401", "400"},
	{"/secret;x", "", "/secret", "503", "/secret", "503", "503"},
	{"/old;x", "", "/old", "302", "/old", "302", "302"},
	{"/shop/..;/admin", "", "/admin /shop/../admin", "401", "/admin /shop/../admin", "401", "400"},
	{"/shop/..%3Bx/admin", "", "/shop/..;x/admin /admin /shop/../admin", "401", "/shop/..;x/admin /admin /shop/../admin", "401", "400"},
	{"/shop/.;/tea", "", "/shop/tea /shop/./tea", "shop", "/shop/tea /shop/./tea", "shop", "400"},
	{"/admin//../shop/tea", "/shop/tea", "/admin/shop/tea /admin/../shop/tea", "401", "", "shop", "shop"},
	// dot segments that leave a protected path again
	{"/admin/../x", "/x", "/admin/../x", "401", "", "site", "site"},
	{"/admin/%2e%2e/x", "/x", "/admin/../x", "401", "", "site", "site"},
	{"/admin/..;a/x", "", "/x /admin/../x", "401", "/x /admin/../x", "401", "400"},
	{"/%2561dmin/../x", "/x", "/%61dmin/../x /admin/../x", "401", "", "site", "400"},
	{"/admin%252f..%252fx", "", "/admin%2f..%2fx /x /admin/../x", "401", "/admin%2f..%2fx /x /admin/../x", "401", "400"},
	{"/secret/./../x", "/x", "/secret/./../x", "503", "", "site", "site"},
	{"/shop/../x", "/x", "/shop/../x", "site", "", "site", "site"},
	// dot segments that remove a segment with an escaped slash or backslash
	{"/shop/a%2Fb/../tea", "/shop/tea", "/shop/a/tea /shop/a/b/../tea", "shop", "", "shop", "400"},
	{"/shop/a%2Fb/../..%2Fadmin", "/shop/..%2Fadmin", "/shop/admin /shop/a/b/../../admin /admin /shop/../admin", "401", "/admin /shop/../admin", "401", "400"},
	{"/shop/a%5Cb/../..%5Csecret", "/shop/..%5Csecret", "/shop/secret /shop/a/b/../../secret /secret /shop/../secret", "503", "/secret /shop/../secret", "503", "400"},
	{"/admin/a%2Fb/../..%2Fx", "/admin/..%2Fx", "/admin/x /admin/a/b/../../x /x /admin/../x", "401", "/x /admin/../x", "401", "400"},
	{"/x/admin%2F../y/../z", "/x/admin%2F../z", "/x/z /x/admin/../y/../z /x/admin/../z", "site", "/x/z /x/admin/../z", "site", "400"},
	{"/admin%2F..%2Fx", "", "/x /admin/../x", "401", "/x /admin/../x", "401", "400"},
	{"/admin%5c..%5cx", "/admin%5C..%5Cx", "/x /admin/../x", "401", "/x /admin/../x", "401", "400"},
	// a query
	{"/admin?x", "", "", "401", "", "401", "401"},
	{"/admin%2F?x", "", "/admin/?x", "401", "/admin/?x", "401", "400"},
	{"/?/admin", "", "", "site", "", "site", "site"},
	// no path at all
	{"/a%00b", "", "", "400", "", "400", "400"},
	{"/a%2500b", "", "", "400", "", "400", "400"},
	{"/a%0d%0ab", "", "", "400", "", "400", "400"},
	{"/a%250ab", "", "", "400", "", "400", "400"},
	{"/%c0%afadmin", "", "", "400", "", "400", "400"},
	{"/%e0%80%af", "", "", "400", "", "400", "400"},
	{"/..", "", "", "400", "", "400", "400"},
	{"/shop/../../admin", "", "", "400", "", "400", "400"},
	{"/..%2Fadmin", "", "", "400", "", "400", "400"},
	{"/..;/admin", "", "", "400", "", "400", "400"},
	{"/..%3B/admin", "", "", "400", "", "400", "400"},
	{"/a/b%2Fc/../..%2F..%2Fadmin", "", "", "400", "", "400", "400"},
	{"/%", "", "", "400", "", "400", "400"},
	{"/%u002fadmin", "", "", "400", "", "400", "400"},
	{"/a\x01b", "", "", "400", "", "400", "400"},
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

// TestEverySpellingOfAPath checks the path that the backend gets for each path policy, and
// that the canonical form selects the service. Protection of a path must apply to every form
// in which a backend may read the path it gets.
func TestEverySpellingOfAPath(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, l7test.Answer(ok))
	a := l7test.New(t, 1)
	if len(spellings) < 60 {
		t.Errorf("only %d spellings", len(spellings))
	}
	for _, policy := range farm.PathPolicies() {
		addr := a.Serve(func(h *farm.HTTP) { h.PathPolicy = policy }, spelled(b)...)
		for _, s := range spellings {
			want := s.under(policy)
			for _, version := range []string{"HTTP/1.1", "HTTP/2.0"} {
				before := len(b.Received())
				status := askSpelling(t, addr, version, s.sent)
				if want.refused() {
					if fmt.Sprint(status) != want.outcome || len(b.Received()) != before {
						t.Errorf("%s, %s %q: status %d, want %s; the backend got %q", policy, version, s.sent, status, want.outcome, b.Received()[before:])
					}
					continue
				}
				if line := b.RequestLine(); status != 200 || line != "GET "+want.gets+" HTTP/1.1" || b.Field("X-Of") != want.outcome {
					t.Errorf("%s, %s %q: status %d, service %q, the backend got %q", policy, version, s.sent, status, b.Field("X-Of"), line)
				}
			}
			explainSpelling(t, a, policy, s.sent, want)
		}
	}
}

// expected is the treatment of a spelling.
type expected struct{ path, gets, readings, outcome string }

// refused reports whether the outcome is a status.
func (e expected) refused() bool { return e.outcome[0] >= '0' && e.outcome[0] <= '9' }

// under returns the treatment for a path policy.
func (s spelling) under(policy farm.PathPolicy) expected {
	path := cmp.Or(s.canonical, s.sent)
	switch policy {
	case farm.PathCanonical:
		return expected{path, path, s.cleaned, s.outcome}
	case farm.PathStrict:
		return expected{path, path, s.cleaned, s.strict}
	}
	return expected{path, s.sent, s.readings, s.asis}
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
func explainSpelling(t *testing.T, a *l7test.Appliance, policy farm.PathPolicy, sent string, want expected) {
	t.Helper()
	e, err := a.Engine.Explain(&explain.Question{Farm: 1, URL: sent, Headers: []string{"Host: a.test"}})
	if want.outcome == "400" {
		if err == nil && (e.Result.Status != 400 || e.Request != nil && e.Request.Sent != "") {
			t.Errorf("%s, %q: explained as %+v", policy, sent, e.Result)
		}
		return
	}
	if err != nil {
		t.Errorf("%s, %q is not explained: %v", policy, sent, err)
		return
	}
	if want.gets == want.path {
		want.gets = "" // is omitted
	}
	if got := e.Request; got.Path != want.path || got.Sent != want.gets || strings.Join(got.Readings, " ") != want.readings {
		t.Errorf("%s, %q: the explanation shows %q, readings %q, sent %q", policy, sent, got.Path, got.Readings, got.Sent)
	}
	if got := fmt.Sprint(e.Result.Status); want.refused() && got != want.outcome {
		t.Errorf("%s, %q: explained as %+v", policy, sent, e.Result)
	}
}

// A request in absolute form has the same path.
func TestPathsOfAbsoluteTargets(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, l7test.Answer(ok))
	a := l7test.New(t, 1)
	for _, policy := range farm.PathPolicies() {
		addr := a.Serve(func(h *farm.HTTP) { h.PathPolicy = policy }, spelled(b)...)
		for _, s := range spellings {
			want := s.under(policy)
			switch status := askSpelling(t, addr, "HTTP/1.1", "http://a.test"+s.sent); {
			case want.refused() && fmt.Sprint(status) != want.outcome:
				t.Errorf("%s, %q: status %d, want %s", policy, s.sent, status, want.outcome)
			case !want.refused() && (status != 200 || b.RequestLine() != "GET "+want.gets+" HTTP/1.1"):
				t.Errorf("%s, %q: status %d, the backend got %q", policy, s.sent, status, b.RequestLine())
			}
		}
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
