package proxy_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/l7/l7test"
)

// net/http sends trailers with http.TrailerPrefix without a Trailer field, because a server
// that knows them only at the end cannot announce them.
func TestTrailersPassWithoutBeingAnnounced(t *testing.T) {
	t.Parallel()
	asked := make(chan http.Header, 1)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		asked <- r.Trailer
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
		_, _ = io.WriteString(w, "ok")
		w.Header().Set(http.TrailerPrefix+"X-Sum", "2")
		w.Header().Set(http.TrailerPrefix+"X-Forwarded-For", "192.0.2.1")
		w.Header().Set(http.TrailerPrefix+"Set-Cookie", "a=b")
	}))
	t.Cleanup(s.Close)
	addr := l7test.New(t, 1).Serve(nil, l7test.Service("web", s.Listener.Addr().String()))
	check := func(what, text string, trailer http.Header) {
		t.Helper()
		if text != "ok" || fmt.Sprint(trailer) != "map[X-Sum:[2]]" {
			t.Errorf("%s: the client got %q with %v", what, text, trailer)
		}
	}
	res := l7test.Dial(t, addr).Send("POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nX-Of-Client: 1\r\n\r\n").Response("POST")
	check("HTTP/1", res.Text, res.Trailer)
	if got := <-asked; got.Get("X-Of-Client") != "1" {
		t.Errorf("the backend got %v", got)
	}
	stream, err := l7test.HTTP2Client(t, addr, false).Get("http://" + addr + "/")
	if err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(stream.Body)
	_ = stream.Body.Close()
	check("HTTP/2", string(text), stream.Trailer)
}

// A default port has no meaning (RFC 9110 section 4.2.3) in any field.
func TestDefaultPortIsNoOtherHost(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, l7test.Answer(ok))
	addr := l7test.New(t, 1).Serve(nil, l7test.Service("web", b.Addr))
	for _, c := range []struct {
		target, host string
		status       int
	}{
		{"http://a.test:80/x", "a.test", 200}, {"http://a.test/x", "a.test:80", 200}, {"HTTP://A.test.:80/x", "a.test", 200},
		{"https://a.test:443/x", "a.test", 200}, {"https://a.test/x", "a.test:443", 200}, {"http://[::1]:80/x", "[::1]", 200},
		{"http://a.test:81/x", "a.test", 400}, {"http://a.test/x", "a.test:443", 400}, {"https://a.test:80/x", "a.test", 400},
	} {
		if res := l7test.Dial(t, addr).Send("GET " + c.target + " HTTP/1.1\r\nHost: " + c.host + "\r\n\r\n").Get(); res.StatusCode != c.status {
			t.Errorf("%s with Host %s: %s", c.target, c.host, res.Status)
		} else if res.StatusCode == 200 && b.Field("Host") != strings.ToLower(c.host) {
			t.Errorf("%s with Host %s: the backend got Host %s", c.target, c.host, b.Field("Host"))
		}
	}
	for host, want := range map[string]string{"a.test:80": "HEADERS 200", "A.test": "HEADERS 200", "a.test:443": "RST_STREAM PROTOCOL_ERROR", "a.test:81": "RST_STREAM PROTOCOL_ERROR"} {
		p := l7test.DialFrames(t, addr)
		p.Ask(1, true, "GET", "/", "host", host)
		if got := p.Next(); got != "1 "+want {
			t.Errorf("Host %s with the authority a.test: %q, want %s", host, got, want)
		}
	}
}
