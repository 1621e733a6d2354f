package engine

import (
	"os"
	"sync"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/core/marks"
	"github.com/sluicelb/sluice/core/ports"
	"github.com/sluicelb/sluice/core/revive"
	"github.com/sluicelb/sluice/core/stats"
)

// Base is the common part of engines; W is an engine's worker on a loop. The creator sets
// the fields.
type Base[W Worker] struct {
	Workers []W
	Health  *health.Table
	Segment *stats.Segment
	Prober  *revive.Prober
	Marks   *marks.User
	Profile Profile

	mu     sync.Mutex // serialises changes; not locked by loops
	ports  *ports.Set[W]
	closed bool
	served served
}

// Start prepares the Base for Prepare.
func (b *Base[W]) Start() { b.ports = ports.New(b.Workers) }

// Stop prevents further changes and reports false if it was called before.
func (b *Base[W]) Stop() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	before := b.closed
	b.closed = true
	return !before
}

// OnLoops runs fn for each worker on its loop, and waits for all.
func (b *Base[W]) OnLoops(fn func(W)) { b.ports.OnLoops(fn) }

// Listeners returns the keys of the engine's sockets.
func (b *Base[W]) Listeners() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ports.Keys()
}

// Listens reports whether the engine has sockets for an address.
func (b *Base[W]) Listens(at farm.Listener) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ports.Open(at)
}

// Unserved returns the positions in cfg of farms the engine does not serve in this form.
func (b *Base[W]) Unserved(cfg *farm.Config) []int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.served.unserved(cfg)
}

// Sockets returns duplicates of the engine's listening sockets of a key, one per loop, to
// pass the address to another engine, or nil. The caller owns them.
func (b *Base[W]) Sockets(key string) []*os.File {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ports.Sockets(key)
}

// MarkWith makes connections with a mark use the sockets of r, because an engine without
// privilege may not set marks. Call it before Prepare. Without it the loops set the marks.
func (b *Base[W]) MarkWith(r *marks.Reserve) {
	b.Marks.Draw(r)
	for _, w := range b.Workers {
		w.Loop().MarkBy(r)
	}
}

// Drain stops accepting and waits until all work in progress has ended or the grace period
// is over.
func (b *Base[W]) Drain(grace time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.Profile.Empty()
	t.Use()
	b.served = served{}
	b.unlisten(t, &moves{all: true})
	b.ports.Idle(grace, func(w W) int {
		w.Reconcile(nil)
		return w.Busy()
	})
}

// unlisten stops accepting on ports without a farm in t, and returns them.
func (b *Base[W]) unlisten(t Table, m *moves) (closed []*ports.Port) {
	behind := func(p *ports.Port) bool {
		is, _ := t.Behind(p)
		return is
	}
	if m.all {
		return b.ports.Unlisten(behind)
	}
	return b.ports.UnlistenAt(m.left, behind)
}

// ForceClose ends the remaining work of farms whose grace period is over; others may have
// been stopped since. It does not wait for loops: they may end before the grace period, and
// then no work remains.
func (b *Base[W]) ForceClose() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return
	}
	over := b.ports.Over()
	for _, w := range b.Workers {
		w.Post(func() { w.Reconcile(over) })
	}
}

// Sum returns the sum of count over all workers, called on their loops.
func (b *Base[W]) Sum(count func(W) int) int { return b.ports.Sum(count) }

// Among returns a function that reports whether a backend is in the list of stable numbers.
// With nil it accepts all.
func Among(backends []uint32) func(id uint32) bool {
	if backends == nil {
		return func(uint32) bool { return true }
	}
	named := make(map[uint32]bool, len(backends))
	for _, id := range backends {
		named[id] = true
	}
	return func(id uint32) bool { return named[id] }
}
