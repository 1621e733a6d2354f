package l7test

import (
	"bytes"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
)

// Backend is a raw server that records every byte and responds by script.
type Backend struct {
	Addr string

	ln       net.Listener
	mu       sync.Mutex
	received bytes.Buffer
	accepted int
	conns    map[net.Conn]bool
}

// NewBackend starts a backend that runs script for each connection. The script reads through
// the Recorder. It stops with the test.
func NewBackend(t testing.TB, script func(c *Recorder)) *Backend {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &Backend{Addr: ln.Addr().String(), ln: ln, conns: map[net.Conn]bool{}}
	t.Cleanup(b.Close)
	go b.serve(script)
	return b
}

func (b *Backend) serve(script func(c *Recorder)) {
	for {
		c, err := b.ln.Accept()
		if err != nil {
			return
		}
		b.mu.Lock()
		b.accepted++
		b.conns[c] = true
		b.mu.Unlock()
		go func() {
			defer func() {
				_ = c.Close()
				b.mu.Lock()
				delete(b.conns, c)
				b.mu.Unlock()
			}()
			script(&Recorder{TCPConn: c.(*net.TCPConn), backend: b})
		}()
	}
}

// Close stops listening and closes all connections.
func (b *Backend) Close() {
	_ = b.ln.Close()
	b.mu.Lock()
	defer b.mu.Unlock()
	for c := range b.conns {
		_ = c.Close()
	}
}

// Received returns everything the backend has received.
func (b *Backend) Received() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.received.String()
}

// RequestLine returns the request line of the last head received.
func (b *Backend) RequestLine() string { return b.lastHead()[0] }

// Field returns the value of a field in the last head received.
func (b *Backend) Field(name string) string {
	for _, line := range b.lastHead()[1:] {
		if v, ok := strings.CutPrefix(line, name+": "); ok {
			return v
		}
	}
	return ""
}

func (b *Backend) lastHead() []string {
	heads := strings.Split(strings.TrimSuffix(b.Received(), "\r\n\r\n"), "\r\n\r\n")
	return strings.Split(heads[len(heads)-1], "\r\n")
}

// Accepted returns the number of connections accepted.
func (b *Backend) Accepted() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.accepted
}

// Open returns the number of open connections.
func (b *Backend) Open() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.conns)
}

// Recorder is one connection of a Backend.
type Recorder struct {
	*net.TCPConn
	backend *Backend
	pending []byte
}

// Read reads and records.
func (r *Recorder) Read(p []byte) (int, error) {
	if len(r.pending) > 0 {
		n := copy(p, r.pending)
		r.pending = r.pending[n:]
		return n, nil
	}
	n, err := r.TCPConn.Read(p)
	r.backend.mu.Lock()
	r.backend.received.Write(p[:n])
	r.backend.mu.Unlock()
	return n, err
}

// Head reads up to and including the next empty line.
func (r *Recorder) Head() (string, error) {
	var head []byte
	buf := make([]byte, 64<<10)
	for {
		if i := bytes.Index(head, []byte("\r\n\r\n")); i >= 0 {
			r.pending = append([]byte(nil), head[i+4:]...)
			return string(head[:i+4]), nil
		}
		n, err := r.Read(buf)
		head = append(head, buf[:n]...)
		if err != nil {
			return string(head), err
		}
	}
}

// Say writes text.
func (r *Recorder) Say(text string) { _, _ = r.Write([]byte(text)) }

// Answer responds to every request without a body with response.
func Answer(response string) func(c *Recorder) {
	return func(c *Recorder) {
		for {
			if _, err := c.Head(); err != nil {
				return
			}
			c.Say(response)
		}
	}
}

// Unrecorded returns the bytes read ahead by Head, followed by the connection, without
// recording.
func (r *Recorder) Unrecorded() io.Reader {
	return io.MultiReader(bytes.NewReader(r.pending), r.TCPConn)
}
