package proxy

import (
	"github.com/sluicelb/sluice/l7/http2"
	"github.com/sluicelb/sluice/l7/refused"
)

// Reset implements http2.Handler: the client, or its connection, is gone.
func (m *multiplex) Reset(s *http2.Stream, _ http2.Code, _ *http2.Error) {
	cl, ok := s.Owner.(*client)
	if !ok {
		return // given up already
	}
	cl.stream.pipe.H2 = nil
	switch {
	case cl.ex != nil:
		cl.ex.clientGone()
		return
	case cl.stream.waits:
		cl.stats().ClientAborts++
	}
	cl.release()
}

// expired handles the deadline of a stream.
func (cl *client) expired() {
	switch {
	case cl.ex != nil:
		cl.ex.clientExpired()
	case cl.stream.leaving && cl.stalled(cl.requestTimeout()):
		cl.stats().Timeouts++
		cl.note(refused.Timeout, 0, "answer not taken in time")
		cl.reset(http2.CodeCancel)
	}
}

// leave ends the stream after a complete answer; what finds no room yet leaves
// first.
func (cl *client) leave() {
	st := cl.stream
	if st.cut {
		cl.reset(http2.CodeCancel)
		return
	}
	cl.writeStream(nil, true, nil)
	if st.pipe.Waiting() > 0 {
		st.leaving = true
		cl.await(cl.requestTimeout())
		return
	}
	if h2 := st.pipe.H2; h2 != nil {
		h2.Reset(http2.CodeNo) // nobody reads the rest of the request
	}
	cl.release()
}

// reset ends the stream before its answer is complete.
func (cl *client) reset(code http2.Code) {
	if s := cl.stream.pipe.H2; s != nil {
		s.Reset(code)
	}
	cl.release()
}

// release gives the client of a stream back.
func (cl *client) release() {
	st, w := cl.stream, cl.w
	m := st.mux
	if st.waits {
		m.withdraw(cl)
	}
	m.streams.Remove(&st.links)
	m.heads -= st.head
	if m.streams.Len() == 0 {
		m.idleAt = w.loop.Now()
	}
	st.pipe.Release(&w.loop.Buffers)
	st.mux = nil
	*cl = client{w: w, farm: cl.farm}
	w.streams.Put(st)
	w.clients.Put(cl)
}
