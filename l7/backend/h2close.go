package backend

import (
	"slices"

	"github.com/sluicelb/sluice/l7/dial"
	"github.com/sluicelb/sluice/l7/http2"
)

const (
	// pingTime is the time a suspect backend has to respond to a PING.
	pingTime = 5 * second
	// tick is the interval of deadline checks for streams.
	tick = second
)

// BackendExpired implements dial.Owner. It checks the deadlines of the streams.
func (c *h2Conn) BackendExpired() {
	now := c.pool.loop.Now()
	c.busy = true
	for s := c.streams.First(); s != nil; s = s.links.Next() {
		if at := s.deadline; at != 0 && at <= now {
			s.deadline = 0
			s.notify().expired = true
		}
	}
	c.dispatch()
	c.busy = false
	switch {
	case c.conn == nil:
		return
	case c.pinged != 0 && now-c.pinged >= pingTime:
		c.fail(errSilent)
	case c.streams.Len() == 0 && now-c.idleSince >= dial.IdleTime:
		c.shutdown()
	default:
		c.conn.SetDeadline(now + tick)
	}
	c.work()
}

// probe sends a PING after a backend kept an exchange waiting. New exchanges use other
// connections until bytes arrive. At most one PING is outstanding, because servers penalise
// frequent PINGs.
func (c *h2Conn) probe() {
	now := c.pool.loop.Now()
	if c.pinged == 0 && now-c.lastRead >= second/2 && c.conn != nil && c.h2 != nil {
		c.pinged = now
		c.h2.Ping()
	}
}

// shutdown closes the connection once its streams have ended.
func (c *h2Conn) shutdown() {
	if c.closing {
		return
	}
	c.closing = true
	c.dest.remove(c)
	if c.h2 != nil {
		c.h2.Shutdown()
	}
	c.again()
}

// finished reports whether the connection is no longer needed.
func (c *h2Conn) finished() bool {
	return c.streams.Len() == 0 && c.h2 != nil && c.h2.Finished()
}

// finish closes a connection that is no longer needed.
func (c *h2Conn) finish() {
	c.closing = true
	c.dest.remove(c)
	c.close()
}

// protocolError closes a connection whose backend violated the protocol; GOAWAY has the
// code.
func (c *h2Conn) protocolError() {
	if c.conn.Pending() == 0 {
		_ = c.conn.Write(c.h2.Output())
	}
	c.fail(ErrLost)
	c.work()
}

// fail gives up the connection. Its streams get why as their error unless they have one
// already.
func (c *h2Conn) fail(why *Error) {
	if c.err == nil {
		c.err = why
	}
	c.closing = true
	c.dest.remove(c)
	c.gotSettings()
	c.close()
}

// close closes the connection and ends its streams.
func (c *h2Conn) close() {
	if conn := c.conn; conn != nil {
		c.conn = nil
		conn.Discard()
	}
	if c.h2 != nil {
		busy := c.busy
		c.busy = true
		c.h2.Close()
		c.busy = busy
	}
}

// refused lowers the limit after the backend refused a stream.
func (c *h2Conn) refused(code http2.Code) {
	if code == http2.CodeRefusedStream {
		c.limit = max(1, min(c.limit, c.h2.Streams()))
	}
}

// BackendFailed implements dial.Owner.
func (c *h2Conn) BackendFailed(err error) {
	c.conn = nil
	if !c.established {
		c.connectErr = err
		c.notifyOutcome()
	}
	c.fail(ErrLost)
	c.busy = false
	c.ready = slices.DeleteFunc(c.ready, func(s *stream) bool { return s == nil }) // already notified when dispatch was interrupted
	c.work()
}
