package forward

import (
	"net/netip"
	"os"

	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/proxyproto"
	"github.com/sluicelb/sluice/core/rejection"
	"github.com/sluicelb/sluice/core/stats"
)

// worker is one loop's part of the engine. It belongs to the loop.
type worker struct {
	engine     *Engine
	loop       *loop.Loop
	shard      *stats.Shard
	rejections *rejection.Recorder
	recorder   accesslog.Recorder
	listeners  map[*port]*loop.Listener
	pairs      *loop.FreeList[pair]
	busy       int    // pairs and flows in use
	key        []byte // scratch space for a key
	// For first bytes: a parser for headers in one piece, a ClientHello in pieces, a
	// lower-case name, and a header for a backend.
	header                       proxyproto.Parser
	pieces, lower, backendHeader []byte

	udpListeners map[*port]*udpListener
	flows        *flows
	firsts       *firstDatagrams // nil before the first UDP listener
	oneWays      map[oneWayKey]*oneWay
}

func newWorker(e *Engine, l *loop.Loop, shard *stats.Shard, rejections *rejection.Recorder) *worker {
	w := &worker{
		engine: e, loop: l, shard: shard, rejections: rejections,
		listeners: map[*port]*loop.Listener{}, pairs: loop.NewFreeList[pair](l), key: make([]byte, 0, 64),
		udpListeners: map[*port]*udpListener{}, oneWays: map[oneWayKey]*oneWay{},
	}
	w.flows = newFlows(w)
	return w
}

// Post implements ports.Side, like the next three methods.
func (w *worker) Post(fn func()) { w.loop.Post(fn) }

// Listen serves a socket of a port.
func (w *worker) Listen(p *port, file *os.File) error {
	if p.Transport == farm.L4UDP {
		return w.open(p, file)
	}
	ln, err := w.loop.Listen(file, func(c *loop.Conn) { w.accept(p, c) })
	if err != nil {
		return err
	}
	if err := ln.Prompt(); err != nil {
		ln.Close()
		return err
	}
	ln.Urgent()
	w.listeners[p] = ln
	return nil
}

// Unlisten closes the socket of a port.
func (w *worker) Unlisten(p *port) {
	if ln := w.listeners[p]; ln != nil {
		ln.Close()
		delete(w.listeners, p)
	}
	if m := w.udpListeners[p]; m != nil {
		m.close()
	}
}

// Socket returns a duplicate of the socket of a port.
func (w *worker) Socket(p *port) (*os.File, error) {
	ln := w.listeners[p]
	if ln == nil {
		return nil, os.ErrNotExist
	}
	return ln.File()
}

// accept serves a new client of the farm of a port.
func (w *worker) accept(at *port, c *loop.Conn) {
	f := w.engine.table.Load().On(at)
	if f == nil {
		c.Abort()
		return
	}
	s := w.farm(f)
	s.Connections++
	if f.conns != nil && !f.conns.take(f.maxConns) {
		w.note(f, tooManyClients, farmFull, c.Peer(), netip.AddrPort{})
		lost := story{began: w.loop.Now(), flags: accesslog.AbortedHere}
		lost.refused(tooManyClients, farmFull)
		w.tell(f, accesslog.ProtoTCP, c.Peer(), &lost)
		c.Abort()
		return
	}
	s.Established++
	s.Pending++
	w.busy++
	p := w.pairs.Get()
	*p = pair{w: w, farm: f, port: at, client: c, counted: f.conns, story: story{began: w.loop.Now()}}
	c.SetHandler((*clientSide)(p))
	p.start()
}

// reconcile adapts connections and flows to a new table. It ends connections to deleted or
// cut backends, and connections on ports that another farm uses now, because nothing would
// end them later.
func (w *worker) reconcile(t *table) {
	w.eachFlow(func(f *flow) { f.reconcile(t) })
	w.eachPair(func(p *pair) {
		countLate(t.ByID[p.farm.id], &p.counted)
		now := t.On(p.port)
		if now != nil && now.id != p.farm.id {
			p.end(accesslog.AbortedHere, portReassigned)
			return
		}
		switch {
		case now == nil || p.to == nil || !t.mustEnd(p.to.id):
		case p.established:
			p.end(accesslog.AbortedHere, backendTakenOut)
			return
		default:
			p.failed()
			return
		}
		if p.to != nil {
			t.hold(&p.choice, p.to.id)
		}
	})
}

// forceClose ends the remaining connections of deleted farms on the given ports.
func (w *worker) forceClose(ports map[*port]bool) {
	if len(ports) == 0 {
		return
	}
	t := w.engine.table.Load()
	w.eachPair(func(p *pair) {
		if ports[p.port] && t.On(p.port) == nil {
			p.end(accesslog.AbortedHere, portClosed)
		}
	})
}

// Reconcile implements engine.Worker.
func (w *worker) Reconcile(over map[*port]bool) {
	w.reconcile(w.engine.table.Load())
	w.forceClose(over)
}

// Busy implements engine.Worker.
func (w *worker) Busy() int { return w.busy }

// Loop implements engine.Worker.
func (w *worker) Loop() *loop.Loop { return w.loop }

// eachPair calls fn, which may end the pair, for every pair.
func (w *worker) eachPair(fn func(p *pair)) {
	w.loop.Each(func(c *loop.Conn) {
		if side, ok := c.Handler().(*clientSide); ok {
			fn((*pair)(side))
		}
	})
}
