package ctl

import (
	"encoding/json"
	"net"
	"sync"
	"time"

	"github.com/sluicelb/sluice/core/shm"
)

// peers are the open connections. If there are too many, a new one takes the place of the
// connection that was idle the longest. Clients connect again when they need to.
type peers struct {
	limit int
	mu    sync.Mutex
	all   map[*peer]struct{}
}

type peer struct {
	conn  *net.UnixConn
	pid   int32
	fresh bool // it had no request yet
	busy  bool
	since time.Time // of the last request, or of the connection
}

// freshTime bounds the time for which a connection without a request keeps its place. Its
// client is sending the first request, and would not repeat it.
const freshTime = 5 * time.Second

func newPeers(limit int) *peers { return &peers{limit: limit, all: map[*peer]struct{}{}} }

// enter adds a connection. It is refused if no other is idle. evicted is the connection
// that was closed for it.
func (p *peers) enter(c *net.UnixConn, pid int32) (mine, evicted *peer, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if len(p.all) >= p.limit {
		if evicted = p.idlest(now); evicted == nil {
			return nil, nil, false
		}
		delete(p.all, evicted)
		_ = evicted.conn.Close()
	}
	mine = &peer{conn: c, pid: pid, fresh: true, since: now}
	p.all[mine] = struct{}{}
	return mine, evicted, true
}

// idlest returns the connection that was idle the longest, nil if none is idle.
func (p *peers) idlest(now time.Time) (oldest *peer) {
	for one := range p.all {
		if one.idle(now) && (oldest == nil || one.since.Before(oldest.since)) {
			oldest = one
		}
	}
	return oldest
}

func (one *peer) idle(now time.Time) bool {
	return !one.busy && !(one.fresh && now.Sub(one.since) < freshTime)
}

// begin records that a connection begins a request. It returns false if the connection was
// closed for another: the request must not be executed, because its client repeats it.
func (p *peers) begin(mine *peer) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, there := p.all[mine]
	mine.busy, mine.fresh = true, false
	return there
}

// end records that a connection has its reply.
func (p *peers) end(mine *peer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	mine.busy, mine.since = false, time.Now()
}

func (p *peers) leave(mine *peer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.all, mine)
}

// turnAway answers the first request of a connection that finds no place, and closes it.
func (s *server) turnAway(c *net.UnixConn) {
	_ = c.SetDeadline(time.Now().Add(replyTimeout))
	_, files, err := shm.Receive(c, make([]byte, maxRequest+1))
	closeFiles(files)
	if err != nil {
		return
	}
	b, err := json.Marshal(failure(rejection(CodeBusy, "netd is busy with %d requests, which is its limit: try again later", maxPeers)))
	if err == nil {
		_ = shm.Send(c, b)
	}
}
