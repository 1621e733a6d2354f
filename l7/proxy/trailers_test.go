package proxy_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/l7test"
)

// trailed is a backend that responds with these trailers after reading the chunked request
// body.
func trailed(t *testing.T, names, lines string) *l7test.Backend {
	return l7test.NewBackend(t, func(c *l7test.Recorder) {
		for {
			head, err := c.Head()
			for body := "\r\n"; err == nil && strings.Contains(head, "chunked"); {
				if strings.Contains(body, "\r\n0\r\n") && strings.HasSuffix(body, "\r\n\r\n") {
					break
				}
				b := make([]byte, 1)
				_, err = c.Read(b)
				body += string(b)
			}
			if err != nil {
				return
			}
			c.Say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: " + names + "\r\n\r\n2\r\nok\r\n0\r\n" + lines + "\r\n")
		}
	})
}

func TestRulesForFieldsHoldForTrailersToo(t *testing.T) {
	t.Parallel()
	remove := []farm.HeaderRemove{{Pattern: "^x-secret:"}}
	replace := []farm.HeaderReplace{{Header: "^x-host$", Match: "internal", Replace: "public"}}
	const names, lines = "X-Secret, X-Host, X-Sum", "x-Secret: 1\r\nX-Host: a.internal\r\nX-Sum: 2\r\n"
	const want = "0\r\nX-Host: a.public\r\nX-Sum: 2\r\n\r\n"
	ofFarm := func(h *farm.HTTP) {
		h.RemoveRequest, h.RemoveResponse, h.ReplaceRequest, h.ReplaceResponse = remove, remove, replace, replace
	}
	ofService := func(h *farm.HTTP) {
		h.RemoveRequest = []farm.HeaderRemove{{Pattern: "^x-none:"}}
		s := &h.Services[0]
		s.RemoveRequest, s.RemoveResponse, s.ReplaceRequest, s.ReplaceResponse = remove, remove, replace, replace
	}
	for name, edit := range map[string]func(*farm.HTTP){"of the farm": ofFarm, "of the service": ofService} {
		for _, apart := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, body apart %t", name, apart), func(t *testing.T) {
				t.Parallel()
				b := trailed(t, names, lines)
				c := l7test.Dial(t, l7test.New(t, 1).Serve(edit, l7test.Service("web", b.Addr)))
				head := "POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\nTrailer: " + names + "\r\n\r\n"
				body := "2\r\nhi\r\n0\r\n" + lines + "\r\n"
				if apart {
					c.Send(head)
					l7test.Eventually(t, "the head reaches the backend", func() bool { return strings.Contains(b.Received(), "POST / ") })
					c.Send(body)
				} else {
					c.Send(head + body)
				}
				res := c.Response("POST")
				if res.Text != "ok" || res.Trailer.Get("X-Secret") != "" || res.Trailer.Get("X-Host") != "a.public" || res.Trailer.Get("X-Sum") != "2" {
					t.Errorf("the client got %q with %v", res.Text, res.Trailer)
				}
				l7test.Eventually(t, "the trailers reach the backend as the rules leave them", func() bool {
					return strings.HasSuffix(b.Received(), want)
				})
			})
		}
	}
}

