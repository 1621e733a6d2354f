package forward

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluicelb/sluice/core/farm"
)

// port is one address the engine listens on, or did. Its number stays the same
// as long as the engine runs, so that what comes in finds its farm in any table.
type port struct {
	farm.Listener
	number int
	key    string
	open   bool
	closed time.Time     // when it was last
	grace  time.Duration // of the farm that was there
}

// assign puts each farm at the numbers of its ports.
func (e *Engine) assign(t *table) {
	for _, f := range t.byID {
		for _, l := range f.listeners {
			key := l.Key()
			p := e.ports[key]
			if p == nil {
				p = &port{Listener: l, number: len(e.ports), key: key}
				e.ports[key] = p
			}
			for p.number >= len(t.ports) {
				t.ports = append(t.ports, nil)
			}
			t.ports[p.number] = f
		}
	}
}

// listen starts accepting on an address the engine has no socket for.
func (e *Engine) listen(l farm.Listener, files []*os.File) error {
	p := e.ports[l.Key()]
	if p.open {
		return nil
	}
	if len(files) != len(e.workers) {
		return fmt.Errorf("%s: %d sockets for %d loops", p.key, len(files), len(e.workers))
	}
	var mu sync.Mutex
	var failed error
	e.onLoops(func(w *worker) {
		if err := w.listen(p, files[w.index]); err != nil {
			mu.Lock()
			failed = fmt.Errorf("%s: %w", p.key, err)
			mu.Unlock()
		}
	})
	p.open = true
	if failed != nil {
		e.closeListener(p)
	}
	return failed
}

// unlisten stops accepting where no farm of t listens, and lists these places.
func (e *Engine) unlisten(t *table) (closed []*port) {
	for _, p := range e.ports {
		if p.open && t.farm(p) == nil {
			e.closeListener(p)
			closed = append(closed, p)
		}
	}
	return closed
}

func (e *Engine) closeListener(p *port) {
	p.open, p.closed = false, time.Now()
	e.onLoops(func(w *worker) { w.unlisten(p) })
}

// expel ends what is left of the farms whose grace is over.
func (e *Engine) expel() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.closed {
		e.expelOver()
	}
}

// expelOver is expel with e.mu held. It waits for no loop: they may end before
// a grace does, and then nothing is left.
func (e *Engine) expelOver() {
	over := map[*port]bool{}
	for _, p := range e.ports {
		if !p.open && time.Since(p.closed) >= p.grace {
			over[p] = true
		}
	}
	if len(over) == 0 {
		return
	}
	for _, w := range e.workers {
		w.loop.Post(func() { w.expel(over) })
	}
}

// Sockets returns duplicates of the engine's listening sockets of a key, one
// per loop, for who serves the address from now on; nil when it has none. They
// are the caller's.
func (e *Engine) Sockets(key string) []*os.File {
	e.mu.Lock()
	defer e.mu.Unlock()
	p := e.ports[key]
	if p == nil || !p.open {
		return nil
	}
	files := make([]*os.File, len(e.workers))
	var failed atomic.Bool
	e.onLoops(func(w *worker) {
		f, err := w.socket(p)
		if err != nil {
			failed.Store(true)
		}
		files[w.index] = f
	})
	if failed.Load() {
		for _, f := range files {
			_ = f.Close() // of nil, too
		}
		return nil
	}
	return files
}
