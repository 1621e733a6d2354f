package link_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sluicelb/sluice/core/explain"
	"github.com/sluicelb/sluice/core/link"
	"github.com/sluicelb/sluice/core/shm"
)

const shortTimeout = time.Second

func TestMain(m *testing.M) {
	link.SetMessageTimeout(shortTimeout)
	slog.SetDefault(slog.New(slog.NewTextHandler(io.Discard, nil)))
	if l, err := net.Listen("tcp", "127.0.0.1:0"); err == nil {
		l.Close() // the runtime's poller descriptors appear with the first socket
	}
	before := descriptors()
	code := m.Run()
	if after := descriptors(); code == 0 && after != before {
		fmt.Fprintf(os.Stderr, "descriptors: %d before the tests, %d after\n", before, after)
		code = 1
	}
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func descriptors() int {
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		panic(err)
	}
	return len(names)
}

// engine is a handler that records its arguments.
type engine struct {
	mu       sync.Mutex
	hello    link.Hello
	answer   func(snapshot []byte, opened map[string][]*os.File) link.Ack
	sessions func(service uint32, limit int) (int, []link.Session)
	change   func(link.SessionChange) (int, error)
	inside   int
	overlaps int
	calls    int
}

func (e *engine) Hello() link.Hello {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.hello
}

func (e *engine) Publish(snapshot *os.File, opened map[string][]*os.File) link.Ack {
	e.mu.Lock()
	e.inside++
	e.calls++
	if e.inside > 1 {
		e.overlaps++
	}
	answer := e.answer
	e.mu.Unlock()
	defer func() {
		e.mu.Lock()
		e.inside--
		e.mu.Unlock()
		for _, sockets := range opened {
			for _, f := range sockets {
				f.Close()
			}
		}
	}()
	b, err := io.ReadAll(io.NewSectionReader(snapshot, 0, 1<<20))
	if err != nil {
		return link.Ack{Refused: err.Error()}
	}
	if answer == nil {
		return link.Ack{Generation: uint64(len(b))}
	}
	return answer(b, opened)
}

func (e *engine) Sessions(service uint32, limit int) (int, []link.Session) {
	e.mu.Lock()
	sessions := e.sessions
	e.mu.Unlock()
	if sessions == nil {
		return 0, nil
	}
	return sessions(service, limit)
}

// Session looks up a key among the sessions.
func (e *engine) Session(service uint32, key []byte) (link.Session, bool) {
	_, list := e.Sessions(service, link.MaxSessions)
	for _, s := range list {
		if bytes.Equal(s.Key, key) {
			return s, true
		}
	}
	return link.Session{}, false
}

// Explain returns the URL of the question as the farm.
func (e *engine) Explain(q explain.Question) (*explain.Explanation, error) {
	switch q.URL {
	case "":
		return nil, errors.New("there is no URL")
	case "panic":
		panic("index out of range")
	case "endless":
		return &explain.Explanation{Farm: strings.Repeat("x", 5<<20)}, nil
	}
	return &explain.Explanation{Farm: q.URL, Head: q.Headers}, nil
}

func (e *engine) ChangeSessions(c link.SessionChange) (int, error) {
	e.mu.Lock()
	change := e.change
	e.mu.Unlock()
	if change == nil {
		return 0, errors.New("not here")
	}
	return change(c)
}

// Connections returns five connections to each given backend; nil yields one and a total
// of seven.
func (e *engine) Connections(backends []uint32, limit int) (total int, list []link.Connection) {
	if len(backends) == 1 && backends[0] == 666 {
		panic("no such backend")
	}
	for _, id := range backends {
		for i := range 5 {
			list = append(list, connected(id, i))
		}
	}
	if backends == nil {
		return 7, []link.Connection{connected(9, 0)}
	}
	return len(list), list // possibly more than limit
}

func connected(backend uint32, i int) link.Connection {
	return link.Connection{Backend: backend, Protocol: "udp", State: "replied", Client: netip.AddrPortFrom(netip.MustParseAddr("2001:db8::7"), uint16(i)),
		To: netip.MustParseAddrPort("192.0.2.1:53"), Idle: time.Second, In: 1 << 60}
}

func (e *engine) EndConnections(backends []uint32) int {
	if backends == nil {
		return 7
	}
	return 5 * len(backends)
}

func (e *engine) count() (calls, overlaps int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.calls, e.overlaps
}

// rawPeer returns a connection whose other end is passed to do.
func rawPeer(t testing.TB, do func(c *net.UnixConn)) *net.UnixConn {
	t.Helper()
	c, err := net.DialUnix("unixpacket", nil, &net.UnixAddr{Name: fakeEngine(t, do), Net: "unixpacket"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// serve runs e until the test ends and returns the path of the socket.
func serve(t testing.TB, e *engine, allowed ...uint32) (path string) {
	t.Helper()
	path, stop := serveUntil(t, e, allowed...)
	t.Cleanup(stop)
	return path
}

// serveUntil runs e until stop, which fails the test if Serve returned an error.
func serveUntil(t testing.TB, e *engine, allowed ...uint32) (path string, stop func()) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "engine.sock")
	l, err := net.ListenUnix("unixpacket", &net.UnixAddr{Name: path, Net: "unixpacket"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- link.Serve(ctx, l, e, allowed...) }()
	return path, sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
}

func dial(t testing.TB, path string) *link.Client {
	t.Helper()
	c, err := link.Dial(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// raw connects without the protocol and reads the engine's hello.
func raw(t testing.TB, path string) *net.UnixConn {
	t.Helper()
	c, err := net.DialUnix("unixpacket", nil, &net.UnixAddr{Name: path, Net: "unixpacket"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, _, err := shm.Receive(c, make([]byte, shm.MaxMessage)); err != nil {
		t.Fatalf("no hello: %v", err)
	}
	return c
}

func memory(t testing.TB, content string) *os.File {
	t.Helper()
	f, err := shm.Sealed("test", []byte(content))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// waitClosed waits until the other side has closed c.
func waitClosed(t testing.TB, c *net.UnixConn) {
	t.Helper()
	c.SetReadDeadline(time.Now().Add(10 * time.Second))
	for {
		if _, _, err := shm.Receive(c, make([]byte, shm.MaxMessage)); err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				t.Fatal("the connection stays open")
			}
			return
		}
	}
}

func closedSoon(t testing.TB, done <-chan struct{}) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("Done stays open")
	}
}
