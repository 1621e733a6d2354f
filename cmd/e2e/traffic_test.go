package e2e_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// mirror starts a backend whose responses identify their request: the path in a header, and
// as body either the request body or as many bytes as the path specifies. Its name is in the
// header Backend.
func mirror(t *testing.T, name string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Backend", name)
		w.Header().Set("Path", r.URL.Path)
		if r.Method == http.MethodPost {
			b, err := io.ReadAll(r.Body)
			if err != nil {
				panic(http.ErrAbortHandler)
			}
			_, _ = w.Write(b)
			return
		}
		size, _ := strconv.Atoi(r.URL.Query().Get("size"))
		_, _ = w.Write(bytes.Repeat([]byte{'x'}, size))
	}))
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// traffic is a number of clients that never retry: unlike net/http's, they report a
// connection that ends as a failure.
type traffic struct {
	addr            string
	keeping, coming int           // clients that keep their connection, and that open a new one each time
	pause           time.Duration // mean time between two requests of a client

	answered atomic.Int64
	longest  atomic.Int64 // nanoseconds
	backends sync.Map     // names of backends that responded
	mu       sync.Mutex
	failures []error
	end      chan struct{}
	ended    sync.WaitGroup
}

// under starts clients of addr.
func under(t *testing.T, addr string, keeping, coming int, pause time.Duration) *traffic {
	t.Helper()
	tr := &traffic{addr: addr, keeping: keeping, coming: coming, pause: pause, end: make(chan struct{})}
	for i := range keeping + coming {
		tr.ended.Go(func() { tr.client(i, i < keeping) })
	}
	t.Cleanup(func() { tr.stop() })
	within(t, 5*time.Second, "traffic flows", func() error {
		if tr.answered.Load() < int64(keeping+coming) {
			return fmt.Errorf("%d answers, %v", tr.answered.Load(), tr.failed())
		}
		return nil
	})
	return tr
}

func (tr *traffic) client(number int, keep bool) {
	var c *wire
	defer func() { c.close() }()
	for i := 0; ; i++ {
		select {
		case <-tr.end:
			return
		default:
		}
		began := time.Now()
		var err error
		if c == nil {
			if c, err = dialWire(tr.addr); err != nil {
				tr.fail(err)
				return
			}
		}
		backend, err := c.exchange(fmt.Sprintf("/c%d/n%d", number, i), i, keep)
		if err != nil {
			tr.fail(fmt.Errorf("client %d (keeps its connection: %v), request %d of it: %w", number, keep, i, err))
			return
		}
		tr.answered.Add(1)
		tr.backends.Store(backend, true)
		if took := int64(time.Since(began)); took > tr.longest.Load() {
			tr.longest.Store(took)
		}
		if !keep {
			c.close()
			c = nil
		}
		if tr.pause > 0 {
			time.Sleep(time.Duration(rand.Int64N(2 * int64(tr.pause))))
		}
	}
}

func (tr *traffic) fail(err error) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.failures = append(tr.failures, err)
}

func (tr *traffic) failed() error {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return errors.Join(tr.failures...)
}

// stop ends the clients.
func (tr *traffic) stop() {
	select {
	case <-tr.end:
	default:
		close(tr.end)
	}
	tr.ended.Wait()
}

// flawless stops the clients and fails the test unless each request got the right response.
func (tr *traffic) flawless(t *testing.T) {
	t.Helper()
	tr.stop()
	if err := tr.failed(); err != nil {
		t.Errorf("of %d requests some failed:\n%v", tr.answered.Load()+int64(len(tr.failures)), err)
	}
	t.Logf("%d requests answered over %d kept and %d changing connections, the slowest after %v",
		tr.answered.Load(), tr.keeping, tr.coming, time.Duration(tr.longest.Load()).Round(time.Millisecond))
}

// wire is one client connection without retries.
type wire struct {
	net.Conn
	r *bufio.Reader
}

func dialWire(addr string) (*wire, error) {
	c, err := net.DialTimeout("tcp4", addr, 5*time.Second)
	if err != nil {
		return nil, err
	}
	return &wire{c, bufio.NewReader(c)}, nil
}

func (c *wire) close() {
	if c != nil {
		_ = c.Close()
	}
}

// exchange sends one request and checks the response. number selects the kind: small
// requests, large responses, bodies.
func (c *wire) exchange(path string, number int, keep bool) (backend string, err error) {
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	connection := "keep-alive"
	if !keep {
		connection = "close"
	}
	var request string
	want := -1
	sent := ""
	switch number % 4 {
	case 0:
		want = 100_000
		request = fmt.Sprintf("GET %s?size=%d HTTP/1.1\r\nHost: shop\r\nConnection: %s\r\n\r\n", path, want, connection)
	case 1:
		sent = strings.Repeat(path, 2000)
		request = fmt.Sprintf("POST %s HTTP/1.1\r\nHost: shop\r\nConnection: %s\r\nContent-Length: %d\r\n\r\n%s", path, connection, len(sent), sent)
	default:
		want = 128
		request = fmt.Sprintf("GET %s?size=%d HTTP/1.1\r\nHost: shop\r\nConnection: %s\r\n\r\n", path, want, connection)
	}
	if _, err := io.WriteString(c, request); err != nil {
		return "", err
	}
	res, err := http.ReadResponse(c.r, nil)
	if err != nil {
		return "", fmt.Errorf("no answer: %w", err)
	}
	body, err := io.ReadAll(res.Body)
	switch {
	case err != nil:
		return "", fmt.Errorf("cut answer after %d bytes: %w", len(body), err)
	case res.StatusCode != http.StatusOK:
		return "", fmt.Errorf("%s: %.100s", res.Status, body)
	case res.Header.Get("Path") != path:
		return "", fmt.Errorf("the answer is to %s, not to %s", res.Header.Get("Path"), path)
	case want >= 0 && len(body) != want:
		return "", fmt.Errorf("%d bytes, want %d", len(body), want)
	case want < 0 && string(body) != sent:
		return "", fmt.Errorf("a body of %d bytes was echoed as %d other bytes", len(sent), len(body))
	case keep && res.Close:
		return "", errors.New("the connection is closed after this answer")
	}
	return res.Header.Get("Backend"), nil
}
