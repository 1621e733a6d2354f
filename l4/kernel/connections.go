package kernel

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/sysnet/conntrack"
	"github.com/sluicelb/sluice/sysnet/reset"
)

// Connections gives access to the tracked connections of farms.
type Connections interface {
	// Count counts connections by mark.
	Count(ctx context.Context) (map[uint32]conntrack.Counts, error)
	// CountOnly counts the connections to some backends, by mark.
	CountOnly(ctx context.Context, backends map[uint32]bool) (map[uint32]conntrack.Counts, error)
	// Flush deletes the connections to backends for which meant is true, and notifies both
	// ends.
	Flush(ctx context.Context, meant func(backend uint32) bool) error
	// FlushUDP deletes the UDP flows to backends for which meant is true.
	FlushUDP(ctx context.Context, meant func(backend uint32) bool) error
}

// Tracked implements Connections with the kernel's connection tracking.
type Tracked struct{}

// Count implements Connections.
func (Tracked) Count(ctx context.Context) (map[uint32]conntrack.Counts, error) {
	return conntrack.Count(ctx, conntrack.Farms())
}

// CountOnly implements Connections.
func (Tracked) CountOnly(ctx context.Context, backends map[uint32]bool) (map[uint32]conntrack.Counts, error) {
	return conntrack.CountOnly(ctx, backends)
}

// Flush implements Connections.
func (Tracked) Flush(ctx context.Context, meant func(backend uint32) bool) error {
	_, err := reset.Flush(ctx, meant)
	return err
}

// FlushUDP implements Connections.
func (Tracked) FlushUDP(ctx context.Context, meant func(backend uint32) bool) error {
	_, err := conntrack.FlushUDP(ctx, meant)
	return err
}

// graced is a stopped farm whose connections may continue for a while.
type graced struct {
	backends []uint32
	until    time.Time
}

// entitled returns the backends whose connections may continue: all backends of running
// farms except cut ones.
func entitled(farms []farm.Farm) map[uint32]bool {
	out := map[uint32]bool{}
	for i := range farms {
		if farms[i].Stopped {
			continue
		}
		for j := range farms[i].L4.Backends {
			if b := &farms[i].L4.Backends[j]; b.Maintenance != farm.MaintenanceCut {
				out[b.ID] = true
			}
		}
	}
	return out
}

// parting reports which backends must lose their connections, compared with the previous
// farms: their farm was stopped or deleted, or they were deleted or cut. Backends of a farm
// with a grace period lose them later. On the first call the previous state is unknown:
// every backend without a right to connections loses them. gone and fresh are the changed
// farms, before and now.
func (k *Reconciler) parting(gone, fresh []farm.Farm) (lost func(backend uint32) bool) {
	if !k.applied {
		now := entitled(k.farms)
		// Stopped farms may have a grace period that began before this process.
		graced := graceful(k.farms)
		k.graceAll(maps.Clone(graced))
		return func(backend uint32) bool { return !now[backend] && !graced[backend] }
	}
	now, list := entitled(fresh), map[uint32]bool{}
	for id := range entitled(gone) {
		if !now[id] {
			list[id] = true
		}
	}
	if len(k.graced) > 0 {
		k.keepGraces(entitled(k.farms), list)
	}
	k.graceAll(list)
	if len(list) == 0 {
		return nil
	}
	return func(backend uint32) bool { return list[backend] }
}

// graceful returns the backends of stopped farms with a grace period, except cut ones.
func graceful(farms []farm.Farm) map[uint32]bool {
	out := map[uint32]bool{}
	for i := range farms {
		f := &farms[i]
		for j := range f.L4.Backends {
			if b := &f.L4.Backends[j]; f.Stopped && f.L4.StopGrace > 0 && b.Maintenance != farm.MaintenanceCut {
				out[b.ID] = true
			}
		}
	}
	return out
}

