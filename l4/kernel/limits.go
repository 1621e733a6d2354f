package kernel

import (
	"context"
	"maps"
	"runtime"
	"syscall"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel/rules"
	"github.com/sluicelb/sluice/sysnet/conntrack"
)

const (
	// releasePause is how often the connections of backends noted as full are counted. It is
	// slightly less than followPause, so that no round is skipped.
	releasePause = followPause - healthPause
	// releaseShare bounds the CPU time of counting very many connections: the next count
	// waits for releaseShare times the CPU time of the last one. CPU time excludes waiting
	// for the processor and for nft. Such time would delay the next round by several times as
	// much.
	releaseShare = 10
	// recountPause is how often backends are counted that have connections older than their
	// rules.
	recountPause = time.Second
)

// limits is the state of a Reconciler for backends and farms with a connection limit, by
// backend ID or rules.LimitOf.
type limits struct {
	released  time.Time     // last check of the notes
	wait      time.Duration // until the next check
	recounted time.Time     // last count of limits outside known
	holding   bool          // some backend or farm is held
	near      bool          // some limit outside known is half used
	// loaded holds the limits of the loaded rules.
	loaded map[uint32]bound
	// known holds the limits whose rules have counted every open connection from its
	// beginning.
	known map[uint32]uint32
	// resets is that of the filter when the limits were loaded.
	resets uint64
}

// bound is a connection limit.
type bound struct {
	most uint32
	// backends holds the backends of a limited farm; nil for the limit of one backend.
	backends []uint32
}

// release counts the connections of backends noted as full, as the kernel counts them, and
// removes the notes of those with room. Without notes it costs one query to the kernel.
func (k *Reconciler) release(ctx context.Context, at time.Time) {
	if at.Sub(k.released) < k.wait || len(k.loaded) == 0 && !k.holding {
		return
	}
	k.released, k.wait = at, releasePause
	noted, err := k.options.Filter.Noted(ctx)
	if err != nil {
		k.options.Log.Debug("notes of full backends not read", "error", err)
	}
	asked := map[uint32]bool{}
	for id := range noted {
		asked[id] = true
	}
	due := k.near || at.Sub(k.recounted) >= recountPause
	if len(k.known) < len(k.loaded) && due || k.holding {
		k.recounted = at
		for id, b := range k.loaded {
			if k.known[id] != b.most {
				asked[id] = true
			}
		}
	}
	if len(asked) > 0 || k.holding {
		k.count(ctx, asked)
	}
}

// count counts the connections of limits and corrects their notes.
func (k *Reconciler) count(ctx context.Context, ids map[uint32]bool) {
	at := time.Now()
	var found map[uint32]conntrack.Counts
	var err error
	spent := cpuTime(func() { found, err = k.options.Connections.CountOnly(ctx, counted(ids, k.loaded)) })
	k.wait = max(releasePause, releaseShare*spent)
	if err != nil {
		k.options.Log.Debug("connections not counted", "error", err)
		return
	}
	k.fill(ctx, at, ids, found)
}

// fill notes which backends are full, by their connections at the given time. When no
// connection older than the rules is left, the rules' own count is used. Limits outside ids are
// no longer held.
func (k *Reconciler) fill(ctx context.Context, at time.Time, ids map[uint32]bool, found map[uint32]conntrack.Counts) {
	c := rules.Counted{At: at, Full: map[uint32]bool{}, Room: map[uint32]bool{}, Held: map[uint32]bool{}}
	k.near = false
	for id := range ids {
		b := k.loaded[id]
		n := occupying(found, id, b)
		if b.most > 0 && n == 0 {
			k.known[id] = b.most
		}
		full, unknown := b.most > 0 && n >= int(b.most), k.known[id] != b.most
		k.near = k.near || unknown && n >= int(b.most)/2
		if full && unknown {
			c.Held[id] = true
		}
		switch {
		case b.backends != nil: // packets note backends only
		case full:
			c.Full[id] = true
		default:
			c.Room[id] = true
		}
	}
	if err := k.options.Filter.Fill(ctx, c); err != nil {
		k.options.Log.Debug("full backends not noted", "error", err)
	}
	k.holding = len(c.Held) > 0
}

