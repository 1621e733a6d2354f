package proxy

import (
	"strings"

	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/l7/dial"
	"github.com/sluicelb/sluice/l7/http2"
)

// trunk is one connection of HTTP/2 to a backend, which the exchanges of a loop
// share: each has a lane on it. What they say leaves together, in one write per
// turn of the loop.
type trunk struct {
	w      *worker
	up     *dial.Conn // nil once it is gone
	h2     *http2.Conn
	target dial.Target
	place  *destination

	head, tail *lane // those on it, in the order they came
	lanes      int
	news       []*lane // those that have news

	began   int64 // when the connect was begun
	heard   int64 // when bytes last came
	asked   int64 // when a PING was sent that nothing has come after; 0 without one
	idleAt  int64 // since when there has been no lane
	most    int   // lanes it may have
	stands  bool
	used    bool   // an exchange was told that it stands
	some    bool   // an exchange came
	often   bool   // more than one did
	settled bool   // the backend has said what it allows
	leaving bool   // takes no more lanes
	busy    bool   // at work, and writes at its end
	posted  bool   // work was posted
	opened  uint32 // stream that was opened last
	written uint32 // stream opened last whose head was written

	failed error      // why the connect failed
	why    *laneError // why the connection is no longer usable
}

const (
	// maxLanes bounds the lanes of a trunk whatever the backend allows: one lost
	// packet holds up all of them.
	maxLanes = 128
	// pingTime is how long a backend in doubt has to show a sign of life.
	pingTime = 5 * second
)

// room reports whether the trunk takes another lane. fresh asks for one whose
// connection does not stand yet, and so cannot have died.
func (t *trunk) room(fresh bool) bool {
	switch {
	case t.leaving || t.why != nil || t.asked != 0 || t.lanes >= t.most:
		return false
	case !t.stands:
		return t.lanes < t.place.streams
	case !t.h2.Settled() && t.lanes >= t.place.streams:
		return false // what this connection allows is not known yet
	}
	return !fresh && t.h2.Available() > 0 && len(t.h2.Output()) < maxWaiting
}

// BackendConnected implements dial.Owner.
func (t *trunk) BackendConnected(c *dial.Conn, err error) {
	switch {
	case err != nil && strings.Contains(err.Error(), "no application protocol"):
		t.up = nil
		t.end(errNoALPN)
	case err != nil:
		t.up, t.failed = nil, err
		t.end(errLost)
	case c.TLS() != nil && c.TLS().Protocol != "h2":
		t.end(errNoALPN)
	default:
		t.stands, t.heard = true, t.w.loop.Now()
		t.h2 = http2.NewClient(t.w.http2Client(), t, c.Secured())
		c.SetDeadline(t.heard + streamTick)
		if t.leaving {
			t.h2.Shutdown()
		}
	}
	t.busy = true
	for ln := t.head; ln != nil; ln = ln.next {
		ln.note().stands = true
	}
	t.dispatch()
	t.busy = false
	t.work()
}

// BackendReadable implements dial.Owner: bytes of the backend, or its turn to
// write.
func (t *trunk) BackendReadable(c *dial.Conn) {
	for range readsPerTurn {
		n, err := c.Read(t.w.frames)
		if err == loop.ErrDry {
			t.work()
			return
		}
		if err != nil {
			t.end(errLost)
			t.work()
			return
		}
		t.heard, t.asked = t.w.loop.Now(), 0
		t.busy = true
		broken := t.h2.Receive(t.w.frames[:n]) != nil
		if t.h2.Settled() {
			t.place.streams = max(1, t.h2.Allowed())
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
func (t *trunk) work() {
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
func (t *trunk) write() bool {
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
		t.end(errLost)
		return true
	}
	t.written = t.opened
	if t.up.Pending() == 0 {
		t.h2.Resume()
	}
	return true
}

// hold begins work for a lane in an event of its client, which letGo ends. It
// reports false when the trunk is at work anyway.
func (t *trunk) hold() bool {
	if t.busy {
		return false
	}
	t.busy = true
	return true
}

// letGo writes at once what the only lane had to say: nobody else has anything
// to add. Otherwise all write together, at the end of the turn.
func (t *trunk) letGo(held bool) {
	if !held {
		return
	}
	if t.lanes == 1 {
		t.write()
	}
	t.busy = false
	if len(t.news) > 0 || t.up != nil && t.up.Pending() == 0 && len(t.h2.Output()) > 0 {
		t.again()
	}
}

// BackendDrained implements dial.Owner.
func (t *trunk) BackendDrained(*dial.Conn) {
	t.busy = true
	t.h2.Resume()
	t.busy = false
	t.work()
}

// again asks for a turn of its own after others had theirs.
func (t *trunk) again() {
	switch {
	case t.up != nil:
		t.w.loop.Again(t.up.Conn)
	case !t.posted: // rare: there is no connection any more whose turn it could be
		t.posted = true
		t.w.loop.Post(func() {
			t.posted = false
			t.work()
		})
	}
}

// announce puts a lane into the list of those that have news.
func (t *trunk) announce(ln *lane) {
	t.news = append(t.news, ln)
	if !t.busy {
		t.again()
	}
}
