package http1_test

import (
	"testing"

	"github.com/sluicelb/sluice/l7/http1"
)

func TestOnlyAnnouncedTrailersPass(t *testing.T) {
	for announced, want := range map[string]string{
		"":            "",
		"X-Sum":       "X-Sum: 1\r\n\r\n",
		"x-sum":       "X-Sum: 1\r\n\r\n",
		"Other,X-Sum": "X-Sum: 1\r\n\r\n",
		"Other":       "",
		"X-Su":        "",
	} {
		var c http1.Chunked
		c.Reset(true)
		c.Allow([]byte(announced))
		body := []byte("0\r\nX-Sum: 1\r\nX-Else: 2\r\n\r\n")
		if _, _, err := c.Scan(body); err != nil || !c.Done() {
			t.Fatal(err)
		}
		if got := string(c.Trailer()); got != want {
			t.Errorf("announced %q: kept %q, want %q", announced, got, want)
		}
	}
}

func TestTrailersThatMayNotBeAreNotAnnounced(t *testing.T) {
	for value, want := range map[string]string{
		"X-Sum":                 "X-Sum",
		"X-Sum, Content-Length": "",
		"Transfer-Encoding":     "",
		"Host":                  "",
		"X_Forwarded_For":       "",
		"Set-Cookie":            "",
		"a b":                   "",
	} {
		r := mustParse(t, lf("POST / HTTP/1.1\nHost: a\nTransfer-Encoding: chunked\nTrailer: "+value+"\n\n"))
		if got := string(r.Trailers()); got != want {
			t.Errorf("%q: announces %q, want %q", value, got, want)
		}
	}
	r := mustParse(t, lf("POST / HTTP/1.1\nHost: a\nContent-Length: 1\nTrailer: X\n\n"))
	if got := r.Trailers(); got != nil {
		t.Errorf("a counted body announces %q", got)
	}
}
