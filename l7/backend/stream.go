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
	conn       *h2Conn // nil once nobody needs it
	owner      Owner   // nil once only the end of the stream is awaited
	pipe       http2.Pipe
	next, prev *stream
	deadline   int64
	began      int64  // when the exchange did
	patience   int64  // for the backend to say whether it takes an upgrade
	err        error  // why the stream ended before the answer was complete
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
)

// add puts a stream for an exchange on the connection.
func (t *h2Conn) add(ask *Ask) *stream {
	s := t.pool.streams.Get()
	s.conn, s.owner, s.reused = t, ask.Owner, t.established
	s.pipe.Bare, s.upgrade, s.began, s.patience = ask.Bare, ask.Upgrade, ask.Began, ask.Timeout
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
	if n := s.pipe.Read(s.buffers(), p); n > 0 {
		return n, nil
	}
	return 0, s.endRead()
}

func (s *stream) buffers() *loop.BufferPool { return &s.conn.pool.loop.Buffers }

// endRead is what Read reports when nothing is there.
func (s *stream) endRead() error {
	switch {
	case s.pipe.Over():
		return io.EOF
	case s.err != nil:
		return s.err
	}
	return loop.ErrDry
}

// Complete implements Transport.
func (s *stream) Complete() bool { return s.pipe.Over() }

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
	if s.pipe.H2 != nil {
		s.pipe.H2.Reset(http2.CodeCancel)
		s.pipe.H2 = nil
	}
	s.release()
}

// Finish implements Transport. A stream of which nothing but its end has not come
// is not worth a reset: backends count those.
func (s *stream) Finish(bool) {
	if s.pipe.H2 == nil || !s.pipe.Sent || s.pipe.Unread() > 0 {
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
func (s *stream) Trailers() []byte { return s.pipe.Trailers }

// Truncated implements Transport: the end of a stream is said.
func (s *stream) Truncated() bool { return false }

// release gives the stream back.
func (s *stream) release() {
	t := s.conn
	s.pipe.Release(s.buffers())
	t.remove(s)
	*s = stream{pipe: s.pipe, key: s.key[:0]}
	t.pool.streams.Put(s)
}
