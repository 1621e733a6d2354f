package backend

import (
	"bytes"
	"io"

	"github.com/sluicelb/sluice/core/list"
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/l7/dial"
	"github.com/sluicelb/sluice/l7/http2"
)

// stream transports one exchange on an HTTP/2 connection. The HTTP/2 stream is opened once
// the connection is established.
type stream struct {
	conn     *h2Conn            // nil after release
	links    list.Links[stream] // in the connection's list
	owner    Owner              // nil while only the end of the stream is awaited
	pipe     http2.Pipe
	deadline int64
	began    int64  // start of the exchange
	timeout  int64  // for the backend's SETTINGS before an upgrade
	err      error  // why the stream ended before the response was complete
	key      []byte // input of the client's Sec-WebSocket-Accept

	reused         bool // the connection is older than the exchange
	upgrade        bool // the exchange requests an upgrade
	tunnel         bool // upgrade to WebSocket
	awaitsSettings bool // SETTINGS tell whether the backend supports that

	queued   bool // in the connection's list of streams with events:
	outcome  bool // the connect succeeded or failed
	readable bool // bytes can be read
	drained  bool // more of the request may be sent
	expired  bool // the deadline passed
}

// lingerTime bounds the wait for the end of a stream.
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
		s.err = errUnprocessed // the connection is full or closing
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

// SendBody implements Transport. Bytes beyond the flow-control window are kept.
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

// endRead returns the result of Read if no bytes are available.
func (s *stream) endRead() error {
	switch {
	case s.pipe.Over():
		return io.EOF
	case s.err != nil:
		return s.err
	}
	return loop.ErrDry
}

// SetOwner implements Transport.
func (s *stream) SetOwner(o Owner) { s.owner = o }

// Complete implements Transport.
func (s *stream) Complete() bool { return s.pipe.Over() }

// SetDeadline implements Transport.
func (s *stream) SetDeadline(t int64) { s.deadline = t }

// Wait implements Transport. Streams always report new bytes.
func (s *stream) Wait() {}

// Again implements Transport.
func (s *stream) Again() {
	s.notify().readable = true
}

// Reused implements Transport.
func (s *stream) Reused() bool { return s.reused }

// notify adds the stream to those with undelivered events; the caller sets the event.
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

// Finish implements Transport. A stream that lacks only its end is not reset, because
// backends count resets.
func (s *stream) Finish(bool) {
	if s.pipe.H2 == nil || !s.pipe.Sent || s.pipe.Unread() > 0 {
		s.Discard()
		return
	}
	s.owner = nil
	s.deadline = s.conn.pool.loop.Now() + lingerTime
}

// KeepFor implements Transport. An HTTP/2 backend announces the end of its connection.
func (s *stream) KeepFor(int64) {}

// FinishFor implements Transport. Streams are not kept.
func (s *stream) FinishFor(_ *dial.Kept, _ uint32, whole bool) { s.Finish(whole) }

// Reserve implements Transport. The connection gets no more exchanges.
func (s *stream) Reserve() { s.conn.shutdown() }

// Trailers implements Transport.
func (s *stream) Trailers() []byte { return s.pipe.Trailers }

// Truncated implements Transport. HTTP/2 marks the end of a stream explicitly.
func (s *stream) Truncated() bool { return false }

// release returns the stream to the free list.
func (s *stream) release() {
	c := s.conn
	s.pipe.Release(s.buffers())
	c.remove(s)
	*s = stream{pipe: s.pipe, key: s.key[:0]}
	c.pool.streams.Put(s)
}
