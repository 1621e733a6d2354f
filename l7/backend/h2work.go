package backend

import (
	"strings"

	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/l7/http2"
)

const (
	// readsPerTurn and writesPerTurn bound the reads (of readSize) and writes of one
	// connection per loop turn.
	readsPerTurn, writesPerTurn = 4, 8
	readSize                    = 64 << 10

	second = 1_000_000_000 // of the loop's clock
)

// BackendConnected implements dial.Owner.
func (c *h2Conn) BackendConnected(_ int64, _ bool, err error) {
	conn := c.conn
	switch {
	case err != nil && strings.Contains(err.Error(), "no application protocol"):
		c.conn = nil
		c.fail(errNoALPN)
	case err != nil:
		c.conn, c.connectErr = nil, err
		c.fail(ErrLost)
	case conn.TLS() != nil && conn.TLS().Protocol != "h2":
		c.fail(errNoALPN)
	default:
		c.established, c.lastRead = true, c.pool.loop.Now()
		c.h2 = http2.NewClient(c.pool.http2(), c, conn.Secured())
		conn.SetDeadline(c.lastRead + tick)
		if c.closing {
			c.h2.Shutdown()
		}
	}
	c.busy = true
	c.notifyOutcome()
	c.dispatch()
	c.busy = false
	c.work()
}

// notifyOutcome marks the outcome of the connect for all streams.
func (c *h2Conn) notifyOutcome() {
	for s := c.streams.First(); s != nil; s = s.links.Next() {
		s.notify().outcome = true
	}
}

// BackendReadable implements dial.Owner: bytes arrived, or the connection has its turn to
// write.
func (c *h2Conn) BackendReadable() {
	in := c.pool.loop.In[:readSize]
	for range readsPerTurn {
		n, err := c.conn.Read(in)
		if err == loop.ErrDry {
			c.work()
			return
		}
		if err != nil {
			c.fail(ErrLost)
			c.work()
			return
		}
		c.lastRead, c.pinged = c.pool.loop.Now(), 0
		c.busy = true
		broken := c.h2.Receive(in[:n]) != nil
		if c.h2.HasSettings() {
			c.dest.maxConcurrent = max(1, c.h2.Allowed())
			c.gotSettings()
		}
		c.dispatch()
		c.busy = false
		switch {
		case c.conn == nil:
			return
		case broken:
			c.protocolError()
			return
		}
	}
	c.again()
	c.work()
}

// BackendDrained implements dial.Owner.
func (c *h2Conn) BackendDrained() {
	c.busy = true
	c.h2.Resume()
	c.busy = false
	c.work()
}

// work delivers events to the exchanges and writes their output.
func (c *h2Conn) work() {
	if c.busy {
		return
	}
	for range writesPerTurn {
		c.busy = true
		c.dispatch()
		more := c.write()
		c.busy = false
		if !more && len(c.ready) == 0 {
			break
		}
	}
	switch {
	case c.conn == nil:
		if len(c.ready) > 0 {
			c.again()
		}
	case len(c.ready) > 0, c.h2 != nil && c.conn.Pending() == 0 && len(c.h2.Output()) > 0:
		c.again()
	case c.finished():
		c.finish()
	}
}

// write writes the pending output once. It reports whether more may follow.
func (c *h2Conn) write() bool {
	if c.conn == nil || c.h2 == nil || c.conn.Pending() != 0 {
		return false
	}
	out := c.h2.Output()
	if len(out) == 0 {
		return false
	}
	err := c.conn.Write(out)
	c.h2.Written()
	if err != nil {
		c.fail(ErrLost)
		return true
	}
	c.lastWritten = c.lastOpened
	if c.conn.Pending() == 0 {
		c.h2.Resume()
	}
	return true
}

// cork begins work for a stream in an event of its client; uncork ends it. It returns false
// if the connection is at work already.
func (c *h2Conn) cork() bool {
	if c.busy {
		return false
	}
	c.busy = true
	return true
}

// uncork writes at once if the connection has a single stream. Otherwise the output of all
// streams is written together at the end of the turn.
func (c *h2Conn) uncork(corked bool) {
	if !corked {
		return
	}
	if c.streams.Len() == 1 {
		c.write()
	}
	c.busy = false
	if len(c.ready) > 0 || c.conn != nil && c.conn.Pending() == 0 && len(c.h2.Output()) > 0 {
		c.again()
	}
}

// again requests another turn after the other connections had theirs.
func (c *h2Conn) again() {
	switch {
	case c.conn != nil:
		c.pool.loop.Again(c.conn.Conn)
	case !c.posted: // rare: the connection is gone and has no turns
		c.posted = true
		c.pool.loop.Post(func() {
			c.posted = false
			c.work()
		})
	}
}
