package proxy_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/l7test"
)

// The settings of a farm apply to HTTP/2 as to HTTP/1.
func TestHTTP2FollowsRulesAndLimits(t *testing.T) {
	t.Parallel()
	shown := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		w.Header().Set("Server", "x/1")
		w.Header().Set("Location", "/login")
		fmt.Fprintf(w, "%s %s|%s|%s|%d %v", r.URL, r.Header["X-Secret"], r.Header.Get("X-Added"), r.Header.Get("Referer"), len(body), err)
	})
	l7test.EachWay(t, shown, func(t *testing.T, a *l7test.Appliance, c *http.Client, url string) {
		ask := func(path string, body io.Reader) (*http.Response, string) {
			t.Helper()
			r, err := http.NewRequest("POST", url+path, body)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("X-Secret", "1")
			r.Header.Set("Referer", "http://old.test/")
			r.Header.Set("Expect", "100-continue")
			res, err := c.Do(r)
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			text, _ := io.ReadAll(res.Body)
			_ = res.Body.Close()
			return res, string(text)
		}
		plain := func(n int) io.Reader { return bytes.NewReader(make([]byte, n)) }
		uncounted := func(n int) io.Reader { return struct{ io.Reader }{plain(n)} }
		for _, body := range []io.Reader{plain(1000), uncounted(1000)} {
			res, text := ask("/shop/tea?x", body)
			if text != "/tea?x []|yes|http://new.test/|1000 <nil>" {
				t.Errorf("the backend got %q", text)
			}
			if res.Header.Get("Location") != "/shop/login" || res.Header.Get("Server") != "" || res.Header.Get("X-Out") != "1" || len(res.Cookies()) != 1 {
				t.Errorf("the client got %v", res.Header)
			}
		}
		for name, c := range map[string]struct {
			path   string
			body   io.Reader
			status int
		}{
			"path": {"/SHOP", plain(1), 400}, "body": {"/shop", plain(1001), 413}, "uncounted body": {"/shop", uncounted(2000), 413},
			"head": {"/shop?" + strings.Repeat("x", 900), plain(1), 414},
		} {
			if res, _ := ask(c.path, c.body); res.StatusCode != c.status {
				t.Errorf("%s: %d, want %d", name, res.StatusCode, c.status)
			}
		}
	}, func(h *farm.HTTP) {
		h.MaxBody, h.MaxHead, h.CheckURL, h.Continue = 1000, 800, "^/[a-z]", farm.ContinueIgnore
		h.RemoveRequest, h.RemoveResponse = remove("^x-secret:"), remove("^server:")
		h.AddRequest, h.AddResponse = add("X-Added: yes"), add("X-Out: 1")
		h.ReplaceRequest = []farm.HeaderReplace{{Header: "^referer$", Match: "old", Replace: "new"}}
		h.RewriteLocation = farm.RewriteEnabledPath
		h.Services[0].Rewrites = []farm.URLRewrite{{Pattern: "^/shop/", Replace: "/"}}
		h.Services[0].Cookie = &farm.CookieInsert{Name: "LB"}
	})
}
