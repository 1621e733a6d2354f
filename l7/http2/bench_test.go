package http2_test

import (
	"bytes"
	"encoding/binary"
	"testing"

	xhttp2 "golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/http2"
)

// script builds the bytes of a client, with x/net.
type script struct {
	bytes.Buffer
	*xhttp2.Framer
	block bytes.Buffer
	hpack *hpack.Encoder
}

func newScript() *script {
	s := &script{}
	s.Framer = xhttp2.NewFramer(&s.Buffer, nil)
	s.AllowIllegalWrites = true
	s.hpack = hpack.NewEncoder(&s.block)
	return s
}

// greet writes the connection preface of a client.
func (s *script) greet() *script {
	s.WriteString(xhttp2.ClientPreface)
	_ = s.WriteSettings()
	return s
}

// fields encodes name-value pairs.
func (s *script) fields(pairs ...string) []byte {
	s.block.Reset()
	for i := 0; i < len(pairs); i += 2 {
		_ = s.hpack.WriteField(hpack.HeaderField{Name: pairs[i], Value: pairs[i+1]})
	}
	return bytes.Clone(s.block.Bytes())
}

var request = []string{
	":method", "GET", ":scheme", "https", ":authority", "www.example.com:8443", ":path", "/index.html?a=b",
	"user-agent", "h2load nghttp2/1.52.0", "accept", "*/*", "accept-encoding", "gzip, deflate",
}

func (s *script) headers(id uint32, end bool, block []byte) *script {
	_ = s.WriteHeaders(xhttp2.HeadersFrameParam{StreamID: id, BlockFragment: block, EndStream: end, EndHeaders: true})
	return s
}

// take returns the bytes written so far and resets the script.
func (s *script) take() []byte {
	b := bytes.Clone(s.Bytes())
	s.Reset()
	return b
}

const backendAnswer = "HTTP/1.1 200 OK\r\nServer: nginx\r\nDate: Fri, 21 Nov 2026 03:00:00 GMT\r\nContent-Type: text/plain\r\n" +
	"Content-Length: 128\r\nConnection: keep-alive\r\nCache-Control: max-age=3600\r\n\r\n"

var answerBytes = []byte(backendAnswer)

// quick is a Handler with the byte handling of l7/proxy: it writes the head for a backend,
// parses a backend's response, and forwards it.
type quick struct {
	req     http1.Request
	resp    http1.Response
	forward http1.Forward
	options http1.ResponseOptions
	scratch []byte
	raw     bool // the protocol machine alone
	answers int
}

func (q *quick) Head(s *http2.Stream, head []byte, end bool) {
	if q.raw {
		s.Respond(answerBytes, false)
	} else {
		if _, err := q.req.Parse(head); err != nil {
			panic(err)
		}
		q.scratch = http1.AppendRequest(q.scratch[:0], &q.req, &q.forward)
		if _, err := q.resp.Parse(answerBytes); err != nil {
			panic(err)
		}
		q.scratch = http1.AppendResponse(q.scratch[:0], &q.resp, &q.options)
		s.Respond(q.scratch, false)
	}
	if s.Data(zeros(128), true) == 128 {
		q.answers++
	}
}

func (q *quick) Data(*http2.Stream, []byte, bool)              {}
func (q *quick) Trailers(*http2.Stream, []byte)                {}
func (q *quick) Reset(*http2.Stream, http2.Code, *http2.Error) {}
func (q *quick) Writable(*http2.Stream)                        {}
func (q *quick) GoingAway(http2.Code)                          {}
func (q *quick) Outgoing()                                     {}

// batch holds requests of one client that are sent repeatedly with new stream numbers.
type batch struct {
	conn   *http2.Conn
	frames []byte
	ids    []int // offsets of the stream numbers
	next   uint32
}

func newBatch(tb testing.TB, sh *http2.Shared, q *quick, streams int, pairs []string) *batch {
	b := &batch{conn: http2.NewServer(sh, q), next: 1}
	s := newScript().greet()
	for range 2 { // the second block consists of indices
		s.headers(b.next, true, s.fields(pairs...))
		b.next += 2
	}
	_ = s.WriteWindowUpdate(0, 1<<30)
	b.receive(tb, s.take())
	block := s.fields(pairs...)
	for range streams {
		b.ids = append(b.ids, s.Len()+5)
		s.headers(1, true, block)
	}
	_ = s.WriteWindowUpdate(0, uint32(128*streams))
	b.frames = s.take()
	return b
}

// turn receives all requests of the batch in one read.
func (b *batch) turn(tb testing.TB, p []byte) {
	p = p[:copy(p, b.frames)]
	for _, at := range b.ids {
		binary.BigEndian.PutUint32(p[at:], b.next)
		b.next += 2
	}
	b.receive(tb, p)
}

func (b *batch) receive(tb testing.TB, p []byte) {
	if err := b.conn.Receive(p); err != nil {
		tb.Fatal(err)
	}
	if len(b.conn.Output()) == 0 {
		tb.Fatal("no answer")
	}
	b.conn.Written()
	b.conn.Resume()
}

// benchmarkRequests uses eight connections with 100 streams each and responses of 128 bytes.
func benchmarkRequests(b *testing.B, raw bool) {
	q := &quick{raw: raw, forward: http1.Forward{ClientIP: []byte("192.0.2.1"), Proto: []byte("https")}}
	sh := newShared()
	var batches []*batch
	for range 8 {
		batches = append(batches, newBatch(b, sh, q, 100, request))
	}
	p := make([]byte, 64<<10)
	b.ReportAllocs()
	q.answers = 0
	for i := 0; i < b.N; i += 100 {
		batches[i/100%8].turn(b, p)
	}
	b.StopTimer()
	if q.answers < b.N {
		b.Fatalf("%d answers to %d requests", q.answers, b.N)
	}
}

// BenchmarkMachine measures the machine alone: frames and HPACK in both directions.
func BenchmarkMachine(b *testing.B) { benchmarkRequests(b, true) }

// BenchmarkProxied adds the work of http1 on the heads in both directions.
func BenchmarkProxied(b *testing.B) { benchmarkRequests(b, false) }
