package forward

import (
	"net/netip"
	"sync"
	"time"

	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/engine"
	"github.com/sluicelb/sluice/core/farm"
)

// Connection describes the current state of a connection or flow.
type Connection struct {
	Backend  uint32 // stable number
	Protocol string // "tcp" or "udp"
	// State is "connecting" or "established", for a flow "unreplied" or "replied".
	State string
	// Client connected to To; Server is the backend's address. To has no address for a flow
	// on a wildcard port.
	Client, To, Server netip.AddrPort
	// Idle is the time after which a flow without datagrams ends; 0 for connections.
	Idle time.Duration
	// In and Out are bytes from and to the client.
	In, Out uint64
}

// Connections returns the number of connections and flows to the backends of these stable
// numbers, nil for all, and at most limit of them. It is safe for concurrent use; each loop
// scans its own once.
func (e *Engine) Connections(backends []uint32, limit int) (total int, list []Connection) {
	meant := engine.Among(backends)
	var mu sync.Mutex
	e.OnLoops(func(w *worker) {
		n, found := w.connections(meant, limit)
		mu.Lock()
		defer mu.Unlock()
		total += n
		list = append(list, found[:min(len(found), limit-len(list))]...)
	})
	return total, list
}

// FlushConnections resets the connections and flows to the backends of these numbers, nil
// for all, and returns how many there were.
func (e *Engine) FlushConnections(backends []uint32) int {
	meant := engine.Among(backends)
	return e.Sum(func(w *worker) int { return w.flush(meant) })
}

func (w *worker) connections(meant func(id uint32) bool, limit int) (total int, list []Connection) {
	w.eachPair(func(p *pair) {
		if p.to == nil || !meant(p.to.id) {
			return
		}
		if total++; len(list) < limit {
			list = append(list, p.shown())
		}
	})
	now := w.loop.Now()
	w.eachFlow(func(f *flow) {
		if !meant(f.to.id) {
			return
		}
		if total++; len(list) < limit {
			list = append(list, f.shown(now))
		}
	})
	return total, list
}

func (p *pair) shown() Connection {
	c := Connection{Backend: p.to.id, Protocol: string(farm.L4TCP), State: "connecting", Client: p.client.Peer(), To: p.client.Local(),
		Server: p.to.to(p.port.Addr.Port()), In: p.story.in, Out: p.story.out}
	if p.established {
		c.State = "established"
	}
	return c
}

func (f *flow) shown(now int64) Connection {
	t := f.tuple()
	c := Connection{Backend: f.to.id, Protocol: string(farm.L4UDP), State: "unreplied", Client: t.client, To: t.local,
		Server: f.to.to(f.at.port.Addr.Port()), Idle: time.Duration(max(f.farm.flowIdle-(now-f.last), 0)), In: f.story.in, Out: f.story.out}
	if f.state != asked {
		c.State = "replied"
	}
	return c
}

// flushedFor returns why the pair is ended: because its backend is down and the check demands
// it (cut_conns), or because an operator ended it.
func (p *pair) flushedFor() string {
	t := p.tuple()
	if !p.candidates(&t).picker.Up(p.choice.member) {
		return backendDown
	}
	return endedByOperator
}

// flush ends connections and flows without trying other backends.
func (w *worker) flush(meant func(id uint32) bool) (n int) {
	w.eachPair(func(p *pair) {
		if p.to != nil && meant(p.to.id) {
			n++
			p.end(accesslog.AbortedHere, p.flushedFor())
		}
	})
	w.eachFlow(func(f *flow) {
		if meant(f.to.id) {
			n++
			f.abort(f.flushedFor())
		}
	})
	return n
}
