package proxy

import (
	"time"

	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/proxyproto"
	"github.com/sluicelb/sluice/core/refusal"
	"github.com/sluicelb/sluice/core/stats"
	"github.com/sluicelb/sluice/l7/backend"
	"github.com/sluicelb/sluice/l7/compress"
	"github.com/sluicelb/sluice/l7/dial"
	"github.com/sluicelb/sluice/l7/guard"
	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/http2"
	"github.com/sluicelb/sluice/l7/rewrite"
	"github.com/sluicelb/sluice/l7/state"
	"github.com/sluicelb/sluice/l7/table"
)

// worker is one loop's share of the engine. Everything here belongs to the
// loop; req and resp are scratch space of the event at hand.
type worker struct {
	engine    *Engine
	loop      *loop.Loop
	index     int // of the loop
	shard     *stats.Shard
	refusals  *refusal.Recorder
	records   records
	pool      *backend.Pool
	clients   *loop.FreeList[client]
	exchanges *loop.FreeList[exchange]
	waiters   *loop.FreeList[waiter]
	listeners map[*port]*loop.Listener
	req       http1.Request
	resp      http1.Response
	query     table.Query
	rewrite   rewrite.Scratch
	trailers  *trailers // nil before the first that rules are applied to
	location  []byte
	target    dial.Target            // of the connection being asked for
	header    proxyproto.Parser      // of an introduction that comes whole
	extra     []byte                 // field lines to add to a request
	encoders  compress.Pool          // for bodies of answers
	encoded   []byte                 // what an encoder gave
	etag      []byte                 // of an encoded answer
	addressed []byte                 // a request that has the backend's address in it
	shared    *http2.Shared          // nil before the first connection of HTTP/2,
	streams   *loop.FreeList[stream] // as are these two
	frames    []byte
	// refusedBefore is how often HTTP/2 refused what, when it was last looked at.
	refusedBefore []uint64
	logins        map[guard.Digest]*login // being checked for this loop
	skew          int64                   // from the loop's clock to the one all loops share
}

func newWorker(e *Engine, l *loop.Loop, shard *stats.Shard, refusals *refusal.Recorder) *worker {
	w := &worker{
		engine: e, loop: l, shard: shard, refusals: refusals, records: records{ids: accesslog.NewIDs()},
		pool:      backend.NewPool(l),
		clients:   loop.NewFreeList[client](l),
		exchanges: loop.NewFreeList[exchange](l),
		waiters:   loop.NewFreeList[waiter](l),
		listeners: map[*port]*loop.Listener{},
	}
	w.skew = state.Clock(l.Time(0))
	w.query = table.Query{Req: &w.req, Scratch: &w.rewrite, Gate: guard.NewGate(e.checker), Address: make([]byte, 0, 64)}
	return w
}

// second is one of the loops' clock.
const second = int64(time.Second)

// clock is the time of the event at hand on a clock all loops share; it is
// positive and is not set back when the system's is.
func (w *worker) clock() int64 { return w.skew + w.loop.Now() }

// accept takes a new client of the farm behind a door.
func (w *worker) accept(d *door, c *loop.Conn) {
	f := w.engine.farm(d.port)
	if f == nil {
		d.Leave()
		c.Close()
		return
	}
	place, full := d.place(f)
	if full {
		w.turnAway(f, c)
		return
	}
	cl := w.clients.Get()
	*cl = client{conn: c, w: w, port: d.port, farm: f.ID, place: place}
	c.SetHandler(cl)
	switch cl.intro.Expected = proxyproto.Expect(f.ProxyIn, f.Trusted, c.Peer().Addr()); {
	case cl.intro.Expected != proxyproto.Nothing: // comes before TLS
	case f.TLS != nil:
		c.Secure(f.TLS.Security)
	}
	s := w.shard.Farm(f.ID)
	s.Connections++
	s.Established++
	s.Pending++
	c.SetDeadline(w.loop.Now() + f.RequestTimeout)
}

// Reconcile implements engine.Worker.
func (w *worker) Reconcile(over map[*port]bool) {
	w.settle(w.engine.table.Load())
	if len(over) > 0 {
		w.expel(over)
	}
}

// Busy implements engine.Worker. A connection whose last answer is still on the way
// has no handler any more.
func (w *worker) Busy() (n int) {
	w.loop.Each(func(c *loop.Conn) {
		switch c.Handler().(type) {
		case *client, *multiplex, nil:
			n++
		}
	})
	return n
}

// settle brings the worker's connections in line with a new table: idle
// connections to backends that are gone close, clients of farms that are gone
// close once they are idle, exchanges of cut backends end.
func (w *worker) settle(t *table.Table) {
	w.pool.Retain(func(id uint32) *dial.Target {
		if b := t.Backends[id]; b != nil && b.Mode == farm.MaintenanceOff {
			return &b.Target
		}
		return nil
	})
	w.loop.Each(func(c *loop.Conn) {
		if m, ok := c.Handler().(*multiplex); ok {
			occupy(t.Farms[m.farm], &m.place)
			m.settle(t)
			return
		}
		cl, ok := c.Handler().(*client)
		if !ok {
			return
		}
		occupy(t.Farms[cl.farm], &cl.place)
		switch {
		case cl.ex == nil && t.Farm(cl.port) == nil && c.Pending() != 0:
			cl.linger()
		case cl.ex == nil && t.Farm(cl.port) == nil:
			cl.close()
		case cl.ex != nil && cl.ex.backend != nil && t.Cut(cl.ex.backend.ID):
			cl.ex.abort()
		default:
			cl.kept.Drop(t.Lost)
		}
	})
}

// expel ends what is left of farms that are gone from the given ports.
func (w *worker) expel(ports map[*port]bool) {
	w.loop.Each(func(c *loop.Conn) {
		if m, ok := c.Handler().(*multiplex); ok && ports[m.port] && w.engine.farm(m.port) == nil {
			m.close()
			return
		}
		cl, ok := c.Handler().(*client)
		switch {
		case !ok || !ports[cl.port] || w.engine.farm(cl.port) != nil:
		case cl.ex != nil:
			cl.ex.abort()
		default:
			cl.close()
		}
	})
}
