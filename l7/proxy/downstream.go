package proxy

import (
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/l7/dial"
	"github.com/sluicelb/sluice/l7/http2"
)

// An exchange speaks to its client by what is here: the client is a connection
// of HTTP/1 or a stream of HTTP/2.

// unframed reports whether the client gets bodies without chunks.
func (ex *exchange) unframed() bool { return ex.oldClient || ex.client.stream != nil }

// pending is how much of the answer waits for the client.
func (cl *client) pending() int {
	st := cl.stream
	switch {
	case st == nil:
		return cl.conn.Pending()
	case st.full:
		return st.pipe.Waiting() + 1
	}
	return st.pipe.Waiting()
}

// room is how many bytes of a body, most at most, the client takes now. After
// 0 clientDrained is called once there is room.
func (cl *client) room(most int) int {
	st := cl.stream
	switch {
	case st == nil && cl.conn.Pending() != 0:
		return 0
	case st == nil:
		return most
	case st.pipe.H2 == nil || st.pipe.Waiting() > 0:
		return 0
	}
	n := st.pipe.H2.Room()
	st.full = n == 0
	return min(n, most)
}

// readBody reads bytes of the request body, framed as HTTP/1.1 frames them.
func (cl *client) readBody(p []byte) (int, error) {
	if cl.stream != nil {
		return cl.readStream(p)
	}
	return cl.conn.Read(p)
}

// again says that readBody has more.
func (cl *client) again() {
	if cl.stream != nil {
		cl.ex.pumpRequest() // no more than a window
		return
	}
	cl.w.loop.Again(cl.conn)
}

// interim sends a 1xx answer.
func (cl *client) interim(head []byte) error {
	if cl.stream != nil {
		cl.stream.respond(head, false)
		return nil
	}
	return cl.conn.Write(head)
}

// answer sends a whole answer of ours.
func (cl *client) answer(b []byte) error {
	if cl.stream != nil {
		cl.answerStream(b)
		return nil
	}
	return cl.conn.Write(b)
}

// writeBody sends bytes of a response body. done says that they are the last,
// but for the trailer.
func (cl *client) writeBody(p []byte, done bool, trailer []byte) error {
	if cl.stream != nil {
		cl.writeStream(p, done, trailer)
		return nil
	}
	err := cl.conn.Write(p)
	if err == nil && len(trailer) > 0 {
		err = cl.conn.Write(trailer)
	}
	return err
}

// setDeadline calls Expired once now has passed t; 0 unsets it.
func (cl *client) setDeadline(t int64) {
	if cl.stream != nil {
		cl.stream.deadline = t
		return
	}
	cl.conn.SetDeadline(t)
}

// keeps is what the client keeps of connections to backends; nil for nothing.
func (cl *client) keeps() *dial.Kept {
	if cl.stream != nil {
		return cl.stream.mux.kept
	}
	return cl.kept
}

// keeping is keeps where there is something to keep.
func (cl *client) keeping() *dial.Kept {
	switch m := cl.stream; {
	case m == nil && cl.kept == nil:
		cl.kept = dial.NewKept(cl.conn)
	case m != nil && m.mux.kept == nil:
		m.mux.kept = dial.NewSharedKept(cl.conn)
	}
	return cl.keeps()
}

// endTunnel tells the client that its direction of a tunnel is over; reset tells
// that the other one is, too.
func (cl *client) endTunnel(reset bool) {
	switch {
	case cl.stream == nil:
		cl.conn.CloseWrite()
	case reset:
		cl.stream.cut = true
	default:
		cl.writeStream(nil, true, nil)
	}
}

// speaksHTTP2 finds out whether a connection begins with the preface of
// HTTP/2 (prior knowledge, RFC 9113 section 3.3), and serves it then.
func (cl *client) speaksHTTP2(b []byte) bool {
	if b[0] != 'P' || cl.conn.Secured() { // with TLS the handshake tells
		return false
	}
	yes, more := http2.Preface(b)
	switch {
	case yes:
		cl.multiplexed(b)
	case more:
		cl.stash(b)
	}
	return yes || more
}

// http2 is what the HTTP/2 connections of the loop have in common.
func (w *worker) http2() *http2.Shared {
	if w.shared == nil {
		w.shared = http2.NewShared(http2.ServerLimits(), &w.loop.Buffers, w.loop.Now)
		w.frames = make([]byte, framesRead)
		w.streams = loop.NewFreeList[stream](w.loop)
		w.refusedBefore = make([]uint64, len(http2.Errors()))
	}
	return w.shared
}

// firstRead is how much of an answer is read before its client was asked for
// room. Streams keep what finds none, and there may be many of them.
func (cl *client) firstRead() int {
	if cl.stream != nil {
		return 16 << 10
	}
	return loop.ReadSize
}
