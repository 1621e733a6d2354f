package proxy

import (
	"os"
	"sync/atomic"
)

// Sockets returns duplicates of the engine's listening sockets of a key, one
// per loop, for who serves the address from now on; nil when it has none. They
// are the caller's.
func (e *Engine) Sockets(key string) []*os.File {
	e.mu.Lock()
	defer e.mu.Unlock()
	if p := e.ports[key]; p == nil || !p.open {
		return nil
	}
	files := make([]*os.File, len(e.workers))
	var failed atomic.Bool
	e.onLoops(func(w *worker) {
		f, err := w.listeners[key].File()
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