func TestTrailersOfWhichRulesLeaveNothing(t *testing.T) {
	t.Parallel()
	b := trailed(t, "X-A", "X-A: 1\r\n")
	a := l7test.New(t, 1)
	addr := a.Serve(func(h *farm.HTTP) {
		h.RemoveResponse, h.RemoveRequest = []farm.HeaderRemove{{Pattern: "^x-a:"}}, []farm.HeaderRemove{{Pattern: "^x-a:"}}
	}, l7test.Service("web", b.Addr))
	rest := l7test.Dial(t, addr).Send("POST / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\nTransfer-Encoding: chunked\r\nTrailer: X-A\r\n\r\n0\r\nX-A: 1\r\n\r\n").Rest()
	if !strings.HasSuffix(rest, "2\r\nok\r\n0\r\n\r\n") {
		t.Errorf("the client got %q", rest)
	}
	if got := b.Received(); !strings.HasSuffix(got, "\r\n\r\n0\r\n\r\n") {
		t.Errorf("the backend got %q", got)
	}
	grow := []farm.HeaderReplace{{Header: "^X-A$", Match: "(.*)", Replace: strings.Repeat("$1", 20)}}
	long := "X-A: " + strings.Repeat("x", 5000)
	other := trailed(t, "X-A", long+"\r\n") // rules make it too long
	toOther := l7test.New(t, 1).Serve(func(h *farm.HTTP) { h.ReplaceRequest, h.ReplaceResponse = grow, grow }, l7test.Service("web", other.Addr))
	rest = l7test.Dial(t, toOther).Send("POST / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\nTransfer-Encoding: chunked\r\nTrailer: X-A\r\n\r\n0\r\n" + long + "\r\n\r\n").Rest()
	if got := other.Received(); !strings.HasSuffix(rest, "2\r\nok\r\n0\r\n\r\n") || !strings.HasSuffix(got, "\r\n\r\n0\r\n\r\n") {
		t.Errorf("trailers that grow too long: the client got %.200q, the backend %.400q", rest, got)
	}
	client := l7test.HTTP2Client(t, addr, false)
	res, err := client.Get("http://" + addr + "/")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if text, err := io.ReadAll(res.Body); err != nil || string(text) != "ok" || len(res.Trailer["X-A"]) != 0 {
		t.Errorf("the stream brought %q, %v, %v", text, err, res.Trailer)
	}
}

// With HTTP/2 on both sides all trailers are forwarded except those removed by rules.
func TestRulesHoldForTrailersOfStreams(t *testing.T) {
	t.Parallel()
	got := make(chan http.Header, 1)
	addr := plainH2(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		got <- r.Trailer
		w.Header().Set(http.TrailerPrefix+"X-Secret", "1")
		w.Header().Set(http.TrailerPrefix+"X-Sum", "2")
		_, _ = io.WriteString(w, "ok")
	}))
	s := l7test.Service("web", addr)
	s.BackendProtocol = farm.BackendHTTP2
	s.RemoveRequest, s.RemoveResponse = []farm.HeaderRemove{{Pattern: "^x-secret:"}}, []farm.HeaderRemove{{Pattern: "^x-secret:"}}
	front := l7test.New(t, 1).Serve(nil, s)
	req, err := http.NewRequest("POST", "http://"+front+"/", struct{ io.Reader }{strings.NewReader("hi")})
	if err != nil {
		t.Fatal(err)
	}
	req.Trailer = http.Header{"X-Secret": {"3"}, "X-Sum": {"4"}}
	res, err := l7test.HTTP2Client(t, front, false).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if text, err := io.ReadAll(res.Body); err != nil || string(text) != "ok" || res.Trailer.Get("X-Sum") != "2" || len(res.Trailer["X-Secret"]) != 0 {
		t.Errorf("the client got %q, %v, %v", text, err, res.Trailer)
	}
	if h := <-got; h.Get("X-Sum") != "4" || h.Get("X-Secret") != "" {
		t.Errorf("the backend got %v", h)
	}
}

// A key after the body is unchecked, so it must not reach the backend.
func TestNoKeyComesBehindTheBody(t *testing.T) {
	t.Parallel()
	for _, pass := range []bool{false, true} {
		b := trailed(t, "X-Sum", "X-Sum: 1\r\n")
		s := asksKey(b, "a key that is long enough")
		s.Auth.Pass = pass
		c := l7test.Dial(t, l7test.New(t, 1).Serve(nil, s))
		c.Send("POST / HTTP/1.1\r\nHost: a.test\r\nX-Api-Key: a key that is long enough\r\nTransfer-Encoding: chunked\r\nTrailer: X-Api-Key, X-T\r\n\r\n0\r\nx-api-key: forged\r\nX-T: 1\r\nX-API-KEY: twice\r\n\r\n")
		if res := c.Response("POST"); res.StatusCode != 200 || res.Trailer.Get("X-Sum") != "1" {
			t.Errorf("answer %d %v", res.StatusCode, res.Trailer)
		}
		l7test.Eventually(t, "the other trailer reaches the backend", func() bool {
			return strings.HasSuffix(b.Received(), "\r\n\r\n0\r\nX-T: 1\r\n\r\n")
		})
	}
}
