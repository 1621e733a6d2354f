package proxy

import (
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/proxyproto"
	"github.com/sluicelb/sluice/core/stats"
	"github.com/sluicelb/sluice/l7/dial"
	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/refused"
	"github.com/sluicelb/sluice/l7/state"
)

// client is one client connection. It holds no buffer while it waits.
type client struct {
	conn  *loop.Conn
	w     *worker
	port  *port
	ex    *exchange     // under way; nil while the client waits or sends a head
	in    []byte        // bytes that were read and not consumed yet; pooled
	seen  int           // of in, how much http1 has looked at for the current head
	farm  uint32        // whose Established counts the connection
	began bool          // a first request head was complete
	busy  bool          // process is at work and goes on by itself
	last  bool          // the last answer was written, but has not left yet
	slow  bool          // it waits because of its address, see penalties
	held  int           // bytes that had not left when await last looked
	kept  *dial.Kept    // what it keeps between exchanges; nil for nothing, and for a stream
	place *state.Places // what it has a place of; nil without a bound

	shown []byte            // see certificate
	intro proxyproto.Intake // what has to come before its first request

	stream *stream // what it is a stream of; nil for HTTP/1
}

const (
	// headRead is how much is read at once from a client that sends heads.
	headRead = 64 << 10
	// lingerTime is how long a connection that was answered for the last time
	// may take to end its side.
	lingerTime = 2 * second
)

func (cl *client) stats() *stats.Farm { return cl.w.shard.Farm(cl.farm) }

// Readable implements loop.Handler.
func (cl *client) Readable(c *loop.Conn) {
	if cl.ex == nil {
		if cl.intro.Expected != proxyproto.Nothing {
			cl.readIntroduction()
			return
		}
		if cl.slow {
			cl.stayOrGo()
			return
		}
		cl.read()
		return
	}
	if cl.ex.phase != phaseTunnel && (c.Broken() || cl.left()) { // a tunnel reads what was said last
		cl.ex.clientGone()
		return
	}
	cl.ex.pumpRequest()
}

// read takes bytes of a head from the socket.
func (cl *client) read() {
	if cl.conn.Pending() != 0 {
		return // the last answer first: Drained comes back here
	}
	if cl.last {
		cl.linger()
		return
	}
	l := cl.w.loop
	if cl.in == nil {
		n, err := cl.conn.Read(l.In[:headRead])
		if err != nil {
			cl.ended(err)
			return
		}
		cl.process(l.In[:n])
		return
	}
	cl.in = l.Buffers.Grow(cl.in, min(4096, max(64, len(cl.in))))
	n, err := cl.conn.Read(cl.in[len(cl.in):cap(cl.in)])
	if err != nil {
		cl.ended(err)
		return
	}
	cl.in = cl.in[:len(cl.in)+n]
	cl.process(cl.in)
}

// process serves the heads in b, one after the other, until an exchange needs
// time or more bytes are needed. b is cl.in or the loop's read buffer.
func (cl *client) process(b []byte) {
	w := cl.w
	if !cl.began && cl.speaksHTTP2(b) {
		return
	}
	for len(b) > 0 {
		if cl.seen > 0 && http1.NeedMore(b, cl.seen) {
			cl.stash(b)
			return
		}
		w.req.Reset()
		n, err := w.req.Parse(b)
		switch {
		case err != nil:
			cl.refuse(err)
			return
		case n == 0:
			cl.stash(b)
			return
		}
		cl.seen = 0
		cl.busy = true
		used := w.begin(cl, b[:n], b[n:])
		cl.busy = false
		if cl.conn == nil || cl.last {
			return // closed, or about to be
		}
		b = b[n+used:]
		if cl.ex != nil || cl.conn.Pending() != 0 {
			cl.keep(b)
			switch {
			case cl.ex == nil:
			case cl.ex.request.done():
				cl.listen()
			default:
				cl.ex.pumpRequest() // the socket may hold more, and no event says so
			}
			return
		}
	}
	cl.keep(nil)
	cl.rest()
}

