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

// Post implements ports.Side, as the next four do.
func (w *worker) Post(fn func()) { w.loop.Post(fn) }

// Loop implements engine.Worker.
func (w *worker) Loop() *loop.Loop { return w.loop }

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
