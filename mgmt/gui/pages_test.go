package gui_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/sluicelb/sluice/mgmt/gui"
)

var built = fstest.MapFS{
	"index.html":       {Data: []byte(`<meta name="nonce" content="__NONCE__"><meta name="oidc" content="__OIDC__"><script src="/gui/assets/a.js"></script>`)},
	"assets/a.js":      {Data: []byte("plain")},
	"assets/a.js.gz":   {Data: []byte("packed")},
	"icon.svg":         {Data: []byte("<svg/>")},
	"assets/b.css":     {Data: []byte("b{}")},
	"assets/noext/.in": {Data: []byte("no")},
}

func off() bool { return false }

func get(p *gui.Pages, path, encoding string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	if encoding != "" {
		r.Header.Set("Accept-Encoding", encoding)
	}
	w := httptest.NewRecorder()
	w.Header().Set("Access-Control-Allow-Origin", "https://x")
	w.Header().Set("Access-Control-Allow-Credentials", "true")
	w.Header().Set("Cache-Control", "no-cache, no-store")
	w.Header().Set("Pragma", "no-cache")
	w.Header().Set("Expires", "-1")
	p.ServeHTTP(w, r)
	return w
}

func TestGUIPathsReturnThePageOrAFile(t *testing.T) {
	p := gui.New(built, off)
	for path, want := range map[string]struct {
		status           int
		kind, body, keep string
	}{
		"/gui/":              {200, "text/html; charset=utf-8", "<meta", "no-cache, no-store"},
		"/gui/farms/shop":    {200, "text/html; charset=utf-8", "<meta", "no-cache, no-store"},
		"/gui/assets/a.js":   {200, "text/javascript; charset=utf-8", "plain", "public, max-age=31536000, immutable"},
		"/gui/assets/b.css":  {200, "text/css; charset=utf-8", "b{}", "public, max-age=31536000, immutable"},
		"/gui/icon.svg":      {200, "image/svg+xml", "<svg/>", "no-cache, no-store"},
		"/gui/assets/c.js":   {404, "text/plain; charset=utf-8", "404", ""},
		"/gui/assets/noext":  {404, "text/plain; charset=utf-8", "404", ""},
		"/gui/assets/":       {404, "text/plain; charset=utf-8", "404", ""},
		"/gui/index.html":    {404, "text/plain; charset=utf-8", "404", ""},
		"/gui/assets":        {200, "text/html; charset=utf-8", "<meta", "no-cache, no-store"},
		"/gui/../secret.txt": {200, "text/html; charset=utf-8", "<meta", "no-cache, no-store"},
		// Names may have dots.
		"/gui/farms/shop.example.org": {200, "text/html; charset=utf-8", "<meta", "no-cache, no-store"},
		"/gui/farms/a.js":             {200, "text/html; charset=utf-8", "<meta", "no-cache, no-store"},
		"/gui/farms/index.html":       {200, "text/html; charset=utf-8", "<meta", "no-cache, no-store"},
	} {
		w := get(p, path, "")
		if w.Code != want.status || w.Header().Get("Content-Type") != want.kind || !strings.HasPrefix(w.Body.String(), want.body) ||
			want.keep != "" && w.Header().Get("Cache-Control") != want.keep || w.Header().Get("Access-Control-Allow-Origin")+w.Header().Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("%s: %d %v %q", path, w.Code, w.Header(), w.Body)
		}
	}
	for _, path := range []string{"/", "/gui"} {
		if w := get(p, path, ""); w.Code != http.StatusFound || w.Header().Get("Location") != gui.Base {
			t.Errorf("%s: %d to %q", path, w.Code, w.Header().Get("Location"))
		}
	}
}

func TestPageHasAStrictContentSecurityPolicy(t *testing.T) {
	p := gui.New(built, off)
	seen := map[string]bool{}
	for range 2 {
		w := get(p, "/gui/", "gzip")
		m := regexp.MustCompile(`content="([^"]{20,})"`).FindStringSubmatch(w.Body.String())
		policy := w.Header().Get("Content-Security-Policy")
		if m == nil || seen[m[1]] || !strings.Contains(policy, "style-src 'self' 'nonce-"+m[1]+"'") {
			t.Fatalf("%s: %s", policy, w.Body)
		}
		seen[m[1]] = true
		if opener := w.Header().Get("Cross-Origin-Opener-Policy"); opener != "same-origin" {
			t.Errorf("pages that open this one: got %q, want %q", opener, "same-origin")
		}
		for _, want := range []string{"default-src 'none'", "script-src 'self';", "connect-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'"} {
			if !strings.Contains(policy, want) {
				t.Errorf("%s is not in %s", want, policy)
			}
		}
	}
}

func TestFilesAreCompressedOnRequest(t *testing.T) {
	p := gui.New(built, off)
	for encoding, want := range map[string]string{"gzip, br": "packed", "br": "plain", "": "plain"} {
		w := get(p, "/gui/assets/a.js", encoding)
		if w.Body.String() != want || (w.Header().Get("Content-Encoding") == "gzip") != (want == "packed") || w.Header().Get("Vary") != "Accept-Encoding" {
			t.Errorf("%q: %q %v", encoding, w.Body, w.Header())
		}
	}
	for path, want := range map[string]string{"/gui/assets/a.js": "", "/gui/icon.svg": "no-cache"} { // the header of files that are cached forever is complete
		if h := get(p, path, "").Header(); h.Get("Pragma") != want || (h.Get("Expires") == "") != (want == "") {
			t.Errorf("%s: %v", path, h)
		}
	}
	if w := get(p, "/gui/assets/b.css", "gzip"); w.Body.String() != "b{}" || w.Header().Get("Content-Encoding") != "" {
		t.Errorf("a file that is not compressed: %q %v", w.Body, w.Header())
	}
}

func TestMissingGUIIsExplained(t *testing.T) {
	if gui.Built(fstest.MapFS{".keep": {}}) || !gui.Built(built) {
		t.Error("Built does not match the files")
	}
	w := get(gui.New(fstest.MapFS{".keep": {}}, off), "/gui/", "")
	if w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), "make build") || w.Header().Get("Content-Type") != "text/plain; charset=utf-8" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestOnlyReadingBelowTheBaseIsForTheGUI(t *testing.T) {
	for request, want := range map[string]bool{
		"GET /": true, "HEAD /": true, "GET /gui": true, "GET /gui/": true, "GET /gui/farms/a": true,
		"POST /gui/": false, "GET /guide": false, "GET /api/v4.0/farms": false, "GET /metrics": false,
	} {
		method, path, _ := strings.Cut(request, " ")
		if got := gui.Serves(httptest.NewRequest(method, path, nil)); got != want {
			t.Errorf("%s: got %t, want %t", request, got, want)
		}
	}
}

func TestPageShowsWhetherOIDCIsEnabled(t *testing.T) {
	on := false
	p := gui.New(built, func() bool { return on })
	for _, on = range []bool{true, false} {
		if body := get(p, "/gui/", "").Body.String(); !strings.Contains(body, fmt.Sprintf(`name="oidc" content="%t"`, on)) {
			t.Errorf("%t: %s", on, body)
		}
	}
}
