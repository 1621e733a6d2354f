package http2

// leaving is how far we are with taking no new streams.
type leaving uint8

const (
	staying       leaving = iota
	leftAnnounced         // GOAWAY without a last stream was sent; those on their way are served
	leftFinal             // GOAWAY with the last stream was sent
)

// leavingPing is what our PINGs carry: the one behind the first GOAWAY, too.
const leavingPing = "sluice.."

// Shutdown asks a client to open no more streams and serves those that are
// already on their way: GOAWAY that names no last stream, then the final one
// when a PING has come back (RFC 9113 section 6.8). A client that does not
// answer is told by Finish, which is for the owner's timer. Towards a backend it
// is Finish.
func (c *Conn) Shutdown() {
	if c.err != nil || c.leaving != staying {
		return
	}
	if c.client {
		c.Finish()
		return
	}
	c.leaving = leftAnnounced
	c.goAway(1<<31-1, CodeNo)
	c.controlFrame(8, framePing, 0, 0)
	c.out = append(c.out, leavingPing...)
}

// Finish says which stream is the last. The connection is to be closed once no
// stream is open.
func (c *Conn) Finish() {
	if c.err != nil || c.leaving == leftFinal {
		return
	}
	c.leaving = leftFinal
	c.goAway(c.peerLast, CodeNo)
}

// Finished reports whether all is said and done: the final GOAWAY was sent, or
// the peer's came, and no stream is open.
func (c *Conn) Finished() bool {
	return c.err != nil || c.streams == 0 && (c.leaving == leftFinal || c.gone)
}

// goAway writes GOAWAY.
func (c *Conn) goAway(last uint32, code Code) {
	c.controlFrame(8, frameGoAway, 0, 0)
	c.out = appendUint32(appendUint32(c.out, last), uint32(code))
}
