package backend

import (
	"strings"

	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/l7/dial"
	"github.com/sluicelb/sluice/l7/http2"
)

// h2Conn is one connection of HTTP/2 to a backend, which the exchanges of a loop
// share: each has a stream on it. What they say leaves together, in one write per
// turn of the loop.
type h2Conn struct {
	pool   *Pool
	up     *dial.Conn // nil once it is gone
	h2     *http2.Conn
	target dial.Target
	to     *destination

	head, tail *stream // those on it, in the order they came
	streams    int
	news       []*stream // those that have news

	began       int64 // when the connect was begun
	heard       int64 // when bytes last came
	asked       int64 // when a PING was sent that nothing has come after; 0 without one
	idleAt      int64 // since when there has been no stream
	most        int   // streams it may have
	established bool
	used        bool   // an exchange was told that it is established
	some        bool   // an exchange came
	often       bool   // more than one did
	settled     bool   // the backend has said what it allows
	leaving     bool   // takes no more streams
	busy        bool   // at work, and writes at its end
	posted      bool   // work was posted
	opened      uint32 // stream that was opened last
	written     uint32 // stream opened last whose head was written

	failed error  // why the connect failed
	why    *Error // why the connection is no longer usable
}

const (
	// maxStreams bounds the streams of a connection whatever the backend allows:
	// one lost packet holds up all of them.
	maxStreams = 128
	// pingTime is how long a backend in doubt has to show a sign of life.
	pingTime = 5 * second
	// readsPerTurn and writesPerTurn bound what one connection may read and
	// write in a turn, in reads of readSize and in outputs.
	readsPerTurn, writesPerTurn = 4, 8
	readSize                    = 64 << 10
	// tick is how often the deadlines of streams are looked at.
	tick = second
	// maxWaiting is how much may wait to be written before no more streams are
	// opened: request bodies never reach it, but heads do, which no window bounds.
	maxWaiting = 192 << 10

	second = 1_000_000_000 // of the loop's clock
)

// room reports whether the connection takes another stream. fresh asks for one
// that is not established yet, and so cannot have died.
func (t *h2Conn) room(fresh bool) bool {
	switch {
	case t.leaving || t.why != nil || t.asked != 0 || t.streams >= t.most:
		return false
	case !t.established:
		return t.streams < t.to.allowed
	case !t.h2.Settled() && t.streams >= t.to.allowed:
		return false // what this connection allows is not known yet
	}
	return !fresh && t.h2.Available() > 0 && len(t.h2.Output()) < maxWaiting
}

// BackendConnected implements dial.Owner.
func (t *h2Conn) BackendConnected(_ int64, _ bool, err error) {
	c := t.up
	switch {
	case err != nil && strings.Contains(err.Error(), "no application protocol"):
		t.up = nil
		t.end(errNoALPN)
	case err != nil:
		t.up, t.failed = nil, err
		t.end(ErrLost)
	case c.TLS() != nil && c.TLS().Protocol != "h2":
		t.end(errNoALPN)
	default:
		t.established, t.heard = true, t.pool.loop.Now()
		t.h2 = http2.NewClient(t.pool.http2(), t, c.Secured())
		c.SetDeadline(t.heard + tick)
		if t.leaving {
			t.h2.Shutdown()
		}
	}
	t.busy = true
	for s := t.head; s != nil; s = s.next {
		s.note().outcome = true
	}
	t.dispatch()
	t.busy = false
	t.work()
}

// BackendReadable implements dial.Owner: bytes of the backend, or its turn to
// write.
func (t *h2Conn) BackendReadable() {
	in := t.pool.loop.In[:readSize]
	for range readsPerTurn {
		n, err := t.up.Read(in)
		if err == loop.ErrDry {
			t.work()
			return
		}
		if err != nil {
			t.end(ErrLost)
			t.work()
			return
		}
		t.heard, t.asked = t.pool.loop.Now(), 0
		t.busy = true
		broken := t.h2.Receive(in[:n]) != nil
		if t.h2.Settled() {
			t.to.allowed = max(1, t.h2.Allowed())
			t.release()
		}
		t.dispatch()
		t.busy = false
		switch {
		case t.up == nil:
			return
		case broken:
			t.broken()
			return
		}
	}
	t.again()
	t.work()
}

// work lets the exchanges hear what there is and writes what they say.
func (t *h2Conn) work() {
	if t.busy {
		return
	}
	for range writesPerTurn {
		t.busy = true
		t.dispatch()
		more := t.write()
		t.busy = false
		if !more && len(t.news) == 0 {
			break
		}
	}
	switch {
	case t.up == nil:
		if len(t.news) > 0 {
			t.again()
		}
	case len(t.news) > 0, t.h2 != nil && t.up.Pending() == 0 && len(t.h2.Output()) > 0:
		t.again()
	case t.over():
		t.farewell()
	}
}

// write writes what there is to say, once. It reports whether there may be more
// to do.
func (t *h2Conn) write() bool {
	if t.up == nil || t.h2 == nil || t.up.Pending() != 0 {
		return false
	}
	out := t.h2.Output()
	if len(out) == 0 {
		return false
	}
	err := t.up.Write(out)
	t.h2.Written()
	if err != nil {
		t.end(ErrLost)
		return true
	}
	t.written = t.opened
	if t.up.Pending() == 0 {
		t.h2.Resume()
	}
	return true
}

// hold begins work for a stream in an event of its client, which letGo ends. It
// reports false when the connection is at work anyway.
func (t *h2Conn) hold() bool {
	if t.busy {
		return false
	}
	t.busy = true
	return true
}

// letGo writes at once what the only stream had to say: nobody else has anything
// to add. Otherwise all write together, at the end of the turn.
func (t *h2Conn) letGo(held bool) {
	if !held {
		return
	}
	if t.streams == 1 {
		t.write()
	}
	t.busy = false
	if len(t.news) > 0 || t.up != nil && t.up.Pending() == 0 && len(t.h2.Output()) > 0 {
		t.again()
	}
}

// BackendDrained implements dial.Owner.
func (t *h2Conn) BackendDrained() {
	t.busy = true
	t.h2.Resume()
	t.busy = false
	t.work()
}

// again asks for a turn of its own after others had theirs.
func (t *h2Conn) again() {
	switch {
	case t.up != nil:
		t.pool.loop.Again(t.up.Conn)
	case !t.posted: // rare: there is no connection any more whose turn it could be
		t.posted = true
		t.pool.loop.Post(func() {
			t.posted = false
			t.work()
		})
	}
}

// announce puts a stream into the list of those that have news.
func (t *h2Conn) announce(s *stream) {
	t.news = append(t.news, s)
	if !t.busy {
		t.again()
	}
}
