package client

import (
	"bytes"

	"github.com/sluicelb/sluice/core/list"
	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/http2"
	"github.com/sluicelb/sluice/l7/rejected"
)

// stream is the client of one request: a stream of a connection of HTTP/2.
type stream struct {
	taking
	conn     *h2Conn // nil once it was given back
	ex       Exchange
	pipe     http2.Pipe
	links    list.Links[stream] // among those of the connection
	deadline int64
	head     int  // bytes of the request's head
	at       int  // where it lies in the heads of the batch, while it waits there
	full     bool // there was no room
	leaving  bool // the exchange is over, what it sent has not left
	bare     bool // the request is a HEAD
	dirty    bool // body has news for sendBodies
	cut      bool // the response ended without being complete
	waits    bool // in the batch: nothing has been done for it yet
	busy     bool // begin is at work and goes on by itself
}

// Head implements http2.Handler: a request begins.
func (c *h2Conn) Head(of *http2.Stream, head []byte, end bool) {
	c.moved = true
	if c.Farm() == nil || c.heads+len(head) > maxHeads {
		of.Reset(http2.CodeRefusedStream) // which tells the client that it may ask again, or elsewhere
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
		err = http1.ErrHeadTooLong // http2 hands over whole heads: it is beyond the bound of http1
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
	case s.conn == nil: // over
	case s.ex == nil:
		s.leave()
	default:
		s.ex.Proceed() // nothing of a body has come yet: this sets its deadline
	}
}

// refuse answers a head that is not acceptable.
func (s *stream) refuse(err error) {
	class, status, reason := rejected.Classify(err)
	no := rejected.Because(class, status, reason)
	s.conn.countRefused(no)
	s.Answer(s.conn.rejection(no), true)
}

// Data implements http2.Handler: bytes of a request body.
func (c *h2Conn) Data(of *http2.Stream, p []byte, end bool) {
	c.moved = true
	s := of.Owner.(*stream)
	if s.ex == nil && !s.waits || s.ex != nil && s.ex.BodyRefused() {
		of.Consumed(len(p)) // it was answered already
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

// Reset implements http2.Handler: the client, or its connection, is gone.
func (c *h2Conn) Reset(of *http2.Stream, _ http2.Code, _ *http2.Error) {
	s, ok := of.Owner.(*stream)
	if !ok {
		return // given up already
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

// expired handles the deadline.
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

// leave ends the stream after a complete answer; what finds no room yet leaves
// first.
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
		of.Reset(http2.CodeNo) // nobody reads the rest of the request
	}
	s.release()
}

// reset ends the stream before its answer is complete.
func (s *stream) reset(code http2.Code) {
	if of := s.pipe.H2; of != nil {
		of.Reset(code)
	}
	s.release()
}

// release gives the stream back.
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
