package proxy_test

import (
	"strings"
	"testing"

	"github.com/sluicelb/sluice/l7/compress/compresstest"
	"github.com/sluicelb/sluice/l7/l7test"
)

// Digests of the backend's bytes are invalid for the client's. They are removed from
// trailers as from heads.
func TestDigestsInTrailersGoWithTheBytesTheyAreOf(t *testing.T) {
	t.Parallel()
	text := string(compresstest.Text(5000, 1))
	for lines, want := range map[string]string{
		"Digest: a\r\n":               "",
		"X-Sum: 1\r\n":                "X-Sum: 1\r\n",
		"Digest: a\r\nX-Sum: 1\r\n":   "X-Sum: 1\r\n",
		"X-Sum: 1\r\nETag: \"b\"\r\n": "X-Sum: 1\r\n",
		"content-digest: a\r\nX-Sum: 1\r\nX-T: 2\r\nRepr-Digest: c\r\n": "X-Sum: 1\r\nX-T: 2\r\n",
	} {
		b := l7test.NewBackend(t, l7test.Answer("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n"+
			"Trailer: Digest, X-Sum, ETag, Content-Digest, Repr-Digest, X-T\r\n\r\n1388\r\n"+text+"\r\n0\r\n"+lines+"\r\n"))
		addr := l7test.New(t, 1).Serve(nil, compressing(b.Addr))
		request := strings.Replace(encoding("/", "gzip"), "\r\n\r\n", "\r\nTE: trailers\r\nConnection: TE, close\r\n\r\n", 1)
		if got := l7test.Dial(t, addr).Send(request).Rest(); !strings.HasSuffix(got, "\r\n0\r\n"+want+"\r\n") {
			t.Errorf("%q: the answer ends in %q, want %q", lines, got[max(0, len(got)-60):], want)
		}
		p := l7test.DialFrames(t, addr)
		p.Ask(1, true, "GET", "/", "accept-encoding", "gzip", "te", "trailers")
		last := ""
		for !strings.HasSuffix(last, " end") {
			last = p.Next()
		}
		first, _, _ := strings.Cut(strings.ToLower(want), "\r\n")
		if trailers := strings.HasPrefix(last, "1 TRAILERS "+strings.Replace(first, ": ", "=", 1)); trailers != (want != "") {
			t.Errorf("%q: the stream ends in %q, want %q", lines, last, want)
		}
	}
}
