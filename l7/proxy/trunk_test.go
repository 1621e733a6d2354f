package proxy_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
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

func TestManyExchangesShareAFewConnectionsToAnHTTP2Backend(t *testing.T) {
	t.Parallel()
	l7test.EveryPath(t, l7test.Echo, func(t *testing.T, a *l7test.Appliance, c *http.Client, url string) {
		var wg sync.WaitGroup
		for i := range 40 {
			wg.Add(1)
			go func() {
				defer wg.Done()
				for j := range 20 {
					body := strings.Repeat(fmt.Sprint(i, " ", j, " "), 1+i*j*10)
					res, err := c.Post(url+"/", "text/plain", strings.NewReader(body))
					if err != nil {
						t.Error(err)
						return
					}
					got, err := io.ReadAll(res.Body)
					_ = res.Body.Close()
					if err != nil || string(got) != body {
						t.Errorf("status %d: %d bytes instead of %d, %v", res.StatusCode, len(got), len(body), err)
						return
					}
				}
			}()
		}
		wg.Wait()
		if n := a.Segment.SumBackend(1); n.Requests != 800 || n.Connects > 2 {
			t.Errorf("counted %+v", n)
		}
	})
}

func TestClientOfHTTP10GetsWhatAnHTTP2BackendAnswers(t *testing.T) {
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

func TestAnswersOfHTTP2BackendsAreCompressed(t *testing.T) {
	t.Parallel()
	for _, secure := range []bool{false, true} {
		s := l7test.HTTP2Server(t, l7test.Echo, secure)
		service := l7test.HTTP2Service(secure, s.Listener.Addr().String())
		service.Compression = &farm.Compression{Codings: []farm.Coding{"gzip"}}
		front := l7test.New(t, 1).Serve(nil, service)
		for name, c := range map[string]*http.Client{"http1": {Transport: &http.Transport{DialContext: l7test.DialOnly(front)}}, "h2c": l7test.HTTP2Client(t, front, false)} {
			for _, query := range []string{"", "?length", "?trailer"} {
				for _, size := range []int{5_000, 1_000_000} {
					body := strings.Repeat("text and more ", size/14)
					res, err := c.Post("http://a.test/"+query, "text/plain", strings.NewReader(body))
					if err != nil {
						t.Fatal(name, query, err)
					}
					got, err := io.ReadAll(res.Body)
					if err != nil || string(got) != body || !res.Uncompressed {
						t.Errorf("%s %s %d: %d bytes, uncompressed %t, %v", name, query, size, len(got), res.Uncompressed, err)
					}
					if query == "?trailer" && res.Trailer.Get("X-Sum") == "" {
						t.Errorf("%s %d: trailers %v", name, size, res.Trailer)
					}
				}
			}
			c.CloseIdleConnections()
		}
	}
}
