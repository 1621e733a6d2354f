package e2e_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// slow is a backend that starts a response, reports it, and finishes it on request.
type slow struct {
	addr    string
	started chan string // path of each request in progress
	finish  chan struct{}
	most    atomic.Int64 // maximum of concurrent requests
	now     atomic.Int64
}

func newSlow(t *testing.T, name string) *slow {
	t.Helper()
	s := &slow{started: make(chan string, 1000), finish: make(chan struct{})}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Backend", name)
		if !strings.HasPrefix(r.URL.Path, "/slow") {
			_, _ = io.WriteString(w, name)
			return
		}
		now := s.now.Add(1)
		defer s.now.Add(-1)
		for most := s.most.Load(); now > most && !s.most.CompareAndSwap(most, now); most = s.most.Load() {
		}
		_, _ = io.WriteString(w, "begun ")
		w.(http.Flusher).Flush()
		s.started <- r.URL.Path
		select {
		case <-s.finish:
			_, _ = io.WriteString(w, "and ended")
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { s.end() })
	s.addr = server.Listener.Addr().String()
	return s
}

// end lets all current and later requests finish.
func (s *slow) end() {
	select {
	case <-s.finish:
	default:
		close(s.finish)
	}
}

// ask starts n requests; the returned function waits for their results.
func ask(addr string, n int) func() (bodies []string, failures []error) {
	type outcome struct {
		body string
		err  error
	}
	out := make(chan outcome, n)
	for range n {
		go func() {
			body, err := func() (string, error) {
				c, err := net.Dial("tcp4", addr)
				if err != nil {
					return "", err
				}
				defer c.Close()
				_ = c.SetDeadline(time.Now().Add(20 * time.Second))
				_, _ = io.WriteString(c, "GET /slow HTTP/1.1\r\nHost: shop\r\n\r\n")
				res, err := http.ReadResponse(bufio.NewReader(c), nil)
				if err != nil {
					return "", err
				}
				b, err := io.ReadAll(res.Body)
				if err == nil && res.StatusCode != http.StatusOK {
					err = fmt.Errorf("%s", res.Status)
				}
				return string(b), err
			}()
			out <- outcome{body, err}
		}()
	}
	return func() (bodies []string, failures []error) {
		for range n {
			o := <-out
			if o.err != nil {
				failures = append(failures, o.err)
				continue
			}
			bodies = append(bodies, o.body)
		}
		return bodies, failures
	}
}

func TestDrainFinishesRequestsAndCutEndsThem(t *testing.T) {
	asEachUser(t, func(t *testing.T, who identity) {
		a := start(t, who, dataDir(t, who))
		first, other := newSlow(t, "first"), newSlow(t, "other")
		url := a.farm("shop", first.addr)
		addr := hostOf(url)
		const n = 20
		outcome := ask(addr, n)
		for range n {
			<-first.started
		}
		a.must("backend", "create", "shop", "all", other.addr)
		a.must("backend", "maintenance", "shop", "all", "0", "--mode", "drain")
		for range 10 {
			wantAnswer(t, url, "other") // a draining backend gets nothing new
		}
		time.Sleep(100 * time.Millisecond)
		if now := first.now.Load(); now != n {
			t.Errorf("%d of %d requests are still under way while the backend drains", now, n)
		}
		first.end()
		bodies, failures := outcome()
		if len(bodies) != n || len(failures) > 0 {
			t.Errorf("%d requests ended well, then %v", len(bodies), failures)
		}
		for _, body := range bodies {
			if body != "begun and ended" {
				t.Errorf("drain changed an answer to %q, want %q", body, "begun and ended")
			}
		}

		outcome = ask(addr, n)
		for range n {
			<-other.started
		}
		a.must("backend", "maintenance", "shop", "all", "0", "--off")
		a.must("backend", "maintenance", "shop", "all", "1", "--mode", "cut")
		if bodies, failures = outcome(); len(failures) != n {
			t.Errorf("of %d requests to a backend that was cut %d ended well: %q", n, len(bodies), bodies)
		}
		wantAnswer(t, url, "first")
	})
}

func TestStoppedFarmFinishesRequests(t *testing.T) {
	who := asOne()
	a := start(t, who, dataDir(t, who))
	b := newSlow(t, "one")
	url := a.farm("shop", b.addr)
	outcome := ask(hostOf(url), 10)
	for range 10 {
		<-b.started
	}
	a.must("farm", "stop", "shop")
	if _, err := get(url); err == nil {
		t.Error("a stopped farm accepts new clients")
	}
	b.end()
	if bodies, failures := outcome(); len(bodies) != 10 || bodies[0] != "begun and ended" {
		t.Errorf("%q, %v", bodies, failures)
	}
}

