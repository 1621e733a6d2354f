package backend

import (
	"slices"

	"github.com/sluicelb/sluice/l7/dial"
	"github.com/sluicelb/sluice/l7/http2"
)

const (
	// pingTime is how long a backend in doubt has to show a sign of life.
	pingTime = 5 * second
	// tick is how often the deadlines of streams are looked at.
	tick = second
)

// BackendExpired implements dial.Owner: time to look after the streams.
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

// probe asks the backend for a sign of life after it kept an exchange waiting.
// Until there is one new exchanges go elsewhere. It is asked no oftener than
// that: servers take offence at frequent PINGs.
func (c *h2Conn) probe() {
	now := c.pool.loop.Now()
	if c.pinged == 0 && now-c.lastRead >= second/2 && c.conn != nil && c.h2 != nil {
		c.pinged = now
		c.h2.Ping()
	}
}

// shutdown lets the streams there are go on and closes the connection behind them.
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

// finished reports whether nobody needs the connection any more.
func (c *h2Conn) finished() bool {
	return c.streams.Len() == 0 && c.h2 != nil && c.h2.Finished()
}

// finish closes a connection that nobody needs any more.
func (c *h2Conn) finish() {
	c.closing = true
	c.dest.remove(c)
	c.close()
}

// protocolError ends a connection whose backend broke the rules; GOAWAY says which.
func (c *h2Conn) protocolError() {
	if c.conn.Pending() == 0 {
		_ = c.conn.Write(c.h2.Output())
	}
	c.fail(ErrLost)
	c.work()
}

// fail gives up the connection: why is what the exchanges on it are told, unless
// they know better.
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

// refused notes that the backend took a stream for one too many.
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
	c.ready = slices.DeleteFunc(c.ready, func(s *stream) bool { return s == nil }) // whom dispatch had told when it was cut short
	c.work()
}
