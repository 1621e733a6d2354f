package proxy

import (
	"os"

	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/ports"
	"github.com/sluicelb/sluice/l7/table"
)

type port = ports.Port

// farm is the farm a port's new exchange begins with, nil when there is none.
func (e *Engine) farm(p *port) *table.Farm { return e.table.Load().Farm(p) }

// assign puts each farm at its port's number.
func (e *Engine) assign(t *table.Table) {
	for _, f := range t.Farms {
		p := e.ports.Of(f.Listener)
		for p.Number >= len(t.ByPort) {
			t.ByPort = append(t.ByPort, nil)
		}
		t.ByPort[p.Number] = f
	}
}

// unlisten stops accepting where no farm of t listens, and lists these places.
func (e *Engine) unlisten(t *table.Table) (closed []*port) {
	return e.ports.Unlisten(func(p *port) bool { return t.Farm(p) != nil })
}

// expel ends what is left of the farms whose grace is over; others may have
// been stopped since. It waits for no loop: they may end before the grace does,
// and then nothing is left.
func (e *Engine) expel() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return
	}
	over := e.ports.Over()
	for _, w := range e.workers {
		w.Post(func() { w.expel(over) })
	}
}

// Listeners lists the keys the engine has sockets for.
func (e *Engine) Listeners() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.ports.Keys()
}

// Sockets returns duplicates of the engine's listening sockets of a key, one
// per loop, for who serves the address from now on; nil when it has none. They
// are the caller's.
func (e *Engine) Sockets(key string) []*os.File {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.ports.Sockets(key)
}

// Post implements ports.Side, as the next three do.
func (w *worker) Post(fn func()) { w.loop.Post(fn) }

// Listen serves a socket of a port.
func (w *worker) Listen(p *port, file *os.File) error {
	d := &door{w: w, port: p}
	ln, err := w.loop.Listen(file, func(c *loop.Conn) { w.accept(d, c) })
	if err != nil {
		return err
	}
	d.listener = ln
	ln.Guard(d)
	if err := ln.Defer(); err != nil {
		ln.Close()
		return err
	}
	w.listeners[p] = ln
	return nil
}

// Unlisten closes the socket of a port.
func (w *worker) Unlisten(p *port) {
	if ln := w.listeners[p]; ln != nil {
		ln.Close()
		delete(w.listeners, p)
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