// stash keeps the beginning of a head and gives its rest the time it has left.
func (cl *client) stash(b []byte) {
	if f := cl.w.engine.farm(cl.port); f != nil {
		if no := f.Limits.CheckPart(b); no != nil {
			cl.refuseFor(no)
			return
		}
	}
	if cl.seen == 0 {
		cl.conn.SetDeadline(cl.w.loop.Now() + cl.requestTimeout())
	}
	cl.seen = len(b)
	cl.keep(b)
	cl.conn.Wait()
}

// keep makes b, a tail of cl.in or of the read buffer, all there is in cl.in.
func (cl *client) keep(b []byte) {
	buffers := &cl.w.loop.Buffers
	if len(b) == 0 {
		if cl.in != nil {
			buffers.Put(cl.in)
			cl.in = nil
		}
		return
	}
	if cl.in != nil {
		cl.in = cl.in[:copy(cl.in[:cap(cl.in)], b)]
		return
	}
	cl.in = append(buffers.Get(len(b)), b...)
}

// rest lets the client wait for its next request.
func (cl *client) rest() {
	if cl.w.engine.farm(cl.port) == nil {
		cl.close()
		return
	}
	cl.conn.SetDeadline(cl.w.loop.Now() + cl.requestTimeout())
	cl.conn.Wait()
}

// resume goes on after an exchange: with what was read ahead, or with the
// socket. A client that has not taken its answer waits until it did.
func (cl *client) resume() {
	if cl.busy {
		return
	}
	if cl.stream != nil {
		cl.leave()
		return
	}
	if cl.conn.Pending() != 0 {
		cl.await(cl.requestTimeout())
		return
	}
	if cl.in != nil {
		cl.process(cl.in)
		return
	}
	cl.rest()
}

func (cl *client) requestTimeout() int64 {
	if f := cl.w.engine.farm(cl.port); f != nil {
		return f.RequestTimeout
	}
	return int64(defaultGrace) / 2 // expel ends what takes longer
}

// await puts the client on the clock until it has taken what is pending.
func (cl *client) await(timeout int64) {
	if cl.held == 0 {
		cl.held = cl.pending()
		cl.setDeadline(cl.w.loop.Now() + 2*timeout)
	}
}

// stalled reports whether the client took nothing of what is pending since the
// last look; if it did, it gets as much time again.
func (cl *client) stalled(timeout int64) bool {
	if cl.held == cl.pending() {
		return true
	}
	cl.held = 0
	cl.await(timeout)
	return false
}

// Drained implements loop.Handler.
func (cl *client) Drained(*loop.Conn) {
	cl.held = 0
	if cl.ex != nil {
		cl.ex.clientDrained()
		return
	}
	if cl.last || cl.conn.Readable() && cl.in == nil {
		cl.read()
		return
	}
	cl.resume()
}

// Expired implements loop.Handler.
func (cl *client) Expired(c *loop.Conn) {
	switch {
	case cl.ex != nil:
		cl.ex.clientExpired()
	case cl.slow:
		cl.waitedOut()
	case c.Pending() != 0:
		if cl.stalled(cl.requestTimeout()) {
			cl.stats().Timeouts++
			cl.note(refused.Timeout, 0, "answer not taken in time")
			cl.abort()
		}
	case cl.intro.Expected != proxyproto.Nothing:
		cl.introductionExpired()
	case cl.seen > 0:
		s := cl.stats()
		s.Timeouts++
		s.Responses[3]++
		cl.note(refused.Timeout, 408, "head not complete in time")
		cl.lastAnswer(408)
	default:
		cl.close()
	}
}

// Failed implements loop.Handler. The exchange may be what is broken, so the
// client is counted out before it ends.
func (cl *client) Failed(*loop.Conn, error) {
	ex := cl.ex
	cl.forget()
	if ex != nil {
		ex.end()
	}
}
