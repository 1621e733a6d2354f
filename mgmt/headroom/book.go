package headroom

import (
	"hash/fnv"
	"sync"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/stats"
)

// keptFor is how long a backend is remembered that is in no configuration: an undo may
// bring it back.
const keptFor = 24 * time.Hour

// Counters sums what the loops counted; *stats.Segment is one.
type Counters interface {
	SumBackend(id uint32) stats.Backend
	SumBackendTimes(id uint32) stats.Times
}

// Book is what is known of all backends, by their stable numbers; make it with New. Any
// goroutine may use it.
type Book struct {
	mu       sync.Mutex
	backends map[uint32]*backend
	changed  bool // since it was encoded
}

// New makes an empty book.
func New() *Book { return &Book{backends: map[uint32]*backend{}} }

// Measurable reports whether the latency of a farm's backends is known: only of what asks
// and answers.
func Measurable(f *farm.Farm) bool { return f.Profile.Carries() == farm.TrafficRequests }

// Observe takes the counts of all backends of a configuration at a time.
func (b *Book) Observe(cfg *farm.Config, counters Counters, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range cfg.Farms {
		f := &cfg.Farms[i]
		if !Measurable(f) {
			continue
		}
		for _, g := range f.Groups() {
			list := g.Backends()
			for k := range list {
				b.observe(f, &list[k], counters, now)
			}
		}
	}
	b.forget(now)
}

func (b *Book) observe(f *farm.Farm, of *farm.Backend, counters Counters, now time.Time) {
	one, key := b.backends[of.ID], keyOf(f, of)
	if one == nil || one.key != key {
		one = &backend{key: key, from: loadBins}
		b.backends[of.ID] = one
	}
	one.seen = now
	sum := counters.SumBackend(of.ID)
	if one.idle(&sum) {
		one.rest(now)
		return
	}
	times := counters.SumBackendTimes(of.ID)
	one.observe(CountOf(now, &sum, &times))
	b.changed = true
}

// keyOf tells servers apart that have the same number one after the other. A backend keeps
// it when farm or service are renamed, and while its name is: behind a name addresses
// change, and what they lead to is the same.
func keyOf(f *farm.Farm, b *farm.Backend) uint64 {
	h := fnv.New64a()
	host := b.Host
	if b.Of != 0 {
		host = b.Addr.String()
	}
	h.Write([]byte(host))
	h.Write([]byte{0, byte(b.Port >> 8), byte(b.Port), byte(f.ID >> 8), byte(f.ID)})
	return h.Sum64()
}

// forget drops backends that have been in no configuration for long.
func (b *Book) forget(now time.Time) {
	for id, one := range b.backends {
		if now.Sub(one.seen) > keptFor {
			delete(b.backends, id)
		}
	}
}

// Known is what is known of a backend.
type Known struct {
	Estimate
	// Counted says that Load and Rate are known: two counts after the start.
	Counted bool
	// Load is how many requests are under way now, over half a minute; Rate how many
	// are answered a second. Peak and PeakRate are the highest in a day.
	Load, Rate, Peak, PeakRate float64
	// Since is when learning began, the zero time before; Anew says that it began anew
	// then because latency had become another one.
	Since time.Time
	Anew  bool
	// Tunnels says that what is under way does not end: tunnels, long polls.
	Tunnels bool
}

// Of is what is known of a backend of a farm; of one that was never seen, nothing.
func (b *Book) Of(f *farm.Farm, of *farm.Backend, now time.Time) Known {
	b.mu.Lock()
	defer b.mu.Unlock()
	one := b.backends[of.ID]
	if one == nil || one.key != keyOf(f, of) {
		return Known{}
	}
	p := one.highest(now)
	return Known{
		Estimate: one.curve.estimate(), Counted: one.rate.known, Load: one.load.value, Rate: one.rate.value, Peak: float64(p.load), PeakRate: float64(p.rate),
		Since: one.since, Anew: one.anew, Tunnels: one.tunnelled >= known,
	}
}