func TestConnectionLimitIsExactUnderLoad(t *testing.T) {
	who := asOne()
	a := start(t, who, dataDir(t, who))
	const limit, clients = 7, 60
	one, two := newSlow(t, "one"), newSlow(t, "two")
	url := a.farm("shop", one.addr)
	a.must("backend", "create", "shop", "all", two.addr)
	for _, id := range []string{"0", "1"} {
		a.must("backend", "set", "shop", "all", id, fmt.Sprintf("connection_limit=%d", limit))
	}
	outcome := ask(hostOf(url), clients)
	for range limit {
		<-one.started
		<-two.started
	}
	// Other changes neither lose nor repeat requests in progress.
	a.must("farm", "set", "shop", "error503=full")
	if got, err := get(url + "slow"); err == nil || !strings.Contains(err.Error(), "full") {
		t.Errorf("beyond the limit: %q, %v", got, err)
	}
	one.end()
	two.end()
	bodies, failures := outcome()
	if len(bodies) != 2*limit || len(failures) != clients-2*limit {
		t.Errorf("%d requests were admitted, want exactly %d (%d failed)", len(bodies), 2*limit, len(failures))
	}
	if one.most.Load() != limit || two.most.Load() != limit {
		t.Errorf("%d and %d at the same time, want exactly %d", one.most.Load(), two.most.Load(), limit)
	}
	var wait sync.WaitGroup // slots are free again: one after the other all have room
	for range limit {
		wait.Go(func() {
			for range 20 {
				if _, err := get(url); err != nil {
					t.Errorf("after the limit was reached: %v", err)
				}
			}
		})
	}
	wait.Wait()
}

// visitor is a client identified by address and cookie.
type visitor struct{ ip, cookie string }

// backend sends one request and returns the backend's name.
func (v visitor) backend(addr string) (string, error) {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(v.ip)}, Timeout: 5 * time.Second}
	c, err := d.Dial("tcp4", addr)
	if err != nil {
		return "", err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(5 * time.Second))
	fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: shop\r\nCookie: a=b; id=%s\r\nConnection: close\r\n\r\n", v.cookie)
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return "", err
	}
	if res.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s", res.Status)
	}
	return res.Header.Get("Backend"), nil
}

func TestClientsStayOnTheirBackendOverReloadsAndDrain(t *testing.T) {
	for _, kind := range []struct {
		name, setting string
		visitor       func(i int) visitor
	}{
		{"IP", "persistence=IP", func(i int) visitor { return visitor{fmt.Sprintf("127.0.0.%d", 10+i), "same"} }},
		{"cookie", "persistence=COOKIE sessionid=id", func(i int) visitor { return visitor{"127.0.0.1", fmt.Sprintf("client%d", i)} }},
	} {
		t.Run(kind.name, func(t *testing.T) {
			who := asOne()
			a := start(t, who, dataDir(t, who))
			url := a.farm("shop", mirror(t, "0"))
			addr := hostOf(url)
			a.must("backend", "create", "shop", "all", mirror(t, "1"))
			a.must("backend", "create", "shop", "all", mirror(t, "2"))
			a.must(append([]string{"service", "set", "shop", "all"}, strings.Fields(kind.setting)...)...)
			home := map[int]string{}
			const visitors = 30
			for i := range visitors {
				b, err := kind.visitor(i).backend(addr)
				if err != nil {
					t.Fatal(err)
				}
				home[i] = b
			}
			stay := func(when string, except string) {
				t.Helper()
				for i := range visitors {
					b, err := kind.visitor(i).backend(addr)
					switch {
					case err != nil:
						t.Fatalf("%s: %v", when, err)
					case home[i] == except && b != except:
						home[i] = b // moved, and stays there
					case b != home[i]:
						t.Errorf("%s: client %d moved from %s to %s", when, i, home[i], b)
					}
				}
			}
			stay("at once", "")
			a.must("farm", "set", "shop", "error503=x")
			a.must("backend", "create", "shop", "all", mirror(t, "3"))
			stay("after a new backend", "")
			a.must("service", "set", "shop", "all", "routingpolicy=LEAST_CONNECTIONS")
			stay("after another algorithm", "")
			a.must("backend", "maintenance", "shop", "all", "1", "--mode", "drain")
			stay("while 1 is drained", "")
			if b, err := (visitor{"127.0.0.99", "stranger"}).backend(addr); err != nil || b == "1" {
				t.Errorf("a new client came to the drained backend (%s, %v)", b, err)
			}
			a.must("backend", "maintenance", "shop", "all", "1", "--off")
			a.kill("mgmt")
			within(t, 2*time.Second, "mgmt is back", a.answers)
			stay("after a restart of mgmt", "")
			a.must("backend", "maintenance", "shop", "all", "1", "--mode", "cut")
			stay("when 1 is cut", "1")
			a.must("backend", "delete", "shop", "all", "0")
			stay("when 0 is deleted", "0")
		})
	}
}
