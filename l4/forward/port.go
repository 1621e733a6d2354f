package forward

import (
	"os"

	"github.com/sluicelb/sluice/core/ports"
)

type port = ports.Port

// assign puts each farm at the numbers of its ports.
func (e *Engine) assign(t *table) {
	for _, f := range t.byID {
		for _, l := range f.listeners {
			p := e.ports.Of(l)
			for p.Number >= len(t.ports) {
				t.ports = append(t.ports, nil)
			}
			t.ports[p.Number] = f
		}
	}
}

// unlisten stops accepting where no farm of t listens, and lists these places.
func (e *Engine) unlisten(t *table) (closed []*port) {
	return e.ports.Unlisten(func(p *port) bool { return t.farm(p) != nil })
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
