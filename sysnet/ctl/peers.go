package ctl

import (
	"encoding/json"
	"net"
	"sync"
	"time"

	"github.com/sluicelb/sluice/core/shm"
)

// peers are the open connections. If there are too many, a new one takes the place of the
// connection that was idle the longest, so that connections that nobody uses any more lock
// nobody out. Clients connect again when they need to.
type peers struct {
	limit int
	mu    sync.Mutex
	all   map[*peer]struct{}
}

type peer struct {
	conn  *net.UnixConn
	busy  bool
	since time.Time // of the last request
}

func newPeers(limit int) *peers { return &peers{limit: limit, all: map[*peer]struct{}{}} }

// enter adds a connection. It is refused if all others are busy.
func (p *peers) enter(c *net.UnixConn) (mine *peer, evicted, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.all) >= p.limit {
		oldest := p.idlest()
		if oldest == nil {
			return nil, false, false
		}
		delete(p.all, oldest)
		_ = oldest.conn.Close()
		evicted = true
	}
	mine = &peer{conn: c, since: time.Now()}
	p.all[mine] = struct{}{}
	return mine, evicted, true
}

// idlest returns the connection that was idle the longest, nil if all are busy.
func (p *peers) idlest() (oldest *peer) {
	for one := range p.all {
		if !one.busy && (oldest == nil || one.since.Before(oldest.since)) {
			oldest = one
		}
	}
	return oldest
}

// works records that a connection begins or ends a request.
func (p *peers) works(mine *peer, busy bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	mine.busy, mine.since = busy, time.Now()
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
