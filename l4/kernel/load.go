package kernel

import (
	"context"
	"maps"
	"math"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel/rules"
	"github.com/sluicelb/sluice/sysnet/conntrack"
)

const (
	// weighPause is how often the weights of leastconn follow the connections
	// (contract of the family's daemon).
	weighPause = 3 * time.Second
	// fillPause is how often backends with a bound are looked at; less than
	// rules.FullTime, so that one that stays full is never asked.
	fillPause = time.Second
)

// load is what a reconciler remembers of connections.
type load struct {
	weights         map[uint32]int
	weighed, filled time.Time
	anyFull         bool
	// counted are the bounds of backends under which the rules have seen every
	// connection begin that there is.
	counted map[uint32]uint32
}

// measure counts connections where that decides something: weights of leastconn
// and bounds. It reports whether weights changed.
func (k *Reconciler) measure(ctx context.Context, at time.Time) (changed bool) {
	least, bounded := wants(k.farms)
	weigh := least && at.Sub(k.weighed) >= weighPause
	fill := (bounded || k.anyFull) && at.Sub(k.filled) >= fillPause
	if !weigh && !fill {
		return false
	}
	found, err := k.options.Connections.Count(ctx)
	if err != nil {
		k.options.Log.Debug("connections not counted", "error", err)
		return false
	}
	if fill {
		k.filled = at
		k.fill(ctx, found)
	}
	if weigh {
		k.weighed = at
		weights := weightsOf(k.farms, found)
		changed = !maps.Equal(weights, k.weights)
		k.weights = weights
	}
	return changed
}

// fill notes which backends are full. Rules count from nothing once there is no
// connection that they have not seen begin.
func (k *Reconciler) fill(ctx context.Context, found map[uint32]conntrack.Counts) {
	full, held := fullOf(k.farms, found), map[uint32]bool{}
	for id, most := range bounds(k.farms) {
		switch {
		case live(found, id) == 0:
			k.counted[id] = most
		case k.counted[id] != most && full[id]:
			held[id] = true
		}
	}
	if len(full) > 0 || k.anyFull {
		if err := k.options.Filter.Fill(ctx, full, held); err != nil {
			k.options.Log.Debug("full backends not noted", "error", err)
		}
	}
	k.anyFull = len(full) > 0
}

// recount looks at backends whose bound is new. Those without a connection the
// rules count from now on; of the others only looking tells.
func (k *Reconciler) recount(ctx context.Context) (uncounted map[uint32]conntrack.Counts) {
	all := bounds(k.farms)
	maps.DeleteFunc(k.counted, func(id, most uint32) bool { return all[id] != most })
	if len(k.counted) == len(all) {
		return nil
	}
	found, err := k.options.Connections.Count(ctx)
	if err != nil {
		k.options.Log.Debug("connections not counted", "error", err)
		return nil
	}
	for id, most := range all {
		if _, known := k.counted[id]; !known && live(found, id) == 0 {
			k.counted[id] = most
		}
	}
	if len(k.counted) == len(all) {
		return nil
	}
	return found
}

// bounds lists the bounded backends of farms that run.
func bounds(farms []farm.Farm) map[uint32]uint32 {
	out := map[uint32]uint32{}
	for i := range farms {
		for j := range farms[i].L4.Backends {
			if b := &farms[i].L4.Backends[j]; !farms[i].Stopped && b.ConnLimit > 0 {
				out[b.ID] = b.ConnLimit
			}
		}
	}
	return out
}

// wants tells what the farms need to be counted for.
func wants(farms []farm.Farm) (least, bounded bool) {
	for i := range farms {
		f := &farms[i]
		if f.Stopped {
			continue
		}
		least = least || f.L4.Algorithm == farm.L4LeastConn
		for j := range f.L4.Backends {
			bounded = bounded || f.L4.Backends[j].ConnLimit > 0
		}
	}
	return least, bounded
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

// fullOf are the backends with all the connections they may have.
func fullOf(farms []farm.Farm, found map[uint32]conntrack.Counts) map[uint32]bool {
	out := map[uint32]bool{}
	for i := range farms {
		f := &farms[i]
		for j := range f.L4.Backends {
			if b := &f.L4.Backends[j]; !f.Stopped && b.ConnLimit > 0 && live(found, b.ID) >= int(b.ConnLimit) {
				out[b.ID] = true
			}
		}
	}
	return out
}

// live are the connections to a backend that are not being closed.
func live(found map[uint32]conntrack.Counts, backend uint32) int {
	return found[rules.Mark(backend)].Open()
}
