package headroom

import (
	"hash/fnv"
	"sync"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/stats"
)

// keptFor is how long a backend without a configuration is remembered, in case it is
// restored.
const keptFor = 24 * time.Hour

// Counters sums the counters of the event loops. *stats.Segment implements it.
type Counters interface {
	SumBackend(id uint32) stats.Backend
	SumBackendTimes(id uint32) stats.Times
}

// Book holds the state of all backends by ID. Use New to make one. It is safe for
// concurrent use.
type Book struct {
	mu       sync.Mutex
	backends map[uint32]*backend
	changed  bool // since the last Encode
}

// New returns an empty book.
func New() *Book { return &Book{backends: map[uint32]*backend{}} }

// Measurable reports whether the latency of a farm's backends is known, i.e. whether its
// traffic is requests with responses.
func Measurable(f *farm.Farm) bool { return f.Profile.Carries() == farm.TrafficRequests }

// Observe processes the counters of all backends of a configuration.
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

// keyOf identifies a server, in case a backend ID is reused. The key survives the
// renaming of farm or service. A backend with a host name keeps its key although
// addresses of the name change.
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

// forget deletes backends that have not been in a configuration for keptFor.
func (b *Book) forget(now time.Time) {
	for id, one := range b.backends {
		if now.Sub(one.seen) > keptFor {
			delete(b.backends, id)
		}
	}
}

// Known is the learned state of a backend.
type Known struct {
	Estimate
	// Counted is true if Load and Rate are known, i.e. after two counts.
	Counted bool
	// Load is the number of requests in flight, Rate the responses per second, both
	// averaged over half a minute. Peak and PeakRate are the maxima of a day.
	Load, Rate, Peak, PeakRate float64
	// Since is the start of learning, or the zero time. Anew is true if learning
	// restarted then because latency had changed.
	Since time.Time
	Anew  bool
	// Tunnels is true if most requests in flight do not end: tunnels, long polls.
	Tunnels bool
}

// Of returns the state of a backend of a farm, or the zero value if it is unknown.
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
