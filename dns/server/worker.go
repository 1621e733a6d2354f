package server

import (
	"os"

	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/list"
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/rejection"
	"github.com/sluicelb/sluice/core/stats"
	"github.com/sluicelb/sluice/dns/choose"
	"github.com/sluicelb/sluice/dns/wire"
	"github.com/sluicelb/sluice/dns/zone"
)

// worker is the engine's part on one loop. All of it belongs to the loop.
type worker struct {
	engine *Engine
	loop   *loop.Loop
	shard  *stats.Shard
	tcp    map[*port]*loop.Listener
	udp    map[*port]*udpListener
	busy   int // transfers in progress
	conns  list.List[connection]

	query    wire.Query
	reply    wire.Reply
	answerer zone.Answerer
	port     uint16 // source port of the query
	chooser  *choose.Chooser
	slipped  uint32
	limited  bool   // the last message got no answer because of its client's rate
	answered bool   // a zone has the name of the query
	note     string // the reason in the next record, instead of the result of reason

	// space holds the answers of the current batch. read and stream are the buffers for TCP.
	space        []byte
	read, stream []byte
	https        bool // the query came by HTTPS
	key          []byte

	recorder   accesslog.Recorder
	rejections *rejection.Recorder
}

func newWorker(e *Engine, l *loop.Loop, shard *stats.Shard, rejections *rejection.Recorder, seed uint64) *worker {
	w := &worker{
		engine: e, loop: l, shard: shard, rejections: rejections,
		tcp: map[*port]*loop.Listener{}, udp: map[*port]*udpListener{}, chooser: choose.New(seed), key: make([]byte, 0, 512),
	}
	w.answerer.Services = w.chooser
	return w
}

// Post implements ports.Side, as the next three do.
func (w *worker) Post(fn func()) { w.loop.Post(fn) }

// Listen serves a socket of a port.
func (w *worker) Listen(p *port, file *os.File) error {
	if p.Transport == farm.L4UDP {
		return w.listenUDP(p, file)
	}
	ln, err := w.loop.Listen(file, func(c *loop.Conn) { w.accept(p, c) })
	if err != nil {
		return err
	}
	w.tcp[p] = ln
	return nil
}

// Unlisten closes the socket of a port.
func (w *worker) Unlisten(p *port) {
	if ln := w.tcp[p]; ln != nil {
		ln.Close()
		delete(w.tcp, p)
	}
	if u := w.udp[p]; u != nil {
		u.ln.Close()
		delete(w.udp, p)
	}
}

// Socket returns a duplicate of the socket of a port.
func (w *worker) Socket(p *port) (*os.File, error) {
	if u := w.udp[p]; u != nil {
		return u.file()
	}
	ln := w.tcp[p]
	if ln == nil {
		return nil, os.ErrNotExist
	}
	return ln.File()
}

// Loop implements engine.Worker.
func (w *worker) Loop() *loop.Loop { return w.loop }

// Busy implements engine.Worker.
func (w *worker) Busy() int { return w.busy }

// Reconcile implements engine.Worker: connections of deleted farms end.
func (w *worker) Reconcile(over map[*port]bool) {
	t := w.engine.table.Load()
	w.loop.Each(func(c *loop.Conn) {
		if s, ok := c.Handler().(*connection); ok && over[s.port] && t.On(s.port) == nil {
			if s.transfer != nil {
				s.transfer.failure = "the farm is stopped"
			}
			s.end()
		}
	})
}