// keepGraces ends the grace of backends that were cut since, which are added to lost, and of
// farms that run again. If such a farm is stopped later, a new grace begins.
func (k *Reconciler) keepGraces(now, lost map[uint32]bool) {
	cut := map[uint32]bool{}
	for i := range k.farms {
		for j := range k.farms[i].L4.Backends {
			b := &k.farms[i].L4.Backends[j]
			cut[b.ID] = b.Maintenance == farm.MaintenanceCut
		}
	}
	for i := range k.graced {
		g := &k.graced[i]
		g.backends = slices.DeleteFunc(g.backends, func(id uint32) bool {
			if cut[id] {
				lost[id] = true
			}
			return cut[id] || now[id]
		})
	}
	k.graced = slices.DeleteFunc(k.graced, func(g graced) bool { return len(g.backends) == 0 })
}

// graceAll starts the grace periods of stopped farms and removes their backends from lost.
func (k *Reconciler) graceAll(lost map[uint32]bool) {
	for i := range k.farms {
		if f := &k.farms[i]; f.Stopped && f.L4.StopGrace > 0 {
			k.grace(f, lost)
		}
	}
}

// grace starts the grace period of a farm that was just stopped.
func (k *Reconciler) grace(f *farm.Farm, lost map[uint32]bool) {
	g := graced{until: time.Now().Add(time.Duration(f.L4.StopGrace) * time.Second)}
	for i := range f.L4.Backends {
		if b := &f.L4.Backends[i]; lost[b.ID] && b.Maintenance != farm.MaintenanceCut {
			g.backends = append(g.backends, b.ID)
			delete(lost, b.ID)
		}
	}
	if len(g.backends) > 0 {
		k.graced = append(k.graced, g)
	}
}

// endGrace ends the connections whose grace period is over, unless their farm runs again. It
// reports whether any period ended.
func (k *Reconciler) endGrace(ctx context.Context, at time.Time) bool {
	if len(k.graced) == 0 {
		return false
	}
	now, left, over := entitled(k.farms), k.graced[:0], map[uint32]bool{}
	for _, g := range k.graced {
		if at.Before(g.until) {
			left = append(left, g)
			continue
		}
		for _, id := range g.backends {
			over[id] = !now[id]
		}
	}
	k.graced = left
	if len(over) == 0 {
		return false
	}
	lost := func(backend uint32) bool { return over[backend] }
	k.noteFlushed(lost)
	k.flush(ctx, lost)
	return true
}

// flush deletes the connections to backends for which meant is true.
func (k *Reconciler) flush(ctx context.Context, meant func(backend uint32) bool) {
	err := k.options.Connections.Flush(ctx, meant)
	switch {
	case err == nil:
	case errors.Is(err, fs.ErrPermission): // then no connection could begin either
		k.options.Log.Debug("tracked connections cannot be flushed", "error", err)
	default:
		k.options.Log.Warn("connections of what was stopped may go on", "error", err)
	}
}

// forgetSessions removes the sessions of backends that were deleted from the farm or cut.
func (k *Reconciler) forgetSessions(ctx context.Context, f *farm.Farm, before []farm.Farm) {
	if f.L4.Persist == farm.L4PersistNone || k.problems[f.ID] != "" || !k.failed.IsZero() {
		return
	}
	known, lost := backendsOf(f), map[uint32]bool{}
	for i := range before {
		if before[i].ID == f.ID && before[i].L4.Persist == f.L4.Persist {
			for id := range backendsOf(&before[i]) {
				if !known[id] {
					lost[id] = true
				}
			}
		}
	}
	if len(lost) == 0 {
		return
	}
	list, err := k.options.Filter.Learned(ctx, f)
	var keys []string
	for _, s := range list {
		if lost[s.Backend] {
			keys = append(keys, s.Key)
		}
	}
	if err == nil && len(keys) > 0 {
		_, err = k.options.Filter.Forget(ctx, f, keys...)
	}
	if err != nil {
		k.options.Log.Warn("sessions of backends that are gone stay until they expire", "farm", f.Name, "error", err)
	}
}
