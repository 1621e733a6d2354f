package backend_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/l7/l7test"
)

func TestHTTP2BackendGetsBodiesOfEveryFramingBothWays(t *testing.T) {
	t.Parallel()
	l7test.EveryPath(t, l7test.Echo, func(t *testing.T, a *l7test.Appliance, c *http.Client, url string) {
		for _, query := range []string{"", "?length", "?trailer"} {
			for _, size := range []int{0, 1, 1000, 100_000, 3_000_000} {
				for _, counted := range []bool{true, false} {
					body := bytes.Repeat([]byte("0123456789"), size/10+1)[:size]
					var in io.Reader = bytes.NewReader(body)
					if !counted {
						in = struct{ io.Reader }{in}
					}
					res, err := c.Post(url+"/"+query, "text/plain", in)
					if err != nil {
						t.Fatal(query, size, counted, err)
					}
					got, err := io.ReadAll(res.Body)
					_ = res.Body.Close()
					if err != nil || !bytes.Equal(got, body) || res.StatusCode != 200 || res.Header.Get("X-Proto") != "HTTP/2.0" {
						t.Fatalf("%s %d counted %t: status %d, %d bytes, %v, %v", query, size, counted, res.StatusCode, len(got), res.Header, err)
					}
					if query == "?trailer" && (size > 2048 || res.ProtoMajor == 2) && res.Trailer.Get("X-Sum") != fmt.Sprintf("%x", sha256.Sum256(body)) {
						t.Fatalf("%d counted %t: trailers %v", size, counted, res.Trailer)
					}
				}
			}
		}
		l7test.Eventually(t, "nothing is under way", func() bool { return a.Segment.SumBackend(1).Established == 0 })
		if n := a.Segment.SumBackend(1); n.Requests != 30 || n.Responses[1] != 30 || n.Established != 0 || n.Pending != 0 || n.Connects == 0 || n.Connects > 2 {
			t.Errorf("counted %+v", n)
		}
	})
}

func TestHTTP10ClientGetsHTTP2Responses(t *testing.T) {
	t.Parallel()
	s := l7test.HTTP2Server(t, l7test.Echo, false)
	front := l7test.New(t, 1).Serve(nil, l7test.HTTP2Service(false, s.Listener.Addr().String()))
	body := strings.Repeat("0123456789", 30_000)
	for query, length := range map[string]bool{"": false, "?length": true, "?trailer": false} {
		c := l7test.Dial(t, front).Send(fmt.Sprintf("POST /%s HTTP/1.0\r\nContent-Length: %d\r\n\r\n%s", query, len(body), body))
		got, err := io.ReadAll(c.Reader())
		head, rest, _ := strings.Cut(string(got), "\r\n\r\n")
		if err != nil || rest != body || strings.Contains(head, "Transfer-Encoding") || length != strings.Contains(head, "Content-Length: 300000") {
			t.Errorf("%s: %d bytes behind %q, %v", query, len(rest), head, err)
		}
	}
}

func TestHeadsAndBodilessAnswersOfAnHTTP2BackendKeepItsConnection(t *testing.T) {
	t.Parallel()
	addr, accepted := l7test.NewFrameServer(t, func(h *l7test.FrameServer) {
		for {
			id, path := h.Request()
			switch path {
			case "":
				return
			case "/head":
				h.Head(id, false, "200", "content-length", "5")
			case "/none":
				h.Head(id, false, "204")
			case "/same":
				h.Head(id, false, "304")
			case "/counted":
				h.Head(id, false, "200", "content-length", "2")
				_ = h.WriteData(id, false, []byte("ok"))
			}
			_ = h.WriteData(id, true, nil) // the response ends without further input
		}
	})
	a := l7test.New(t, 1)
	front := a.Serve(nil, l7test.HTTP2Service(false, addr))
	c := http.Client{}
	defer c.CloseIdleConnections()
	for range 3 {
		for path, want := range map[string]string{"/head": "200 5 ", "/none": "204 0 ", "/same": "304 -1 ", "/counted": "200 2 ok"} {
			method := "GET"
			if path == "/head" {
				method = "HEAD"
			}
			r, _ := http.NewRequest(method, "http://"+front+path, nil)
			res, err := c.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(res.Body)
			if got := fmt.Sprint(res.StatusCode, " ", res.ContentLength, " ", string(bytes.TrimSpace(body))); got != want && path != "/same" {
				t.Errorf("%s: %s", path, got)
			}
		}
	}
	if n := a.Segment.SumBackend(1); accepted.Load() != 1 || n.Requests != 12 || n.Resets+n.BadResponses != 0 {
		t.Errorf("%d connections, counted %+v", accepted.Load(), n)
	}
}

func TestInterimAnswersOfAnHTTP2BackendArePassedOn(t *testing.T) {
	t.Parallel()
	addr, _ := l7test.NewFrameServer(t, func(h *l7test.FrameServer) {
		id, _ := h.Request()
		h.Head(id, false, "103", "link", "</a>")
		h.Head(id, false, "100")
		for f := h.Next(); f != "1 DATA body end"; f = h.Next() {
			if f == "end" {
				return
			}
		}
		h.Answer(id, "thanks")
	})
	front := l7test.New(t, 1).Serve(nil, l7test.HTTP2Service(false, addr))
	c := l7test.Dial(t, front).Send("POST / HTTP/1.1\r\nHost: a.test\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n")
	for _, want := range []string{"HTTP/1.1 103 Early Hints\r\n", "link: </a>\r\n", "\r\n", "HTTP/1.1 100 Continue\r\n", "\r\n"} {
		if line, err := c.Reader().ReadString('\n'); line != want {
			t.Fatalf("%q, %v", line, err)
		}
	}
	c.Send("body")
	res, err := http.ReadResponse(c.Reader(), nil)
	if err != nil || res.StatusCode != 200 {
		t.Fatal(res, err)
	}
	if got, _ := io.ReadAll(res.Body); string(got) != "thanks" {
		t.Errorf("%q", got)
	}
}
