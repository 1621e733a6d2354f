package http2_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/l7/http2"
)

// piped is one side of two connected connections, with one stream and its pipe.
type piped struct {
	*http2.Conn
	pipe    http2.Pipe
	buffers http2.Buffers
	head    string
	room    int // number of Writable events
}

func (p *piped) Head(s *http2.Stream, head []byte, end bool) {
	p.head = string(head)
	if p.pipe.H2 == nil {
		p.pipe.H2 = s
	}
	p.pipe.Chunked = strings.Contains(p.head, "transfer-encoding: chunked")
	if end {
		p.pipe.EndReceived(p.buffers)
	}
}

func (p *piped) Data(_ *http2.Stream, b []byte, end bool) {
	p.pipe.Bring(p.buffers, b)
	if end {
		p.pipe.EndReceived(p.buffers)
	}
}

func (p *piped) Trailers(_ *http2.Stream, lines []byte) {
	p.pipe.BringTrailers(lines)
	p.pipe.EndReceived(p.buffers)
}

func (p *piped) Reset(*http2.Stream, http2.Code, *http2.Error) { p.pipe.H2 = nil }
func (p *piped) Writable(*http2.Stream)                        { p.room++; p.pipe.Push(p.buffers) }
func (p *piped) GoingAway(http2.Code)                          {}
func (p *piped) Outgoing()                                     {}

// read reads all available bytes, n at a time.
func (p *piped) read(n int) string {
	var out bytes.Buffer
	b := make([]byte, n)
	for n := p.pipe.Read(p.buffers, b); n > 0; n = p.pipe.Read(p.buffers, b) {
		out.Write(b[:n])
	}
	return out.String()
}

// joined returns a client and a server after their SETTINGS.
func joined(t *testing.T) (client, server *piped, exchange func()) {
	t.Helper()
	client, server = &piped{buffers: plainBuffers{}}, &piped{buffers: plainBuffers{}}
	now := func() int64 { return 1 }
	client.Conn = http2.NewClient(http2.NewShared(http2.ClientLimits(), plainBuffers{}, now), client, false)
	server.Conn = http2.NewServer(http2.NewShared(http2.ServerLimits(), plainBuffers{}, now), server)
	exchange = func() {
		for moved := true; moved; {
			moved = false
			for from, to := range map[*piped]*piped{client: server, server: client} {
				if out := bytes.Clone(from.Output()); len(out) > 0 {
					moved = true
					from.Written()
					if err := to.Receive(out); err != nil {
						t.Fatal(err)
					}
					from.Resume()
				}
			}
		}
	}
	exchange()
	return client, server, exchange
}

// plainBuffers are not pooled.
type plainBuffers struct{}

func (plainBuffers) Grow(b []byte, n int) []byte {
	return append(make([]byte, 0, len(b)+n), b...)
}
func (plainBuffers) Put([]byte) {}

func TestBodiesWithoutALengthAreReadInChunks(t *testing.T) {
	client, server, exchange := joined(t)
	client.pipe.H2 = client.Open(nil, []byte("POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n"), false)
	client.pipe.Send(client.buffers, []byte("hello"), true, []byte("x-sum: 5\r\n"))
	exchange()
	if got, want := server.read(100), "5\r\nhello\r\n0\r\nx-sum: 5\r\n\r\n"; got != want {
		t.Errorf("read %q, want %q", got, want)
	}
	if !server.pipe.Over() || !client.pipe.Sent {
		t.Error("it is not over")
	}
}

// The end may arrive before the caller decides about the form of the body.
func TestBodyMayEndBeforeItsFormIsChosen(t *testing.T) {
	var p http2.Pipe
	p.EndReceived(plainBuffers{})
	p.Chunked = true
	b := make([]byte, 100)
	if n := p.Read(plainBuffers{}, b); string(b[:n]) != "0\r\n\r\n" || !p.Over() {
		t.Errorf("read %q, over %t", b[:n], p.Over())
	}
}

func TestBareBodiesAndHeadsAreReadUnchanged(t *testing.T) {
	p := http2.Pipe{Chunked: true, Bare: true}
	p.BringHead(plainBuffers{}, []byte("HTTP/1.1 200 OK\r\n\r\n"))
	p.Bring(plainBuffers{}, []byte("body"))
	p.EndReceived(plainBuffers{})
	var got []byte
	b := make([]byte, 3)
	for n := p.Read(plainBuffers{}, b); n > 0; n = p.Read(plainBuffers{}, b) {
		got = append(got, b[:n]...)
	}
	if string(got) != "HTTP/1.1 200 OK\r\n\r\nbody" || p.Unread() != 0 || !p.Over() {
		t.Errorf("read %q, %d are left, over %t", got, p.Unread(), p.Over())
	}
}

