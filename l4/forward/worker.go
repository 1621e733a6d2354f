package forward

import (
	"net/netip"
	"os"

	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/proxyproto"
	"github.com/sluicelb/sluice/core/refusal"
	"github.com/sluicelb/sluice/core/stats"
)

// worker is one loop's share of the engine. Everything here belongs to the
// loop.
type worker struct {
	engine    *Engine
	loop      *loop.Loop
	shard     *stats.Shard
	refusals  *refusal.Recorder
	records   records
	listeners map[*port]*loop.Listener
	pairs     *loop.FreeList[pair]
	busy      int    // pairs and flows in use
	key       []byte // space for one
	// Of openings: a header that comes whole, a ClientHello in pieces, a name in
	// lower case, a header for a backend.
	header                   proxyproto.Parser
	pieces, lower, announced []byte

	mouths  map[*port]*mouth
	flows   *flows
	firsts  *firsts // nil before the first mouth
	oneWays map[oneWayKey]*oneWay
}

func newWorker(e *Engine, l *loop.Loop, shard *stats.Shard, refusals *refusal.Recorder) *worker {
	w := &worker{
		engine: e, loop: l, shard: shard, refusals: refusals,
		listeners: map[*port]*loop.Listener{}, pairs: loop.NewFreeList[pair](l), key: make([]byte, 0, 64),
		mouths: map[*port]*mouth{}, oneWays: map[oneWayKey]*oneWay{},
	}
	w.flows = newFlows(w)
	return w
}

// Post implements ports.Side, as the next three do.
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
	if m := w.mouths[p]; m != nil {
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

// accept takes a new client of the farm behind a port.
func (w *worker) accept(at *port, c *loop.Conn) {
	f := w.engine.table.Load().farm(at)
	if f == nil {
		c.Abort()
		return
	}
	s := w.farm(f)
	s.Connections++
	if f.places != nil && !f.places.enter(f.most) {
		w.note(f, tooManyClients, "as many connections as the farm may have", c.Peer(), netip.AddrPort{})
		lost := story{began: w.loop.Now(), flags: accesslog.AbortedHere}
		lost.refused(tooManyClients)
		w.tell(f, accesslog.ProtoTCP, c.Peer(), &lost)
		c.Abort()
		return
	}
	s.Established++
	s.Pending++
	w.busy++
	p := w.pairs.Get()
	*p = pair{w: w, farm: f, port: at, client: c, place: f.places, story: story{began: w.loop.Now()}}
	c.SetHandler((*clientSide)(p))
	p.open()
}

// settle brings what is under way in line with a new table: what goes to
// backends that were deleted or cut ends, and what came in where another farm
// listens now, which nobody would end later.
func (w *worker) settle(t *table) {
	w.eachFlow(func(f *flow) { f.settle(t) })
	w.eachPair(func(p *pair) {
		occupy(t.byID[p.farm.id], &p.place)
		now := t.farm(p.port)
		if now != nil && now.id != p.farm.id {
			p.end(accesslog.AbortedHere)
			return
		}
		switch {
		case now == nil || p.to == nil || !t.ended(p.to.id):
		case p.stands:
			p.end(accesslog.AbortedHere)
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

// expel ends what is left of farms that are gone from the given ports.
func (w *worker) expel(ports map[*port]bool) {
	if len(ports) == 0 {
		return
	}
	t := w.engine.table.Load()
	w.eachPair(func(p *pair) {
		if ports[p.port] && t.farm(p.port) == nil {
			p.end(accesslog.AbortedHere)
		}
	})
}

// Settle implements engine.Worker.
func (w *worker) Settle(over map[*port]bool) {
	w.settle(w.engine.table.Load())
	w.expel(over)
}

// Busy implements engine.Worker.
func (w *worker) Busy() int { return w.busy }

// Loop implements engine.Worker.
func (w *worker) Loop() *loop.Loop { return w.loop }

// eachPair calls fn for every pair, which may end.
func (w *worker) eachPair(fn func(p *pair)) {
	w.loop.Each(func(c *loop.Conn) {
		if side, ok := c.Handler().(*clientSide); ok {
			fn((*pair)(side))
		}
	})
}
