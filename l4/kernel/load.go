package kernel

import (
	"context"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel/rules"
	"github.com/sluicelb/sluice/sysnet/conntrack"
)

// weighPause is how often the leastconn weights follow the connections (contract of
// Zevenet's daemon).
const weighPause = 3 * time.Second

// load is the state of a Reconciler about connections.
type load struct {
	weights map[uint32]int
	weighed time.Time
	limits
}

// measure counts connections where needed: for leastconn weights and limits. It reports
// whether weights changed.
func (k *Reconciler) measure(ctx context.Context, at time.Time) (changed bool) {
	k.release(ctx, at)
	if !weighing(k.farms) || at.Sub(k.weighed) < weighPause {
		return false
	}
	found, err := k.options.Connections.Count(ctx)
	if err != nil {
		k.options.Log.Debug("connections not counted", "error", err)
		return false
	}
	k.weighed = at
	weights := weightsOf(k.farms, found)
	changed = !maps.Equal(weights, k.weights)
	k.weights = weights
	return changed
}

// weighing reports whether some farm needs weights by connections.
func weighing(farms []farm.Farm) bool {
	return slices.ContainsFunc(farms, func(f farm.Farm) bool { return !f.Stopped && f.L4.Algorithm == farm.L4LeastConn })
}

// weightsOf gives each backend of a farm with leastconn
// max(1, round(10 − 10 × its share of the farm's connections)).
func weightsOf(farms []farm.Farm, found map[uint32]conntrack.Counts) map[uint32]int {
	out := map[uint32]int{}
	for i := range farms {
		f := &farms[i]
		if f.Stopped || f.L4.Algorithm != farm.L4LeastConn {
			continue
		}
		total := 0
		for j := range f.L4.Backends {
			total += live(found, f.L4.Backends[j].ID)
		}
		for j := range f.L4.Backends {
			id := f.L4.Backends[j].ID
			out[id] = 10
			if total > 0 {
				share := float64(live(found, id)) / float64(total)
				out[id] = max(1, int(math.Round(10-10*share)))
			}
		}
	}
	return out
}

// live returns the number of connections to a backend that are not closing.
func live(found map[uint32]conntrack.Counts, backend uint32) int {
	return found[rules.Mark(backend)].Open()
}
