package proxy

import (
	"time"

	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/engine"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/ports"
	"github.com/sluicelb/sluice/core/rejection"
	"github.com/sluicelb/sluice/core/stats"
	"github.com/sluicelb/sluice/l7/backend"
	"github.com/sluicelb/sluice/l7/client"
	"github.com/sluicelb/sluice/l7/compress"
	"github.com/sluicelb/sluice/l7/dial"
	"github.com/sluicelb/sluice/l7/guard"
	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/rewrite"
	"github.com/sluicelb/sluice/l7/table"
)

// worker is one loop's part of the engine. It belongs to the loop; req and resp are scratch
// space of the current event.
type worker struct {
	*client.Server // clients
	engine         *Engine
	loop           *loop.Loop
	index          int // of the loop
	shard          *stats.Shard
	rejections     *rejection.Recorder
	records        records
	pool           *backend.Pool
	exchanges      *loop.FreeList[exchange]
	waiters        *loop.FreeList[waiter]
	tunnels        *loop.FreeList[tunnel]
	queries        *loop.FreeList[dohQuery]
	req            http1.Request
	resp           http1.Response
	query          table.Query
	rewrite        rewrite.Scratch
	trailers       *trailers // nil before rules are first applied to trailers
	location       []byte
	target         dial.Target             // of a new connection
	extra          []byte                  // field lines to add to a request
	sessionKey     []byte                  // of a response
	encoders       compress.Pool           // for response bodies
	encoded        []byte                  // encoder output
	etag           []byte                  // of an encoded response
	addressed      []byte                  // a request with the backend's address filled in
	logins         map[guard.Digest]*login // pending checks that exchanges of this loop wait for
}

func newWorker(e *Engine, l *loop.Loop, shard *stats.Shard, rejections *rejection.Recorder) *worker {
	w := &worker{
		engine: e, loop: l, shard: shard, rejections: rejections, records: records{Recorder: accesslog.Recorder{IDs: accesslog.NewIDs()}},
		pool:      backend.NewPool(l),
		exchanges: loop.NewFreeList[exchange](l),
		waiters:   loop.NewFreeList[waiter](l),
		tunnels:   loop.NewFreeList[tunnel](l),
		queries:   loop.NewFreeList[dohQuery](l),
	}
	w.Server = client.NewServer(client.Config{
		Loop: l, Handler: w, Request: &w.req, Table: &e.table, Shard: shard, Rejections: rejections, Penalties: e.penalties,
	})
	w.query = table.Query{Req: &w.req, Scratch: &w.rewrite, AuthCache: guard.NewCache(e.checker), Address: make([]byte, 0, 64)}
	return w
}

// second is a second of the loops' clocks.
const second = int64(time.Second)

// Loop implements engine.Worker.
func (w *worker) Loop() *loop.Loop { return w.loop }

// Reconcile implements engine.Worker. It closes idle connections to deleted backends, then
// adapts clients to the table.
func (w *worker) Reconcile(over map[*ports.Port]bool) {
	w.retain(func(b *table.Backend) bool { return b.Mode == farm.MaintenanceOff })
	w.Server.Reconcile(over)
}

// retain closes idle connections to deleted backends and to those for which keep returns
// false.
func (w *worker) retain(keep func(b *table.Backend) bool) {
	t := w.engine.table.Load()
	w.pool.Retain(func(id uint32) *dial.Target {
		if b := t.Backends.Of(id); b != nil && keep(b) {
			return &b.Target
		}
		return nil
	})
}

// CutOff ends the exchanges and tunnels with the backends of these stable numbers (nil for
// all) and closes idle connections to them. It returns the number of exchanges. For clients
// it equals a cut of the backend.
func (e *Engine) CutOff(backends []uint32) int {
	meant := engine.Among(backends)
	return e.Sum(func(w *worker) int {
		ended := w.Server.CutOff(meant)
		w.retain(func(b *table.Backend) bool { return !meant(b.ID) })
		return ended
	})
}
