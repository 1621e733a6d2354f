package client

import (
	"bytes"

	"github.com/sluicelb/sluice/core/list"
	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/http2"
	"github.com/sluicelb/sluice/l7/rejected"
)

// stream is the client of one request: a stream of an HTTP/2 connection.
type stream struct {
	taking
	conn     *h2Conn // nil after release
	ex       Exchange
	pipe     http2.Pipe
	links    list.Links[stream] // in the connection's list
	deadline int64
	head     int  // bytes of the request's head
	at       int  // its offset in the batch's heads while waiting there
	full     bool // there was no room
	leaving  bool // the exchange is over, but its output has not left
	bare     bool // the request is HEAD
	dirty    bool // sendBodies has work for it
	cut      bool // the response ended incomplete
	waits    bool // in the batch, not begun
	busy     bool // begin is running and will continue
}

// Head implements http2.Handler. A request begins.
func (c *h2Conn) Head(of *http2.Stream, head []byte, end bool) {
	c.moved = true
	if c.Farm() == nil || c.heads+len(head) > maxHeads {
		of.Reset(http2.CodeRefusedStream) // the client may repeat the request
		return
	}
	c.Peer.begin()
	c.server.shard.Loop().HTTP2Streams++
	s := c.server.streams.Get()
	*s = stream{conn: c, pipe: s.pipe, head: len(head)}
	s.pipe.H2, s.pipe.Ended = of, end
	s.bare = bytes.HasPrefix(head, []byte("HEAD "))
	c.heads += s.head
	of.Owner = s
	c.streams.PushBack(&s.links, s)
	if c.batch.count > 0 || c.h2.More() {
		c.postpone(s, head)
		return
	}
	s.begin(head)
}

// begin serves the request.
func (s *stream) begin(head []byte) {
	c, r := s.conn, s.conn.server.request
	c.batch.begun++
	r.Reset()
	n, err := r.Parse(head)
	if err == nil && n != len(head) {
		err = http1.ErrHeadTooLong // http2 delivers complete heads: this one exceeds the limit of http1
	}
	if err != nil {
		s.refuse(err)
		return
	}
	f := c.Farm()
	if f == nil {
		s.reset(http2.CodeCancel)
		return
	}
	s.pipe.Chunked = r.Body() == http1.BodyChunked
	s.busy = true
	c.server.handler.Begin(s, f, head, nil)
	s.busy = false
	switch {
	case s.conn == nil: // it has ended
	case s.ex == nil:
		s.leave()
	default:
		s.ex.Proceed() // no body bytes have arrived: this sets the deadline
	}
}

// refuse responds to an unacceptable head.
func (s *stream) refuse(err error) {
	class, status, reason := rejected.Classify(err)
	no := rejected.Because(class, status, reason)
	s.conn.countRefused(no)
	s.Answer(s.conn.rejection(no), true)
}

// Data implements http2.Handler for request bodies.
func (c *h2Conn) Data(of *http2.Stream, p []byte, end bool) {
	c.moved = true
	s := of.Owner.(*stream)
	if s.ex == nil && !s.waits || s.ex != nil && s.ex.BodyRefused() {
		of.Consumed(len(p)) // the response is complete already
		p = nil
	}
	buffers := &c.server.loop.Buffers
	s.pipe.Bring(buffers, p)
	if end {
		s.pipe.EndReceived(buffers)
	}
	s.dirty, c.dirty = true, true
}

// Trailers implements http2.Handler.
func (c *h2Conn) Trailers(of *http2.Stream, lines []byte) {
	c.moved = true
	s := of.Owner.(*stream)
	s.pipe.BringTrailers(lines)
	s.pipe.EndReceived(&c.server.loop.Buffers)
	s.dirty, c.dirty = true, true
}

// Writable implements http2.Handler.
func (c *h2Conn) Writable(of *http2.Stream) {
	s := of.Owner.(*stream)
	if !s.pipe.Push(&c.server.loop.Buffers) {
		return
	}
	if s.leaving {
		s.leave()
		return
	}
	s.held, s.full = 0, false
	if s.ex != nil {
		s.ex.ClientDrained()
	}
}

// Reset implements http2.Handler. The client or its connection is gone.
func (c *h2Conn) Reset(of *http2.Stream, _ http2.Code, _ *http2.Error) {
	s, ok := of.Owner.(*stream)
	if !ok {
		return // already given up
	}
	s.pipe.H2 = nil
	switch {
	case s.ex != nil:
		s.ex.ClientGone()
		return
	case s.waits:
		c.Stats().ClientAborts++
	}
	s.release()
}

// expired handles a passed deadline.
func (s *stream) expired() {
	c := s.conn
	switch {
	case s.ex != nil:
		s.ex.ClientExpired()
	case s.leaving && s.Stalled(c.timeout()):
		c.late("answer not taken in time")
		s.reset(http2.CodeCancel)
	}
}

// leave ends the stream after a complete response, once its pending output has left.
func (s *stream) leave() {
	if s.cut {
		s.reset(http2.CodeCancel)
		return
	}
	s.write(nil, true, nil)
	if s.pipe.Waiting() > 0 {
		s.leaving = true
		s.Await(s.conn.timeout())
		return
	}
	if of := s.pipe.H2; of != nil {
		of.Reset(http2.CodeNo) // the rest of the request is not read
	}
	s.release()
}

// reset ends the stream with an incomplete response.
func (s *stream) reset(code http2.Code) {
	if of := s.pipe.H2; of != nil {
		of.Reset(code)
	}
	s.release()
}

// release recycles the stream.
func (s *stream) release() {
	c := s.conn
	if s.waits {
		c.withdraw(s)
	}
	c.streams.Remove(&s.links)
	c.heads -= s.head
	if c.streams.Len() == 0 {
		c.idleAt = c.server.loop.Now()
	}
	s.pipe.Release(&c.server.loop.Buffers)
	*s = stream{pipe: s.pipe}
	c.server.streams.Put(s)
}
