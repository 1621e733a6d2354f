package backend

import (
	"github.com/sluicelb/sluice/core/list"
	"github.com/sluicelb/sluice/l7/dial"
	"github.com/sluicelb/sluice/l7/http2"
)

// h2Conn is one HTTP/2 connection to a backend. The exchanges of a loop share it, with one
// stream each. Their output leaves in one write per loop turn.
type h2Conn struct {
	pool   *Pool
	conn   *dial.Conn // nil once closed
	h2     *http2.Conn
	target dial.Target
	dest   *destination

	streams list.List[stream] // in order of arrival
	ready   []*stream         // streams with undelivered events

	began       int64 // start of the connect
	lastRead    int64 // time of the last bytes
	pinged      int64 // time of the unanswered PING; 0 without one
	idleSince   int64 // time since which there is no stream
	limit       int   // limit of concurrent streams
	exchanges   int   // number of exchanges so far
	established bool
	reported    bool   // an exchange was notified that it is established
	hasSettings bool   // SETTINGS of the backend have arrived
	closing     bool   // accepts no more streams
	busy        bool   // in an event; writes at its end
	posted      bool   // work was posted
	lastOpened  uint32 // last stream opened
	lastWritten uint32 // last stream whose head was written

	connectErr error
	err        *Error // why the connection is no longer usable
}

const (
	// maxStreams bounds the streams of a connection regardless of the backend's limit,
	// because one lost packet delays all of them.
	maxStreams = 128
	// maxUnwritten is the amount of unwritten output from which no more streams are opened.
	// Request bodies never reach it, but heads are not flow-controlled.
	maxUnwritten = 192 << 10
)

// hasRoom reports whether the connection accepts another stream. fresh requires one that is
// still connecting, because an established one may be dead.
func (c *h2Conn) hasRoom(fresh bool) bool {
	switch {
	case c.closing || c.err != nil || c.pinged != 0 || c.streams.Len() >= c.limit:
		return false
	case !c.established:
		return c.streams.Len() < c.dest.maxConcurrent
	case !c.h2.HasSettings() && c.streams.Len() >= c.dest.maxConcurrent:
		return false // its limit is still unknown
	}
	return !fresh && c.h2.Available() > 0 && len(c.h2.Output()) < maxUnwritten
}

// fits reports whether the connection has the address, source, mark and security of the
// target.
func (c *h2Conn) fits(to *dial.Target) bool {
	return c.leads(to) && c.target.Options.Security == to.Options.Security
}

// leads reports whether the connection has the address, source and mark of the target.
func (c *h2Conn) leads(to *dial.Target) bool {
	have, want := &c.target.Options, &to.Options
	return c.target.Addr == to.Addr && have.Source == want.Source && have.Mark == want.Mark
}

// add adds a stream for an exchange to the connection.
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

// remove removes a stream from the connection.
func (c *h2Conn) remove(s *stream) {
	c.streams.Remove(&s.links)
	if c.streams.Len() == 0 {
		c.idleSince = c.pool.loop.Now()
		if c.conn != nil && !c.busy && c.finished() {
			c.again()
		}
	}
}

// enqueue appends a stream to those with undelivered events.
func (c *h2Conn) enqueue(s *stream) {
	c.ready = append(c.ready, s)
	if !c.busy {
		c.again()
	}
}
