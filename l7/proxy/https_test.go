package proxy_test

import (
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/l7test"
)

func TestCookieIsSecureAndLocationsAreHTTPSWithTLS(t *testing.T) {
	t.Parallel()
	var location atomic.Value
	b := l7test.NewBackend(t, func(c *l7test.Recorder) {
		for {
			if _, err := c.Head(); err != nil {
				return
			}
			c.Say("HTTP/1.1 302 Found\r\nLocation: " + location.Load().(string) + "\r\nContent-Length: 0\r\n\r\n")
		}
	})
	a := l7test.New(t, 1)
	addr := a.Serve(a.HTTPS(l7test.Certificate(t, "a.pem", "a.test")), l7test.Inserting(b.Addr))
	for mode, want := range map[farm.RewriteLocation][3]string{
		farm.RewriteEnabled:         {"https://a.test/x", "https://a.test/x", "http://else.test/x"},
		farm.RewriteEnabledBackends: {"https://a.test/x", "http://A.test:80/x", "http://else.test/x"},
		farm.RewriteDisabled:        {"http://" + b.Addr + "/x", "http://A.test:80/x", "http://else.test/x"},
	} {
		edit := a.HTTPS(a.Certificates...)
		a.Serve(func(h *farm.HTTP) { edit(h); h.RewriteLocation = mode }, l7test.Inserting(b.Addr))
		for i, said := range []string{"http://" + b.Addr + "/x", "http://A.test:80/x", "http://else.test/x"} {
			location.Store(said)
			res, err := browser(t, addr, nil).Get("https://a.test/")
			if err != nil {
				t.Fatal(err)
			}
			_ = res.Body.Close()
			if got := res.Header.Get("Location"); got != want[i] {
				t.Errorf("%s: %s became %s, want %s", mode, said, got, want[i])
			}
			if c := res.Cookies(); len(c) != 1 || !c[0].Secure || c[0].SameSite != http.SameSiteLaxMode {
				t.Errorf("cookies %v", c)
			}
		}
	}
}
