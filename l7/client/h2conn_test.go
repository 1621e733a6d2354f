package client_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/l7test"
)

func TestHTTP2ForwardsBodiesOfEveryFraming(t *testing.T) {
	t.Parallel()
	l7test.EachWay(t, l7test.Echo, func(t *testing.T, a *l7test.Appliance, c *http.Client, url string) {
		for _, query := range []string{"", "?length", "?trailer"} {
			for _, size := range []int{0, 1, 1000, 16384, 65536, 70000, 3<<20 + 5} {
				for _, chunked := range []bool{false, true} {
					want := bytes.Repeat([]byte("0123456789abcdef!"), size/17+1)[:size]
					var body io.Reader = bytes.NewReader(want)
					if chunked {
						body = struct{ io.Reader }{body}
					}
					resp, err := c.Post(url+"/"+query, "text/plain", body)
					if err != nil {
						t.Fatalf("%s %d %v: %v", query, size, chunked, err)
					}
					got, err := io.ReadAll(resp.Body)
					_ = resp.Body.Close()
					if err != nil || !bytes.Equal(got, want) || resp.ProtoMajor != 2 || resp.Header.Get("X-Proto") != "HTTP/1.1" {
						t.Errorf("%s %d %v: %d bytes over %s, %v", query, size, chunked, len(got), resp.Proto, err)
					}
					if query == "?trailer" && resp.Trailer.Get("X-Sum") != fmt.Sprintf("%x", sha256.Sum256(want)) {
						t.Errorf("%d %v: trailer %q", size, chunked, resp.Trailer)
					}
				}
			}
		}
		if n := a.Segment.SumFarm(1).Connections; n != 1 {
			t.Errorf("%d connections, want 1", n)
		}
	})
}

func TestHTTP2ServesManyStreamsAtOnce(t *testing.T) {
	const atOnce = 100 // no response is sent before so many requests have arrived
	var came atomic.Int64
	slow := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		came.Add(1)
		for end := time.Now().Add(20 * time.Second); came.Load() < atOnce; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Errorf("%d streams are served at once, want %d", came.Load(), atOnce)
				break
			}
		}
		_, _ = io.WriteString(w, r.URL.Path)
	})
	l7test.EachWay(t, slow, func(t *testing.T, a *l7test.Appliance, c *http.Client, url string) {
		came.Store(0)
		var all sync.WaitGroup
		for i := range 300 {
			all.Go(func() {
				resp, err := c.Get(fmt.Sprintf("%s/%d", url, i))
				if err != nil {
					t.Error(err)
					return
				}
				body, _ := io.ReadAll(resp.Body)
				_ = resp.Body.Close()
				if string(body) != fmt.Sprintf("/%d", i) {
					t.Errorf("stream %d got %q", i, body)
				}
			})
		}
		all.Wait()
		if f := a.Segment.SumFarm(1); f.Requests != 300 || f.Responses[1] != 300 {
			t.Errorf("counted %d requests, %d answers", f.Requests, f.Responses[1])
		}
		l7test.Eventually(t, "the connections counted out", func() bool {
			c.CloseIdleConnections() // again: a connection still being opened becomes idle afterwards
			f := a.Segment.SumFarm(1)
			return f.Established == 0 && f.Pending == 0
		})
	})
}

func TestHTTP2GetsGeneratedResponses(t *testing.T) {
	t.Parallel()
	l7test.EachWay(t, l7test.Echo, func(t *testing.T, a *l7test.Appliance, c *http.Client, url string) {
		for _, q := range []struct {
			method, path string
			status       int
		}{{"GET", "/moved", 302}, {"BREW", "/", 200}, {"GET", "/%2e%2e/x", 400}, {"HEAD", "/", 200}, {"GET", "/dead", 503}} {
			req, _ := http.NewRequest(q.method, url+q.path, nil)
			resp, err := c.Do(req)
			if err != nil {
				t.Fatalf("%s %s: %v", q.method, q.path, err)
			}
			_, err = io.ReadAll(resp.Body)
			if resp.StatusCode != q.status || err != nil {
				t.Errorf("%s %s: %d, %v; want %d", q.method, q.path, resp.StatusCode, err, q.status)
			}
		}
		big, _ := http.NewRequest("GET", url+"/", nil)
		big.Header.Set("X-Big", strings.Repeat("x", 100<<10))
		if resp, err := c.Do(big); err == nil && resp.StatusCode != 431 {
			t.Errorf("a head of 100 KiB: %d", resp.StatusCode)
		}
		if resp, err := c.Get(url + "/after"); err != nil || resp.StatusCode != 200 {
			t.Errorf("after all that: %v", err)
		}
	}, func(h *farm.HTTP) {
		h.Services = append([]farm.Service{
			{ID: 91, Name: "moved", URL: "^/moved", Redirect: "https://else.test/"},
			{ID: 92, Name: "dead", URL: "^/dead"},
		}, h.Services...)
	})
}

func TestHTTP2SlowReaderLosesNoByte(t *testing.T) {
	const size = 64 << 20
	big := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		block := bytes.Repeat([]byte("sluice! "), 8<<10)
		for range size / len(block) {
			_, _ = w.Write(block)
		}
	})
	l7test.EachWay(t, big, func(t *testing.T, a *l7test.Appliance, c *http.Client, url string) {
		resp, err := c.Get(url + "/")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(200 * time.Millisecond) // without reading
		if out := a.Segment.SumFarm(1).BytesOut; out > 16<<20 {
			t.Errorf("%d bytes were read from the backend for a client that does not read", out)
		}
		n, err := io.Copy(io.Discard, resp.Body)
		if n != size || err != nil {
			t.Errorf("got %d bytes came, %v, want %d", n, err, size)
		}
	})
}

func TestHTTP2ClientThatLeavesEndsItsExchange(t *testing.T) {
	t.Parallel()
	asked, gone := make(chan struct{}, 1), make(chan struct{}, 1)
	hang := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-r.Context().Done()
		gone <- struct{}{}
	})
	l7test.EachWay(t, hang, func(t *testing.T, a *l7test.Appliance, c *http.Client, url string) {
		ctx, leave := context.WithCancel(t.Context())
		go func() {
			<-asked
			leave()
		}()
		r, _ := http.NewRequestWithContext(ctx, "GET", url+"/", http.NoBody)
		if _, err := c.Do(r); err == nil {
			t.Fatal("answered")
		}
		select {
		case <-gone:
		case <-time.After(5 * time.Second):
			t.Error("the backend was not notified")
		}
	})
}

func TestHTTP2ConnectionOfAStoppedFarmGetsGoaway(t *testing.T) {
	t.Parallel()
	l7test.EachWay(t, l7test.Echo, func(t *testing.T, a *l7test.Appliance, c *http.Client, url string) {
		resp, err := c.Get(url + "/")
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.ReadAll(resp.Body)
		a.Publish(farm.Config{})
		l7test.Eventually(t, "the connection gone", func() bool { return a.Segment.SumFarm(1).Established == 0 })
	})
}
