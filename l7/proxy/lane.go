package proxy

import (
	"io"

	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/l7/http2"
)

// lane carries one exchange on a trunk: it is a stream, or will be one as soon
// as the connection stands. To its exchange it is a connection to a backend that
// speaks HTTP/1.1, but for the chunks of request bodies.
type lane struct {
	trunk      *trunk        // nil once nobody needs it
	ex         *exchange     // nil once only the end of the stream is awaited
	h2         *http2.Stream // nil before it was opened and once it is over
	next, prev *lane
	in         []byte // of the answer, not read yet; pooled
	at         int    // bytes of in that were read
	lines      int    // of those behind them, the ones that are read as they are: heads and last chunk
	trailers   []byte // of the answer, lines
	out        []byte // of the request body, waits for room; pooled
	tail       []byte // trailers of the request, wait for out
	deadline   int64
	err        error  // why the stream ended before the answer was complete
	chunked    bool   // the body of the answer is read in chunks
	bare       bool   // it is read without them all the same
	ended      bool   // the whole answer has come
	told       bool   // its last chunk is in in
	last       bool   // out, and tail, are the end of the request
	sent       bool   // the end of the request was sent
	reused     bool   // the trunk stood before the exchange came
	tunnel     bool   // it asks for WebSocket
	waits      bool   // for the backend to say whether it takes that
	key        []byte // what the client's Sec-WebSocket-Accept is made of

	news    bool // in the trunk's list of those that have some:
	stands  bool // the trunk stands, or cannot be had
	moved   bool // there is something to read
	drained bool // there is room for more of the request
	expired bool // the deadline passed
}

// laneError is why a stream ended early.
type laneError struct {
	reason string
	lost   bool // its connection did: what could be repeated on another may be
	broke  bool // the backend broke the rules
}

func (e *laneError) Error() string { return e.reason }

var (
	// errUnprocessed: the backend has not looked at the request.
	errUnprocessed = &laneError{reason: "backend refuses the stream", broke: true}
	errLost        = &laneError{reason: "connection ended before the answer", lost: true}
	errForeign     = &laneError{reason: "backend does not speak HTTP/2", broke: true}
	errNoALPN      = &laneError{reason: "backend does not agree on h2 (ALPN)", broke: true}
	errNoTunnel    = &laneError{reason: "backend takes no WebSocket over HTTP/2 (RFC 8441)", broke: true}
	errSilent      = &laneError{reason: "connection is dead: no answer to a PING", lost: true}
	errOver        = &laneError{reason: "stream is over"}
)

// resetReasons are the texts for the codes of RST_STREAM.
var resetReasons = func() (t [14]*laneError) {
	for code := range t {
		t[code] = &laneError{reason: "backend reset the stream: " + http2.Code(code).String()}
	}
	return t
}()

// Read implements carrier: the answer as HTTP/1.1 has it.
func (ln *lane) Read(p []byte) (int, error) {
	if ln.at == len(ln.in) {
		return 0, ln.endRead()
	}
	n := copy(p, ln.in[ln.at:ln.at+ln.lines])
	ln.at += n
	ln.lines -= n
	part := ln.in[ln.at:]
	if ln.lines > 0 || ln.told {
		part = nil // the rest are lines, or nothing
	}
	const frame = 32 // around a chunk
	switch room := len(p) - n; {
	case !ln.chunked || ln.bare:
		n += copy(p[n:], part)
		part = part[:min(room, len(part))]
	case len(part) > 0 && room > frame:
		part = part[:min(room-frame, len(part))]
		n += len(http2.AppendChunk(p[n:n], part))
	default:
		part = nil
	}
	ln.at += len(part)
	if len(part) > 0 && ln.h2 != nil {
		ln.h2.Consumed(len(part))
	}
	if ln.at == len(ln.in) {
		ln.trunk.w.loop.Buffers.Put(ln.in)
		ln.in, ln.at = nil, 0
	}
	ln.finishChunks()
	return n, nil
}

// endRead is what Read reports when nothing is there.
func (ln *lane) endRead() error {
	switch {
	case ln.ended:
		return io.EOF
	case ln.err != nil:
		return ln.err
	}
	return loop.ErrDry
}

// complete reports whether all of the answer was read but for its trailers.
func (ln *lane) complete() bool { return ln.ended && ln.at == len(ln.in) }

// finishChunks puts the last chunk behind a body that is read in chunks, once
// all others were.
func (ln *lane) finishChunks() {
	if !ln.ended || !ln.chunked || ln.bare || ln.told || len(ln.in) > 0 {
		return
	}
	ln.told = true
	ln.in = http2.AppendLastChunk(ln.trunk.w.loop.Buffers.Grow(ln.in, len(ln.trailers)+8), ln.trailers)
	ln.lines = len(ln.in)
}

// bring adds bytes of the answer to what is to be read.
func (ln *lane) bring(p []byte) {
	if ln.at > 0 {
		ln.in = ln.in[:copy(ln.in, ln.in[ln.at:])]
		ln.at = 0
	}
	ln.in = append(ln.trunk.w.loop.Buffers.Grow(ln.in, len(p)), p...)
}

// SetDeadline implements carrier.
func (ln *lane) SetDeadline(t int64) { ln.deadline = t }

// Wait implements carrier. What comes is always told.
func (ln *lane) Wait() {}

// Again implements carrier.
func (ln *lane) Again() {
	ln.note().moved = true
}

// Reused implements carrier.
func (ln *lane) Reused() bool { return ln.reused }

// note puts the lane into the list of those that have news.
func (ln *lane) note() *lane {
	if !ln.news {
		ln.news = true
		ln.trunk.announce(ln)
	}
	return ln
}

// Discard implements carrier.
func (ln *lane) Discard() {
	if ln.h2 != nil {
		ln.h2.Reset(http2.CodeCancel)
		ln.h2 = nil
	}
	ln.release()
}

// finish ends the use of the lane after a complete answer. A stream of which
// nothing but its end has not come is not worth a reset: backends count those.
func (ln *lane) finish() {
	if ln.h2 == nil || !ln.sent || ln.at < len(ln.in) {
		ln.Discard()
		return
	}
	ln.ex = nil
	ln.deadline = ln.trunk.w.loop.Now() + lingerTime
}

// release gives the lane back.
func (ln *lane) release() {
	t := ln.trunk
	buffers := &t.w.loop.Buffers
	for _, b := range [...]*[]byte{&ln.in, &ln.out} {
		if *b != nil {
			buffers.Put(*b)
		}
	}
	for _, b := range [...]*[]byte{&ln.trailers, &ln.tail} {
		if cap(*b) > keepLines {
			*b = nil
		}
	}
	t.remove(ln)
	*ln = lane{trailers: ln.trailers[:0], tail: ln.tail[:0], key: ln.key[:0]}
	t.w.trunks.free.Put(ln)
}
