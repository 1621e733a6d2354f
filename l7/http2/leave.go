package http2

// leaving is the progress of a graceful shutdown.
type leaving uint8

const (
	staying       leaving = iota
	leftAnnounced         // GOAWAY without a last stream was sent; streams in flight are served
	leftFinal             // GOAWAY with the last stream was sent
)

// leavingPing is the payload of all our PINGs, including that after the first GOAWAY.
const leavingPing = "sluice.."

// Shutdown asks a client to open no more streams and serves those already in flight. It
// sends GOAWAY without a last stream, then the final one when a PING has returned (RFC 9113
// section 6.8). If the client does not respond, the owner calls Finish after a timeout.
// On a connection to a backend it equals Finish.
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

// Finish sends the final GOAWAY. The owner closes the connection once no stream is open.
func (c *Conn) Finish() {
	if c.err != nil || c.leaving == leftFinal {
		return
	}
	c.leaving = leftFinal
	c.goAway(c.peerLast, CodeNo)
}

// Finished reports whether the connection can be closed: no stream is open, and the final
// GOAWAY was sent or the peer's arrived.
func (c *Conn) Finished() bool {
	return c.err != nil || c.streams == 0 && (c.leaving == leftFinal || c.gone)
}

// goAway writes GOAWAY.
func (c *Conn) goAway(last uint32, code Code) {
	c.controlFrame(8, frameGoAway, 0, 0)
	c.out = appendUint32(appendUint32(c.out, last), uint32(code))
}
