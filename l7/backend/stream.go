package backend

import (
	"io"

	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/l7/dial"
	"github.com/sluicelb/sluice/l7/http2"
)

// stream carries one exchange on a connection of HTTP/2: it is a stream, or will be
// one as soon as the connection is established.
type stream struct {
	conn       *h2Conn       // nil once nobody needs it
	owner      Owner         // nil once only the end of the stream is awaited
	h2         *http2.Stream // nil before it was opened and once it is over
	next, prev *stream
	in         []byte // of the answer, not read yet; pooled
	at         int    // bytes of in that were read
	lines      int    // of those behind them, the ones that are read as they are: heads and last chunk
	trailers   []byte // of the answer, lines
	out        []byte // of the request body, waits for room; pooled
	tail       []byte // trailers of the request, wait for out
	deadline   int64
	began      int64  // when the exchange did
	patience   int64  // for the backend to say whether it takes an upgrade
	err        error  // why the stream ended before the answer was complete
	chunked    bool   // the body of the answer is read in chunks
	bare       bool   // it is read without them all the same
	ended      bool   // the whole answer has come
	told       bool   // its last chunk is in in
	last       bool   // out, and tail, are the end of the request
	sent       bool   // the end of the request was sent
	reused     bool   // the connection was there before the exchange
	upgrade    bool   // the exchange wants another protocol
	tunnel     bool   // it asks for WebSocket
	waits      bool   // for the backend to say whether it takes that
	key        []byte // what the client's Sec-WebSocket-Accept is made of

	news    bool // in the connection's list of those that have some:
	outcome bool // the connection is established, or cannot be had
	moved   bool // there is something to read
	drained bool // there is room for more of the request
	expired bool // the deadline passed
}

const (
	// lingerTime is how long the end of a stream is awaited.
	lingerTime = 2 * second
	// keepLines is the largest array for trailers a stream keeps while it rests.
	keepLines = 1 << 10
)

// add puts a stream for an exchange on the connection.
func (t *h2Conn) add(ask *Ask) *stream {
	s := t.pool.streams.Get()
	s.conn, s.owner, s.reused = t, ask.Owner, t.established
	s.bare, s.upgrade, s.began, s.patience = ask.Bare, ask.Upgrade, ask.Began, ask.Timeout
	t.often = t.often || t.some
	t.some = true
	if s.reused && s.upgrade && !t.h2.Settled() {
		s.await()
	}
	s.prev = t.tail
	if t.tail != nil {
		t.tail.next = s
	} else {
		t.head = s
	}
	t.tail = s
	t.streams++
	return s
}

// remove takes a stream off the connection.
func (t *h2Conn) remove(s *stream) {
	if s.prev != nil {
		s.prev.next = s.next
	} else {
		t.head = s.next
	}
	if s.next != nil {
		s.next.prev = s.prev
	} else {
		t.tail = s.prev
	}
	t.streams--
	if t.streams == 0 {
		t.idleAt = t.pool.loop.Now()
		if t.up != nil && !t.busy && t.over() {
			t.again()
		}
	}
}

// resetReasons are the texts for the codes of RST_STREAM.
var resetReasons = func() (t [14]*Error) {
	for code := range t {
		t[code] = &Error{Reason: "backend reset the stream: " + http2.Code(code).String()}
	}
	return t
}()

// Read implements Transport.
func (s *stream) Read(p []byte) (int, error) {
	if s.at == len(s.in) {
		return 0, s.endRead()
	}
	n := copy(p, s.in[s.at:s.at+s.lines])
	s.at += n
	s.lines -= n
	part := s.in[s.at:]
	if s.lines > 0 || s.told {
		part = nil // the rest are lines, or nothing
	}
	const frame = 32 // around a chunk
	switch room := len(p) - n; {
	case !s.chunked || s.bare:
		n += copy(p[n:], part)
		part = part[:min(room, len(part))]
	case len(part) > 0 && room > frame:
		part = part[:min(room-frame, len(part))]
		n += len(http2.AppendChunk(p[n:n], part))
	default:
		part = nil
	}
	s.at += len(part)
	if len(part) > 0 && s.h2 != nil {
		s.h2.Consumed(len(part))
	}
	if s.at == len(s.in) {
		s.conn.pool.loop.Buffers.Put(s.in)
		s.in, s.at = nil, 0
	}
	s.finishChunks()
	return n, nil
}

// endRead is what Read reports when nothing is there.
func (s *stream) endRead() error {
	switch {
	case s.ended:
		return io.EOF
	case s.err != nil:
		return s.err
	}
	return loop.ErrDry
}

// Complete implements Transport.
func (s *stream) Complete() bool { return s.ended && s.at == len(s.in) }

// finishChunks puts the last chunk behind a body that is read in chunks, once
// all others were.
func (s *stream) finishChunks() {
	if !s.ended || !s.chunked || s.bare || s.told || len(s.in) > 0 {
		return
	}
	s.told = true
	s.in = http2.AppendLastChunk(s.conn.pool.loop.Buffers.Grow(s.in, len(s.trailers)+8), s.trailers)
	s.lines = len(s.in)
}

// bring adds bytes of the answer to what is to be read.
func (s *stream) bring(p []byte) {
	if s.at > 0 {
		s.in = s.in[:copy(s.in, s.in[s.at:])]
		s.at = 0
	}
	s.in = append(s.conn.pool.loop.Buffers.Grow(s.in, len(p)), p...)
}

// SetDeadline implements Transport.
func (s *stream) SetDeadline(t int64) { s.deadline = t }

// Wait implements Transport. What comes is always told.
func (s *stream) Wait() {}

// Again implements Transport.
func (s *stream) Again() {
	s.note().moved = true
}

// Reused implements Transport.
func (s *stream) Reused() bool { return s.reused }

// note puts the stream into the list of those that have news.
func (s *stream) note() *stream {
	if !s.news {
		s.news = true
		s.conn.announce(s)
	}
	return s
}

// Discard implements Transport.
func (s *stream) Discard() {
	if s.h2 != nil {
		s.h2.Reset(http2.CodeCancel)
		s.h2 = nil
	}
	s.release()
}

// Finish implements Transport. A stream of which nothing but its end has not come
// is not worth a reset: backends count those.
func (s *stream) Finish(bool) {
	if s.h2 == nil || !s.sent || s.at < len(s.in) {
		s.Discard()
		return
	}
	s.owner = nil
	s.deadline = s.conn.pool.loop.Now() + lingerTime
}

// FinishFor implements Transport: streams are not kept.
func (s *stream) FinishFor(_ *dial.Kept, _ uint32, whole bool) { s.Finish(whole) }

// Reserve implements Transport: no exchange comes to the connection any more.
func (s *stream) Reserve() { s.conn.leave() }

// Trailers implements Transport.
func (s *stream) Trailers() []byte { return s.trailers }

// Truncated implements Transport: the end of a stream is said.
func (s *stream) Truncated() bool { return false }

// release gives the stream back.
func (s *stream) release() {
	t := s.conn
	buffers := &t.pool.loop.Buffers
	for _, b := range [...]*[]byte{&s.in, &s.out} {
		if *b != nil {
			buffers.Put(*b)
		}
	}
	for _, b := range [...]*[]byte{&s.trailers, &s.tail} {
		if cap(*b) > keepLines {
			*b = nil
		}
	}
	t.remove(s)
	*s = stream{trailers: s.trailers[:0], tail: s.tail[:0], key: s.key[:0]}
	t.pool.streams.Put(s)
}
