package auth

import (
	"net/netip"
	"sync"
	"time"
)

// Limits of the throttle. Ten mistakes allow for a forgotten key in a script;
// the table is bounded so that an attacker with many addresses costs memory of
// a fixed size (about 300 KiB).
const (
	throttleFailures = 10
	throttleWindow   = time.Minute
	throttleSources  = 4096
)

// Throttle counts wrong credentials per source and refuses sources with too many. What
// is one source of those that send, entry says.
type Throttle[S any, E comparable] struct {
	now   func() time.Time
	entry func(S) E

	mu      sync.Mutex
	sources map[E]failures
}

type failures struct {
	count int
	until time.Time // the entry is forgotten then
}

// NewThrottle returns an empty throttle of addresses on the given clock. An IPv6 source
// is its /64: one host has that many addresses for free.
func NewThrottle(now func() time.Time) *Throttle[netip.Addr, netip.Prefix] {
	return newThrottle(now, block)
}

func newThrottle[S any, E comparable](now func() time.Time, entry func(S) E) *Throttle[S, E] {
	return &Throttle[S, E]{now: now, entry: entry, sources: map[E]failures{}}
}

// Wait returns how long the source must wait, 0 when it may try.
func (t *Throttle[S, E]) Wait(source S) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	f, ok := t.sources[t.entry(source)]
	if !ok || f.count < throttleFailures {
		return 0
	}
	return max(0, f.until.Sub(t.now()))
}

// Failed counts one wrong credential. The tenth within a minute of each other
// locks the source for a minute; tries of a locked source do not prolong that,
// so a right user behind the same address gets in again.
func (t *Throttle[S, E]) Failed(source S) {
	now := t.now()
	at := t.entry(source)
	t.mu.Lock()
	defer t.mu.Unlock()
	f, ok := t.sources[at]
	if !ok || !now.Before(f.until) {
		f = failures{}
		t.makeRoom(now)
	}
	f.count++
	if f.count <= throttleFailures {
		f.until = now.Add(throttleWindow)
	}
	t.sources[at] = f
}

// Succeeded forgets the mistakes of a source.
func (t *Throttle[S, E]) Succeeded(source S) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.sources, t.entry(source))
}

// Len is the number of sources remembered, at most a few thousand.
func (t *Throttle[S, E]) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.sources)
}

// makeRoom drops what has expired when the table is full, and if that is not
// enough the entry that expires first.
func (t *Throttle[S, E]) makeRoom(now time.Time) {
	if len(t.sources) < throttleSources {
		return
	}
	var oldest E
	var first time.Time
	for at, f := range t.sources {
		if !now.Before(f.until) {
			delete(t.sources, at)
			continue
		}
		if first.IsZero() || f.until.Before(first) {
			oldest, first = at, f.until
		}
	}
	if len(t.sources) >= throttleSources {
		delete(t.sources, oldest)
	}
}

func block(a netip.Addr) netip.Prefix {
	a = a.Unmap().WithZone("")
	bits := 32
	if a.Is6() {
		bits = 64
	}
	p, err := a.Prefix(bits)
	if err != nil {
		return netip.Prefix{} // no address: all such sources share one entry
	}
	return p
}
