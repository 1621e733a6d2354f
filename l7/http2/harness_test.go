package http2_test

import (
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/http2"
)

func clock() int64 { return time.Now().UnixNano() }

// driver runs a Conn over a net.Conn with two goroutines. One reads, and the other writes
// all pending output at once, as a loop does.
type driver struct {
	mu     sync.Mutex
	conn   *http2.Conn
	socket net.Conn
	more   chan struct{}
	closed chan struct{}
	once   sync.Once
}

func newDriver(socket net.Conn) *driver {
	return &driver{socket: socket, more: make(chan struct{}, 1), closed: make(chan struct{})}
}

// Outgoing implements http2.Handler for types that embed driver.
func (d *driver) Outgoing() {
	select {
	case d.more <- struct{}{}:
	default:
	}
}

func (d *driver) run() {
	go d.write()
	d.Outgoing()
	p := make([]byte, 64<<10)
	for {
		n, err := d.socket.Read(p)
		if err != nil {
			break
		}
		d.mu.Lock()
		err = d.conn.Receive(p[:n])
		d.mu.Unlock()
		if err != nil {
			d.Outgoing()
			time.Sleep(20 * time.Millisecond)
			break
		}
	}
	d.once.Do(func() { close(d.closed) })
	d.mu.Lock()
	d.conn.Close()
	d.mu.Unlock()
	_ = d.socket.Close()
}

func (d *driver) write() {
	var b []byte
	for {
		d.mu.Lock()
		b = append(b[:0], d.conn.Output()...)
		d.conn.Written()
		done := d.conn.Finished()
		d.mu.Unlock()
		if len(b) > 0 {
			if _, err := d.socket.Write(b); err != nil {
				return
			}
		}
		if done {
			_ = d.socket.Close()
			return
		}
		d.mu.Lock()
		d.conn.Resume()
		empty := len(d.conn.Output()) == 0
		d.mu.Unlock()
		if !empty {
			continue
		}
		select {
		case <-d.more:
		case <-d.closed:
			return
		}
	}
}

// app responds to requests: /bytes?N with N bytes, /echo with the request body, /trailers
// with trailers, /hasty before the body has arrived, and others with a short text.
type app struct {
	*driver
	req   http1.Request
	heads func(head []byte)
}

// exchange is app's state of a stream.
type exchange struct {
	body  []byte // unsent bytes
	left  int    // bytes still to generate
	echo  bool
	text  bool
	trail bool
	ended bool
	size  int
}

func serve(socket net.Conn, sh *http2.Shared) *app {
	a := &app{driver: newDriver(socket)}
	a.conn = http2.NewServer(sh, a)
	return a
}

func (a *app) Head(s *http2.Stream, head []byte, end bool) {
	if a.heads != nil {
		a.heads(head)
	}
	if head == nil {
		a.text(s, 431, "too large")
		return
	}
	if n, err := a.req.Parse(head); err != nil || n != len(head) {
		status := 400
		if e, ok := err.(*http1.Error); ok {
			status = e.Status
		}
		a.text(s, status, "bad")
		return
	}
	ex := &exchange{ended: end}
	s.Owner = ex
	path, query, _ := strings.Cut(string(a.req.Path), "?")
	switch {
	case s.Tunnel():
		s.Respond([]byte("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n"), false)
		ex.echo = true
	case path == "/bytes":
		ex.left, _ = strconv.Atoi(query)
		s.Respond([]byte("HTTP/1.1 200 OK\r\nContent-Length: "+query+"\r\n\r\n"), ex.left == 0)
		ex.ended = true
		a.Writable(s)
	case path == "/echo":
		ex.echo = true
		s.Respond([]byte("HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n\r\n"), false)
		if end {
			s.Data(nil, true)
		}
	case path == "/trailers":
		ex.trail = true
		s.Respond([]byte("HTTP/1.1 200 OK\r\nTrailer: X-Sum\r\n\r\n"), false)
		s.Data([]byte("with trailers"), false)
		s.Trailers([]byte("X-Sum: 42\r\nGrpc-Status: 0\r\n\r\n"))
	case path == "/hints":
		s.Respond([]byte("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"), false)
		a.text(s, 200, "hello")
	case !end && path != "/hasty":
		// The response follows the body.
	default:
		a.text(s, 200, "hello")
	}
}

func (a *app) text(s *http2.Stream, status int, text string) {
	head := a.req.Verb == http1.VerbHEAD
	s.Respond([]byte("HTTP/1.1 "+strconv.Itoa(status)+" X\r\nContent-Type: text/plain\r\nContent-Length: "+
		strconv.Itoa(len(text))+"\r\n\r\n"), head)
	if !head {
		s.Owner = &exchange{text: true, body: []byte(text)}
		a.Writable(s)
	}
}

func (a *app) Data(s *http2.Stream, p []byte, end bool) {
	ex, ok := s.Owner.(*exchange)
	if !ok {
		return
	}
	if ex.text {
		return
	}
	ex.size += len(p)
	ex.ended = end
	if ex.echo {
		ex.body = append(ex.body, p...)
		a.Writable(s)
		return
	}
	s.Consumed(len(p))
	if end {
		a.text(s, 200, "got "+strconv.Itoa(ex.size))
	}
}

func (a *app) Trailers(s *http2.Stream, lines []byte) {
	a.Data(s, nil, true)
}

func (a *app) Writable(s *http2.Stream) {
	ex, ok := s.Owner.(*exchange)
	if !ok {
		return
	}
	if ex.text {
		n := s.Data(ex.body, true)
		if ex.body = ex.body[n:]; len(ex.body) == 0 && !s.Ended() {
			s.Reset(http2.CodeNo)
		}
		return
	}
	if ex.echo {
		n := s.Data(ex.body, ex.ended)
		s.Consumed(n)
		ex.body = append(ex.body[:0], ex.body[n:]...)
		return
	}
	for ex.left > 0 {
		room := min(s.Room(), ex.left)
		if room == 0 {
			return
		}
		if n := s.Data(zeros(room), room == ex.left); n != room {
			panic("less was taken than there was room for")
		}
		ex.left -= room
	}
}

func (a *app) Reset(s *http2.Stream, code http2.Code, why *http2.Error) {}
func (a *app) GoingAway(code http2.Code)                                {}

var zero [256 << 10]byte

func zeros(n int) []byte { return zero[:n] }

// listen serves app on a loopback port.
func listen(t testing.TB, wrap func(net.Conn) net.Conn) (addr string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	go func() {
		for {
			socket, err := ln.Accept()
			if err != nil {
				return
			}
			if wrap != nil {
				socket = wrap(socket)
			}
			// One Shared each, because these tests run connections in parallel.
			go serve(socket, newShared()).run()
		}
	}()
	return ln.Addr().String()
}

func newShared() *http2.Shared {
	return http2.NewShared(http2.ServerLimits(), new(loop.BufferPool), clock)
}
