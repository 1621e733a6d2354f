package backend

import (
	"github.com/sluicelb/sluice/core/list"
	"github.com/sluicelb/sluice/l7/dial"
	"github.com/sluicelb/sluice/l7/http2"
)

// h2Conn is one connection of HTTP/2 to a backend, which the exchanges of a loop
// share: each has a stream on it. What they say leaves together, in one write per
// turn of the loop.
type h2Conn struct {
	pool   *Pool
	conn   *dial.Conn // nil once it is gone
	h2     *http2.Conn
	target dial.Target
	dest   *destination

	streams list.List[stream] // in the order they came
	ready   []*stream         // those whose exchanges have something to hear

	began       int64 // when the connect was begun
	lastRead    int64 // when bytes last came
	pinged      int64 // when a PING was sent that nothing has come after; 0 without one
	idleSince   int64 // since when there has been no stream
	limit       int   // streams it may have
	exchanges   int   // that came
	established bool
	reported    bool   // an exchange was told that it is established
	hasSettings bool   // the backend has said what it allows
	closing     bool   // takes no more streams
	busy        bool   // at work, and writes at its end
	posted      bool   // work was posted
	lastOpened  uint32 // stream that was opened last
	lastWritten uint32 // stream opened last whose head was written

	connectErr error  // why the connect failed
	err        *Error // why the connection is no longer usable
}

const (
	// maxStreams bounds the streams of a connection whatever the backend allows:
	// one lost packet holds up all of them.
	maxStreams = 128
	// maxUnwritten is how much may wait to be written before no more streams are
	// opened: request bodies never reach it, but heads do, which no window bounds.
	maxUnwritten = 192 << 10
)

// hasRoom reports whether the connection takes another stream. fresh asks for one
// that is not established yet, and so cannot have died.
func (c *h2Conn) hasRoom(fresh bool) bool {
	switch {
	case c.closing || c.err != nil || c.pinged != 0 || c.streams.Len() >= c.limit:
		return false
	case !c.established:
		return c.streams.Len() < c.dest.maxConcurrent
	case !c.h2.HasSettings() && c.streams.Len() >= c.dest.maxConcurrent:
		return false // what this connection allows is not known yet
	}
	return !fresh && c.h2.Available() > 0 && len(c.h2.Output()) < maxUnwritten
}

// fits reports whether the connection leads where the target says, with the same
// security.
func (c *h2Conn) fits(to *dial.Target) bool {
	return c.leads(to) && c.target.Options.Security == to.Options.Security
}

// leads reports whether the connection goes where, and comes from where, the
// target says.
func (c *h2Conn) leads(to *dial.Target) bool {
	have, want := &c.target.Options, &to.Options
	return c.target.Addr == to.Addr && have.Source == want.Source && have.Mark == want.Mark
}

// add puts a stream for an exchange on the connection.
func (c *h2Conn) add(ask *Ask) *stream {
	s := c.pool.streams.Get()
	s.conn, s.owner, s.reused = c, ask.Owner, c.established
	s.pipe.Bare, s.upgrade, s.began, s.timeout = ask.Bare, ask.Upgrade, ask.Began, ask.Timeout
	c.exchanges++
	if s.reused && s.upgrade && !c.h2.HasSettings() {
		s.awaitSettings()
	}
	c.streams.PushBack(&s.links, s)
	return s
}

// remove takes a stream off the connection.
func (c *h2Conn) remove(s *stream) {
	c.streams.Remove(&s.links)
	if c.streams.Len() == 0 {
		c.idleSince = c.pool.loop.Now()
		if c.conn != nil && !c.busy && c.finished() {
			c.again()
		}
	}
}

// enqueue puts a stream into the list of those whose exchanges have something to
// hear.
func (c *h2Conn) enqueue(s *stream) {
	c.ready = append(c.ready, s)
	if !c.busy {
		c.again()
	}
}
