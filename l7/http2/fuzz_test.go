package http2_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	xhttp2 "golang.org/x/net/http2"

	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/http2"
)

// checker is a Handler that responds, echoes and checks its events: http1 can parse the
// heads, the end of a stream is its last event, and all streams end.
type checker struct {
	t      *testing.T
	conn   *http2.Conn
	open   map[*http2.Stream]uint32
	ended  map[*http2.Stream]bool // streams whose sending direction ended
	req    http1.Request
	resp   http1.Response
	mode   uint8
	client bool
	moved  int
}

func (k *checker) known(s *http2.Stream) {
	if id, ok := k.open[s]; !ok || id != s.ID() || s.Conn() != k.conn {
		k.t.Fatalf("event for stream %d, which is not open", s.ID())
	}
}

func (k *checker) over(s *http2.Stream) {
	delete(k.open, s)
	delete(k.ended, s)
}

// ends records the end of our direction.
func (k *checker) ends(s *http2.Stream) {
	k.ended[s] = true
	k.overIf(s)
}

// overIf removes a stream whose directions have both ended.
func (k *checker) overIf(s *http2.Stream) {
	if k.ended[s] && s.Ended() {
		k.over(s)
	}
}

func (k *checker) Head(s *http2.Stream, head []byte, end bool) {
	if k.client {
		k.known(s)
		if n, err := k.resp.Parse(head); err != nil && err != http1.ErrTooManyFields && err != http1.ErrHeadTooLong || err == nil && n != len(head) {
			k.t.Fatalf("%v of %q", err, head)
		}
		return
	}
	if _, ok := k.open[s]; ok {
		k.t.Fatalf("stream %d opened twice", s.ID())
	}
	k.open[s] = s.ID()
	if head == nil {
		s.Respond([]byte("HTTP/1.1 431 X\r\n\r\n"), true)
		s.Reset(http2.CodeNo)
		k.over(s)
		return
	}
	n, err := k.req.Parse(head)
	if err == nil && n != len(head) || bytes.Count(head, []byte("\r\n\r\n")) != 1 || bytes.Count(head, []byte("\n")) != bytes.Count(head, []byte("\r\n")) {
		k.t.Fatalf("%d of %d bytes of %q: %v", n, len(head), head, err)
	}
	if err == nil && (k.req.Body() == http1.BodyChunked) != (!end && k.req.ContentLength < 0 && !s.Tunnel()) {
		k.t.Fatalf("framing of %q, end %v", head, end)
	}
	switch k.mode % 4 {
	case 0:
		s.Respond([]byte("HTTP/1.1 200 OK\r\nServer: x\r\n\r\n"), false)
		if s.Data(zeros(5), true) == 5 {
			k.ends(s)
		}
	case 1:
		s.Respond([]byte("HTTP/1.1 200 OK\r\n\r\n"), false)
		s.Data(zeros(3000), false)
	case 2:
		s.Reset(http2.CodeInternal)
		k.over(s)
	}
}

func (k *checker) Data(s *http2.Stream, p []byte, end bool) {
	k.known(s)
	k.moved += len(p)
	if k.mode&4 != 0 {
		s.Consumed(len(p))
	}
	if k.mode&8 != 0 {
		s.Data(p, false)
	}
	k.overIf(s)
}

func (k *checker) Trailers(s *http2.Stream, lines []byte) {
	k.known(s)
	if bytes.Contains(lines, []byte("\n:")) || bytes.Count(lines, []byte("\n")) != bytes.Count(lines, []byte("\r\n")) {
		k.t.Fatalf("trailers %q", lines)
	}
	k.overIf(s)
}

func (k *checker) Reset(s *http2.Stream, code http2.Code, why *http2.Error) {
	k.known(s)
	k.over(s)
}

func (k *checker) Writable(s *http2.Stream) {
	k.known(s)
	n := min(s.Room(), 5000)
	if end := k.mode&16 != 0; s.Data(zeros(n), end) == n && end && !k.ended[s] {
		k.ends(s)
	}
}

func (k *checker) GoingAway(http2.Code) {}
func (k *checker) Outgoing()            {}

// drive passes the bytes to the connection in steps and checks the output.
func (k *checker) drive(b []byte, step int) {
	for len(b) > 0 {
		n := min(step, len(b))
		err := k.conn.Receive(bytes.Clone(b[:n]))
		k.checkOutput()
		if err != nil {
			if k.conn.Streams() != 0 {
				k.t.Fatalf("%d streams after %v", k.conn.Streams(), err)
			}
			return
		}
		if k.mode&32 != 0 {
			k.conn.Resume()
			k.checkOutput()
		}
		b = b[n:]
	}
	k.conn.Close()
	if k.conn.Streams() != 0 {
		k.t.Fatalf("%d streams after Close", k.conn.Streams())
	}
}

// checkOutput parses the output with x/net.
func (k *checker) checkOutput() {
	out := bytes.TrimPrefix(k.conn.Output(), []byte(xhttp2.ClientPreface))
	r := xhttp2.NewFramer(io.Discard, bytes.NewReader(bytes.Clone(out)))
	for {
		if _, err := r.ReadFrame(); err == io.EOF {
			break
		} else if err != nil {
			k.t.Fatalf("%v in %x", err, out)
		}
	}
	k.conn.Written()
}

// seeds adds attacks, malformed and valid exchanges, and the recordings of real peers in
// testdata.
func seeds(f *testing.F, side string) {
	files, err := filepath.Glob("testdata/" + side + "-*.bin")
	if err != nil || len(files) == 0 {
		f.Fatalf("no recordings: %v", err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, uint8(4), uint16(len(b)))
		f.Add(b, uint8(9+32), uint16(7))
	}
	if side != "client" {
		return
	}
	for _, flood := range floods {
		s := newSession(f, nil)
		if flood.prepare != nil {
			flood.prepare(s)
		}
		for i := range 3 {
			flood.send(s, i)
		}
		f.Add(s.take(), uint8(1), uint16(100))
	}
}

// FuzzServer receives the bytes of a client.
func FuzzServer(f *testing.F) {
	seeds(f, "client")
	f.Fuzz(func(t *testing.T, b []byte, mode uint8, step uint16) {
		k := &checker{t: t, mode: mode, open: map[*http2.Stream]uint32{}, ended: map[*http2.Stream]bool{}}
		k.conn = http2.NewServer(newShared(), k)
		if !bytes.HasPrefix(b, []byte("PRI")) {
			b = append(newScript().greet().take(), b...)
		}
		k.drive(b, int(step)+1)
	})
}

// FuzzClient receives the bytes of a backend.
func FuzzClient(f *testing.F) {
	seeds(f, "server")
	f.Fuzz(func(t *testing.T, b []byte, mode uint8, step uint16) {
		k := &checker{t: t, mode: mode, open: map[*http2.Stream]uint32{}, ended: map[*http2.Stream]bool{}, client: true}
		k.conn = http2.NewClient(http2.NewShared(http2.ClientLimits(), new(loop.BufferPool), clock), k, false)
		for i := range 5 {
			s := k.conn.Open(nil, []byte(head([]string{"GET", "HEAD", "POST"}[i%3], "/")), mode&64 != 0)
			k.open[s] = s.ID()
		}
		k.drive(b, int(step)+1)
	})
}