// Bytes without room wait and are sent in order, followed by the trailer.
func TestBytesWithoutRoomAreQueued(t *testing.T) {
	client, server, exchange := joined(t)
	client.pipe.H2 = client.Open(nil, []byte("POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n"), false)
	const size = 8 << 20
	client.pipe.Send(client.buffers, make([]byte, size), true, []byte("x-end: 1\r\n"))
	exchange()
	if client.pipe.Waiting() == 0 || client.pipe.Sent {
		t.Fatalf("%d bytes wait, sent %t", client.pipe.Waiting(), client.pipe.Sent)
	}
	server.pipe.Bare = true
	got := 0
	for range 10_000 {
		got += len(server.read(64 << 10))
		exchange()
		if server.pipe.Over() {
			break
		}
	}
	if got != size || string(server.pipe.Trailers) != "x-end: 1\r\n" || client.pipe.Waiting() != 0 || !client.pipe.Sent || client.room == 0 {
		t.Errorf("%d bytes, trailers %q, %d wait", got, server.pipe.Trailers, client.pipe.Waiting())
	}
}

func TestStreamIsReleasedAfterBothDirectionsEnd(t *testing.T) {
	client, server, exchange := joined(t)
	client.pipe.H2 = client.Open(nil, []byte("POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 2\r\n\r\n"), false)
	client.pipe.Send(client.buffers, []byte("hi"), true, nil)
	exchange()
	server.pipe.H2.Respond([]byte("HTTP/1.1 200 OK\r\n\r\n"), false)
	if server.pipe.H2 == nil {
		t.Fatal("released before the response")
	}
	server.pipe.Send(server.buffers, []byte("answer"), true, nil)
	if server.pipe.H2 != nil {
		t.Error("the server keeps it")
	}
	exchange()
	if got := client.read(100); got != "6\r\nanswer\r\n0\r\n\r\n" || client.pipe.H2 != nil {
		t.Errorf("read %q, kept %t", got, client.pipe.H2 != nil)
	}
	server.pipe.Send(server.buffers, []byte("more"), true, nil) // dropped
	exchange()
	server.pipe.Release(server.buffers)
	if server.pipe.Sent || server.pipe.Ended || server.pipe.Waiting() != 0 {
		t.Errorf("released: %+v", server.pipe)
	}
}

func TestLaterBytesAreReadAfterUnreadOnes(t *testing.T) {
	p := http2.Pipe{Bare: true}
	p.Bring(plainBuffers{}, []byte("abcdef"))
	b := make([]byte, 4)
	n := p.Read(plainBuffers{}, b)
	got := string(b[:n])
	p.Bring(plainBuffers{}, nil)
	if p.Unread() != 2 {
		t.Errorf("%d bytes are unread", p.Unread())
	}
	p.Bring(plainBuffers{}, []byte("gh"))
	for n = p.Read(plainBuffers{}, b); n > 0; n = p.Read(plainBuffers{}, b) {
		got += "|" + string(b[:n])
	}
	if got != "abcd|efgh" || p.Over() {
		t.Errorf("read %q, over %t", got, p.Over())
	}
}

func TestAPipeAtRestKeepsNoLargeTrailers(t *testing.T) {
	for size, kept := range map[int]bool{100: true, 4096: false} {
		var p http2.Pipe
		p.BringTrailers(make([]byte, size))
		p.Release(plainBuffers{})
		if len(p.Trailers) != 0 || (cap(p.Trailers) > 0) != kept {
			t.Errorf("of trailers of %d bytes room for %d is kept", size, cap(p.Trailers))
		}
	}
}

func TestEndedStreamHasNoRoom(t *testing.T) {
	client, server, exchange := joined(t)
	s := client.Open(nil, []byte("POST / HTTP/1.1\r\nHost: a.test\r\n\r\n"), false)
	if s.Room() <= 0 {
		t.Error("a stream that begins has no room")
	}
	if n := s.Data([]byte("x"), true); n != 1 || s.Room() != 0 || s.Data([]byte("y"), true) != 0 {
		t.Errorf("%d bytes are accepted, room for %d then", n, s.Room())
	}
	s.Trailers([]byte("x: y\r\n"))
	exchange()
	if got := server.read(100); server.pipe.Trailers != nil || !strings.HasPrefix(got, "1\r\nx\r\n0\r\n") {
		t.Errorf("behind the end came %q, read %q", server.pipe.Trailers, got)
	}
	server.pipe.H2.Trailers([]byte("x: y\r\n")) // before a head
	server.pipe.H2.Respond([]byte("HTTP/1.1 200 OK\r\n\r\n"), true)
	server.pipe.H2.Respond([]byte("HTTP/1.1 404 Not Found\r\n\r\n"), true)
	exchange()
	if !strings.HasPrefix(client.head, "HTTP/1.1 200 ") || client.pipe.Trailers != nil {
		t.Errorf("the answer is %q with %q", client.head, client.pipe.Trailers)
	}
}