// recount counts the connections of all limits outside known if the loaded rules lack any of
// them. Those without connections are counted by the rules from now on. The others, which it
// returns, must be counted here. They include limits of the loaded rules, because fill releases
// the limits that it does not get. recount is called before the rules of the current farms are
// loaded.
func (k *Reconciler) recount(ctx context.Context) (at time.Time, uncounted map[uint32]bool, found map[uint32]conntrack.Counts) {
	before := k.loaded
	k.loaded = bounds(k.farms)
	maps.DeleteFunc(k.known, func(id, most uint32) bool { return k.loaded[id].most != most || before[id].most != most })
	uncounted = map[uint32]bool{}
	added := false
	for id, b := range k.loaded {
		added = added || before[id].most != b.most
		if k.known[id] != b.most {
			uncounted[id] = true
		}
	}
	at = time.Now()
	if !added {
		return at, nil, nil
	}
	found, err := k.options.Connections.CountOnly(ctx, counted(uncounted, k.loaded))
	if err != nil {
		k.options.Log.Debug("connections not counted", "error", err)
		return at, nil, nil
	}
	for id := range uncounted {
		if b := k.loaded[id]; occupying(found, id, b) == 0 {
			k.known[id] = b.most
			delete(uncounted, id)
		}
	}
	return at, uncounted, found
}

// unload forgets the limits of farms with a problem, whose rules are left out.
func (k *Reconciler) unload(problems map[uint32]string) {
	for i := range k.farms {
		f := &k.farms[i]
		if problems[f.ID] == "" {
			continue
		}
		delete(k.loaded, rules.LimitOf(f.ID))
		for j := range f.L4.Backends {
			delete(k.loaded, f.L4.Backends[j].ID)
		}
	}
	k.forgetLimits()
}

// forgetLimits removes limits from known that the loaded rules do not have.
func (k *Reconciler) forgetLimits() {
	maps.DeleteFunc(k.known, func(id, most uint32) bool { return k.loaded[id].most != most })
}

// bounds returns the connection limits of running farms and of their backends.
func bounds(farms []farm.Farm) map[uint32]bound {
	out := map[uint32]bound{}
	for i := range farms {
		f := &farms[i]
		if f.Stopped {
			continue
		}
		all := make([]uint32, 0, len(f.L4.Backends))
		for j := range f.L4.Backends {
			b := &f.L4.Backends[j]
			all = append(all, b.ID)
			if b.ConnLimit > 0 {
				out[b.ID] = bound{most: b.ConnLimit}
			}
		}
		if f.L4.MaxConnections > 0 {
			out[rules.LimitOf(f.ID)] = bound{f.L4.MaxConnections, all}
		}
	}
	return out
}

// counted returns the backends whose connections the limits are about.
func counted(ids map[uint32]bool, all map[uint32]bound) map[uint32]bool {
	out := make(map[uint32]bool, len(ids))
	for id := range ids {
		if of := all[id].backends; of != nil {
			for _, backend := range of {
				out[backend] = true
			}
			continue
		}
		out[id] = true
	}
	return out
}

// occupying returns the number of connections of a limit as a ct count rule counts them.
func occupying(found map[uint32]conntrack.Counts, id uint32, b bound) (n int) {
	if b.backends == nil {
		return found[rules.Mark(id)].Occupying()
	}
	for _, backend := range b.backends {
		n += found[rules.Mark(backend)].Occupying()
	}
	return n
}

// cpuTime calls f and returns the CPU time that it takes, the kernel's on its behalf
// included. If that is not known, it returns 0.
func cpuTime(f func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before, after syscall.Rusage
	failed := syscall.Getrusage(syscall.RUSAGE_THREAD, &before)
	f()
	if failed != nil || syscall.Getrusage(syscall.RUSAGE_THREAD, &after) != nil {
		return 0
	}
	spent := func(r syscall.Rusage) int64 { return syscall.TimevalToNsec(r.Utime) + syscall.TimevalToNsec(r.Stime) }
	return time.Duration(spent(after) - spent(before))
}
