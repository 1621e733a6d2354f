package backend_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	xhttp2 "golang.org/x/net/http2"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/l7test"
)

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
						t.Errorf("status %d: got %d bytes, want %d, %v", res.StatusCode, len(got), len(body), err)
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

func TestStreamsBeyondTheLimitUseNewConnections(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	most, open := map[int]int{}, map[int]int{}
	addr, accepted := l7test.NewFrameServer(t, func(h *l7test.FrameServer) {
		var write sync.Mutex
		for {
			id, path := h.Request()
			if id == 0 {
				return
			}
			mu.Lock()
			open[h.N]++
			most[h.N] = max(most[h.N], open[h.N])
			mu.Unlock()
			go func() {
				if path != "/first" {
					time.Sleep(50 * time.Millisecond)
				}
				mu.Lock()
				open[h.N]--
				mu.Unlock()
				write.Lock()
				defer write.Unlock()
				h.Answer(id, path)
			}()
		}
	}, xhttp2.Setting{ID: xhttp2.SettingMaxConcurrentStreams, Val: 5})
	front := l7test.New(t, 1).Serve(nil, l7test.HTTP2Service(false, addr))
	if _, err := http.Get("http://" + front + "/first"); err != nil { // from here on the bound is known
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 20 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			if status, body := posted(front, ""); status != 200 {
				t.Errorf("status %d %s", status, body)
			}
		}()
	}
	wg.Wait()
	for n, streams := range most {
		if streams > 5 {
			t.Errorf("%d streams at once on connection %d", streams, n)
		}
	}
	if n := accepted.Load(); n < 2 || n > 8 {
		t.Errorf("%d connections", n)
	}
}

// A connection serves one name.
func TestOneTimeNamesEvictNoConnection(t *testing.T) {
	t.Parallel()
	var handshakes atomic.Int32
	s := l7test.HTTP2Server(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), true, func(s *http.Server) {
		s.ConnState = func(_ net.Conn, st http.ConnState) {
			if st == http.StateNew {
				handshakes.Add(1)
			}
		}
	})
	a := l7test.New(t, 1)
	c := l7test.Dial(t, a.Serve(nil, l7test.HTTP2Service(true, s.Listener.Addr().String())))
	ask := func(host string) {
		t.Helper()
		if got := c.Send("GET / HTTP/1.1\r\nHost: " + host + "\r\n\r\n").Get(); got.StatusCode != 200 {
			t.Fatalf("%s: got %d, want 200", host, got.StatusCode)
		}
	}
	for range 2 {
		ask("used.test")
	}
	for i := range 100 {
		ask(fmt.Sprintf("once%d.test", i))
	}
	before := handshakes.Load()
	if ask("used.test"); handshakes.Load() != before {
		t.Error("its connection is gone")
	}
}

func TestConnectionsToRemovedBackendsEnd(t *testing.T) {
	t.Parallel()
	asked, ended := make(chan uint32), make(chan string, 1)
	addr, _ := l7test.NewFrameServer(t, func(h *l7test.FrameServer) {
		id, _ := h.Request()
		asked <- id
		<-asked
		h.Answer(id, "last")
		for f := h.Next(); ; f = h.Next() {
			if f == "end" || strings.HasPrefix(f, "GOAWAY") {
				ended <- f
				return
			}
		}
	})
	a := l7test.New(t, 1)
	s := l7test.HTTP2Service(false, addr)
	front := a.Serve(nil, s)
	answered := make(chan string)
	go func() {
		_, body := posted(front, "")
		answered <- body
	}()
	<-asked
	s.Backends[0].Maintenance = farm.MaintenanceDrain
	a.Serve(nil, s)
	asked <- 0
	if body := <-answered; body != "last" {
		t.Errorf("got %q, want %q", body, "last")
	}
	select {
	case <-ended:
	case <-time.After(5 * time.Second):
		t.Error("the connection stays")
	}
}
