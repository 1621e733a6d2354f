//go:build !race

package http2_test

import (
	"bytes"
	"strconv"
	"testing"

	"golang.org/x/net/http2/hpack"

	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/http2"
)

// A round of 100 requests and responses does not allocate, including the heads written for
// backends and the parsed responses.
func TestExchangesAllocateNothing(t *testing.T) {
	q := &quick{forward: http1.Forward{ClientIP: []byte("192.0.2.1"), Proto: []byte("https")}}
	b := newBatch(t, newShared(), q, 100, request)
	p := make([]byte, 64<<10)
	if n := testing.AllocsPerRun(50, func() { b.turn(t, p) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if q.answers < 5000 {
		t.Errorf("%d answers", q.answers)
	}
}

// New paths, ETags and values in Huffman code do not allocate either, whether or not they
// enter the table.
func TestNewValuesDoNotAllocate(t *testing.T) {
	q := &quick{forward: http1.Forward{ClientIP: []byte("192.0.2.1"), Proto: []byte("https")}}
	b := newBatch(t, newShared(), q, 1, request)
	s := newScript()
	var reads [][]byte
	for i := range 200 {
		s.Buffer.Reset()
		path := "/assets/" + strconv.Itoa(i*7919) + "/picture.png"
		block := append([]byte("\x82\x87\x01\x01a"), 0x04) // :path without indexing
		coded := hpack.AppendHuffmanString(nil, path)
		block = append(append(block, 0x80|byte(len(coded))), coded...)
		value := strconv.Itoa(10_000_000 + i*104_729)
		block = append(append(append(block, "\x40\x0cx-request-id"...), byte(len(value))), value...) // with indexing
		block = append(append(block, "\x0f\x11\x08"...), value...)                                   // a cookie, not indexed
		s.headers(1, true, block)
		reads = append(reads, bytes.Clone(s.Bytes()))
	}
	i := 0
	b.ids = []int{5}
	p := make([]byte, 4096)
	if n := testing.AllocsPerRun(199, func() {
		b.frames = reads[i]
		i++
		b.turn(t, p)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// relay is a Handler that echoes the body as it arrives, with trailers.
type relay struct{ quick }

func (r *relay) Head(s *http2.Stream, _ []byte, _ bool) { s.Respond(ok200, false) }

func (r *relay) Data(s *http2.Stream, p []byte, end bool) {
	if s.Data(p, false) != len(p) {
		panic("no room")
	}
	s.Consumed(len(p))
}

func (r *relay) Trailers(s *http2.Stream, lines []byte) { s.Trailers(lines) }

func TestBodiesAndTrailersDoNotAllocate(t *testing.T) {
	b := newBatch(t, newShared(), &quick{}, 0, request)
	r := &relay{}
	b.conn = http2.NewServer(newShared(), r)
	b.next = 1
	s := newScript().greet()
	_ = s.WriteWindowUpdate(0, 1<<30)
	b.receive(t, s.take())
	at := func() { b.ids = append(b.ids, s.Len()+5) }
	b.ids = nil
	at()
	s.headers(1, false, []byte("\x83\x87\x84\x01\x01a"))
	for range 3 {
		at()
		_ = s.WriteDataPadded(1, false, zeros(10_000), zeros(100))
	}
	at()
	s.headers(1, true, []byte("\x00\x05x-sum\x0242"))
	b.frames = s.take()
	p := make([]byte, 64<<10)
	turn := func() {
		n := copy(p, b.frames)
		for _, i := range b.ids {
			p[i], p[i+1], p[i+2], p[i+3] = byte(b.next>>24), byte(b.next>>16), byte(b.next>>8), byte(b.next)
		}
		b.next += 2
		b.receive(t, p[:n])
		if b.conn.Streams() != 0 {
			t.Fatal("not over")
		}
	}
	if n := testing.AllocsPerRun(100, turn); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// The same towards a backend: open requests, read responses.
func TestRequestsToBackendsDoNotAllocate(t *testing.T) {
	r := &recorderless{}
	c := http2.NewClient(http2.NewShared(http2.ClientLimits(), new(loop.BufferPool), clock), r, true)
	s := newScript()
	_ = s.WriteSettings()
	if err := c.Receive(s.take()); err != nil {
		t.Fatal(err)
	}
	c.Written()
	text := []byte("POST /service/method HTTP/1.1\r\nHost: backend.test\r\nuser-agent: grpc-go/1.85\r\nte: trailers\r\ncontent-type: application/grpc\r\nconnection: TE\r\n\r\n")
	s.headers(1, false, []byte("\x88\x00\x0ccontent-type\x10application/grpc"))
	_ = s.WriteData(1, false, zeros(100))
	at := []int{5, s.Len() - 104, s.Len() + 5}
	s.headers(1, true, []byte("\x00\x0bgrpc-status\x010"))
	answer := s.take()
	update := []byte{0, 0, 4, 8, 0, 0, 0, 0, 0, 0, 0, 0, 50}
	p := make([]byte, 4096)
	id := uint32(1)
	if n := testing.AllocsPerRun(100, func() {
		q := c.Open(r, text, false)
		if q.Data(zeros(50), true) != 50 {
			t.Fatal("no room")
		}
		n := copy(p, answer)
		for _, i := range at {
			p[i], p[i+1], p[i+2], p[i+3] = byte(id>>24), byte(id>>16), byte(id>>8), byte(id)
		}
		id += 2
		if err := c.Receive(p[:n]); err != nil || c.Streams() != 0 {
			t.Fatal(err, c.Streams())
		}
		c.Written()
		if err := c.Receive(update); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if r.ended != 101 {
		t.Errorf("%d answers", r.ended)
	}
}

type recorderless struct {
	quick
	ended int
}

func (r *recorderless) Head(*http2.Stream, []byte, bool)              {}
func (r *recorderless) Data(s *http2.Stream, p []byte, _ bool)        { s.Consumed(len(p)) }
func (r *recorderless) Trailers(s *http2.Stream, lines []byte)        { r.ended++ }
func (r *recorderless) Reset(*http2.Stream, http2.Code, *http2.Error) { panic("reset") }
