package load

import (
	"fmt"
	"io"
	"syscall"
	"time"

	"github.com/sluicelb/sluice/bench/poll"
	"github.com/sluicelb/sluice/bench/witness"
)

// turn waits for events until the deadline and handles them.
func (c *Client) turn(deadline int64) error { return c.turnPaced(deadline, nil) }

func (c *Client) turnPaced(deadline int64, p *pace) error {
	n, err := c.poll.Wait(time.Duration(max(0, deadline-poll.Now())))
	if err != nil {
		return err
	}
	for i := range n {
		e := c.poll.Event(i)
		if e.Token == tokenTimer {
			c.release(p)
			continue
		}
		if c.conns[e.Token].generation == e.Generation {
			c.event(e.Token, e.Bits)
		}
	}
	return nil
}

// event advances one connection. Events are edge-triggered, so both directions are
// checked.
func (c *Client) event(i int32, bits uint32) {
	cn := &c.conns[i]
	if cn.phase == connecting {
		if !c.connected(i, cn) {
			return
		}
	} else if bits&poll.Out != 0 {
		c.push(i, cn)
	}
	switch {
	case bits&(poll.In|poll.Closed) == 0 || cn.phase == closed || cn.phase == connecting:
	case cn.tls != nil:
		c.receiveSecure(i, cn, bits)
	default:
		c.receive(i, cn, bits)
	}
}

// connected starts the exchange of a new connection, or its handshake.
func (c *Client) connected(i int32, cn *conn) bool {
	if poll.Failure(cn.fd) != nil {
		c.fail(i, errConnect)
		return false
	}
	if c.spec.TLS != nil {
		cn.tls, cn.phase = newSession(cn.fd, c.slots[i].config), shaking
		return c.shake(i, cn)
	}
	c.send(i, cn.due) // due includes the connect
	return c.conns[i].phase == head
}

// shake continues a handshake and reports whether it is complete. The request follows at
// once.
func (c *Client) shake(i int32, cn *conn) bool {
	over, err := cn.tls.shake()
	if !over {
		return false
	}
	if err != nil {
		c.fail(i, fmt.Errorf("%w: handshake: %w", errTLS, err))
		return false
	}
	if err := c.spec.TLS.check(cn.tls.tls.ConnectionState(), c.spec.TLS.Resume && !c.warm.active); err != nil {
		c.fail(i, err)
		return false
	}
	c.send(i, cn.due)
	return c.conns[i].phase == head
}

// receive reads until the socket is drained or the exchange has ended.
func (c *Client) receive(i int32, cn *conn, bits uint32) {
	generation := cn.generation
	for cn.generation == generation && cn.phase != closed {
		size, flags := readSize, 0
		if cn.phase == body {
			size, flags = min(cn.need, discardSize), poll.Discard
		}
		n, errno := poll.Recv(cn.fd, c.buf[:size], flags)
		switch {
		case errno == syscall.EAGAIN:
			return
		case errno != 0:
			c.ended(i, cn, fmt.Errorf("%w: %w", errReset, errno))
			return
		case n == 0:
			c.ended(i, cn, nil)
			return
		}
		if err := c.bytes(i, cn, n); err != nil {
			c.fail(i, err)
			return
		}
		// A short read drained the socket; only a close may remain. After a complete
		// response nothing is expected before the next one.
		if n < size && bits&poll.Closed == 0 {
			return
		}
	}
}

// receiveSecure is receive over TLS. The session tracks whether the socket is drained.
func (c *Client) receiveSecure(i int32, cn *conn, bits uint32) {
	cn.tls.dry = false
	cn.tls.ending = cn.tls.ending || bits&poll.Closed != 0
	if cn.phase == shaking && !c.shake(i, cn) {
		return
	}
	generation := cn.generation
	for cn.generation == generation && cn.phase != closed {
		n, err := cn.tls.read(c.buf[:readSize])
		switch {
		case err == errDry:
			return
		case err == io.EOF:
			c.ended(i, cn, nil)
			return
		case err != nil:
			c.ended(i, cn, fmt.Errorf("%w: %w", errTLS, err))
			return
		}
		if err := c.bytes(i, cn, n); err != nil {
			c.fail(i, err)
			return
		}
	}
}

// bytes handles n bytes read into buf, or discarded.
func (c *Client) bytes(i int32, cn *conn, n int) error {
	c.result.BytesIn += uint64(n)
	if cn.phase == body {
		cn.need -= n
		if cn.need == 0 {
			c.done(i, cn)
		}
		return nil
	}
	if cn.phase != head {
		if cn.phase == quiet {
			c.flying++ // fail decrements it
		}
		return errExtra
	}
	b := c.buf[:n]
	if len(cn.part) > 0 {
		b = append(cn.part, b...)
	}
	headLen, bodyLen, complete, err := c.framer.frame(b)
	if err != nil {
		return err
	}
	if !complete {
		if len(b) > readSize {
			return errHead
		}
		cn.part = append([]byte(nil), b...)
		return nil
	}
	cn.part = nil
	if c.warm.active && c.spec.LearnCookie != "" {
		if err := c.learn(i, b[:headLen]); err != nil {
			return err
		}
	}
	c.result.BytesIn -= uint64(headLen)
	if bodyLen != c.spec.Expect {
		return errLength
	}
	if len(b) > headLen+bodyLen {
		return errExtra
	}
	cn.need = headLen + bodyLen - len(b)
	cn.phase = body
	if cn.need == 0 {
		c.done(i, cn)
	}
	return nil
}

// done ends a successful exchange. One clock reading is its end and the start of the
// next.
func (c *Client) done(i int32, cn *conn) {
	now := poll.Now()
	if !c.warm.active {
		c.result.Requests++
		c.latency.Record(now - cn.due)
		if c.spec.Rate > 0 {
			c.result.Samples = append(c.result.Samples, witness.Sample{Due: c.origin + cn.due, Took: now - cn.due})
		}
		c.last = now
	}
	if c.spec.New {
		cn.phase = ending // the exchange ends with the connection
		return
	}
	cn.phase = quiet
	c.flying--
	c.follow(i, now)
}

// follow starts the next exchange of a free slot, if any.
func (c *Client) follow(i int32, now int64) {
	switch {
	case c.warm.active:
		c.warmNext()
	case c.spec.Rate > 0:
		c.idle = append(c.idle, i)
	case now < c.until:
		c.next(i, now)
	}
}

// ended handles the end of a connection, which is expected in one phase only. err is the
// reason, or nil after an orderly close.
func (c *Client) ended(i int32, cn *conn, err error) {
	if cn.phase == ending && err == nil {
		c.drop(i)
		c.flying--
		c.follow(i, poll.Now())
		return
	}
	if cn.phase == quiet {
		// The proxy closed an idle connection. That is an error too: it must keep it, and
		// the number of connections would be wrong.
		c.flying++
	}
	if err == nil {
		err = errEarly
	}
	c.fail(i, err)
}
