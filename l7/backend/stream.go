package backend

import (
	"bytes"
	"io"

	"github.com/sluicelb/sluice/core/list"
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/l7/dial"
	"github.com/sluicelb/sluice/l7/http2"
)

// stream carries one exchange on a connection of HTTP/2: it is a stream, or will be
// one as soon as the connection is established.
type stream struct {
	conn     *h2Conn            // nil once nobody needs it
	links    list.Links[stream] // among those on the connection
	owner    Owner              // nil once only the end of the stream is awaited
	pipe     http2.Pipe
	deadline int64
	began    int64  // when the exchange did
	timeout  int64  // for the backend to say whether it takes an upgrade
	err      error  // why the stream ended before the answer was complete
	key      []byte // what the client's Sec-WebSocket-Accept is made of

	reused         bool // the connection was there before the exchange
	upgrade        bool // the exchange wants another protocol
	tunnel         bool // it asks for WebSocket
	awaitsSettings bool // which say whether the backend takes that

	queued   bool // in the connection's list of those whose exchange is to hear:
	outcome  bool // the connection is established, or cannot be had
	readable bool // there is something to read
	drained  bool // there is room for more of the request
	expired  bool // the deadline passed
}

// lingerTime is how long the end of a stream is awaited.
const lingerTime = 2 * second

// Send implements Transport.
func (s *stream) Send(b []byte, done bool, trailer []byte) error {
	n := bytes.Index(b, []byte("\r\n\r\n")) + 4
	c := s.conn
	end := done && n == len(b) && len(trailer) == 0
	corked := c.cork()
	defer c.uncork(corked)
	if s.upgrade {
		if key, yes := http2.WebSocket(b[:n]); yes {
			s.openTunnel(b[:n], key)
			return nil
		}
	}
	if c.h2 != nil {
		s.pipe.H2 = c.h2.Open(s, b[:n], end)
	}
	if s.pipe.H2 == nil {
		s.err = errUnprocessed // it is full, or about to leave
		s.notify().readable = true
		return nil
	}
	c.lastOpened = s.pipe.H2.ID()
	if end {
		s.pipe.Sent = true
		return nil
	}
	return s.SendBody(b[n:], done, trailer)
}

// SendBody implements Transport; what finds no room is kept.
func (s *stream) SendBody(p []byte, done bool, trailer []byte) error {
	if s.pipe.H2 == nil {
		return errOver
	}
	corked := s.conn.cork()
	defer s.conn.uncork(corked)
	s.pipe.Send(s.buffers(), p, done, trailer)
	return nil
}

// Pending implements Transport.
func (s *stream) Pending() int {
	n, h2 := s.pipe.Waiting(), s.pipe.H2
	if n == 0 && h2 != nil && !s.pipe.Sent && h2.Room() == 0 {
		return 1
	}
	return n
}

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
	s.notify().readable = true
}

// Reused implements Transport.
func (s *stream) Reused() bool { return s.reused }

// notify puts the stream into the list of those whose exchanges have something to
// hear; the caller says what.
func (s *stream) notify() *stream {
	if !s.queued {
		s.queued = true
		s.conn.enqueue(s)
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
func (s *stream) Reserve() { s.conn.shutdown() }

// Trailers implements Transport.
func (s *stream) Trailers() []byte { return s.pipe.Trailers }

// Truncated implements Transport: the end of a stream is said.
func (s *stream) Truncated() bool { return false }

// release gives the stream back.
func (s *stream) release() {
	c := s.conn
	s.pipe.Release(s.buffers())
	c.remove(s)
	*s = stream{pipe: s.pipe, key: s.key[:0]}
	c.pool.streams.Put(s)
}
