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

// limits is the state of a Reconciler for backends with a connection limit.
type limits struct {
	released  time.Time     // last check of the notes
	wait      time.Duration // until the next check
	recounted time.Time     // last count of backends outside known
	holding   bool          // some backend is held
	// known holds the limits of backends whose rules have counted every open connection from
	// its beginning.
	known map[uint32]uint32
}

// release counts the connections of backends noted as full, as the kernel counts them, and
// removes the notes of those with room. Without notes it costs one query to the kernel.
func (k *Reconciler) release(ctx context.Context, at time.Time) {
	all := bounds(k.farms)
	if at.Sub(k.released) < k.wait || len(all) == 0 && !k.holding {
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
	if len(k.known) < len(all) && at.Sub(k.recounted) >= recountPause || k.holding {
		k.recounted = at
		for id, most := range all {
			if k.known[id] != most {
				asked[id] = true
			}
		}
	}
	if len(asked) > 0 || k.holding {
		k.count(ctx, asked)
	}
}

// count counts the connections of backends and corrects their notes.
func (k *Reconciler) count(ctx context.Context, backends map[uint32]bool) {
	at := time.Now()
	var found map[uint32]conntrack.Counts
	var err error
	k.wait = max(releasePause, releaseShare*cpuTime(func() { found, err = k.options.Connections.CountOnly(ctx, backends) }))
	if err != nil {
		k.options.Log.Debug("connections not counted", "error", err)
		return
	}
	k.fill(ctx, at, backends, found)
}

// fill notes which backends are full, by their connections at the given time. When no
// connection older than the rules is left, the rules' own count is used.
func (k *Reconciler) fill(ctx context.Context, at time.Time, backends map[uint32]bool, found map[uint32]conntrack.Counts) {
	all := bounds(k.farms)
	c := rules.Counted{At: at, Full: map[uint32]bool{}, Room: map[uint32]bool{}, Held: map[uint32]bool{}}
	for id := range backends {
		n, most := occupying(found, id), all[id]
		if most > 0 && n == 0 {
			k.known[id] = most
		}
		full := most > 0 && n >= int(most)
		switch {
		case !full:
			c.Room[id] = true
		case k.known[id] != most:
			c.Held[id] = true
			fallthrough
		default:
			c.Full[id] = true
		}
	}
	if err := k.options.Filter.Fill(ctx, c); err != nil {
		k.options.Log.Debug("full backends not noted", "error", err)
	}
	k.holding = len(c.Held) > 0
}

// recount counts the connections of backends whose limit is new. Backends without
// connections are counted by the rules from now on; the others must be counted here.
func (k *Reconciler) recount(ctx context.Context) (at time.Time, uncounted map[uint32]bool, found map[uint32]conntrack.Counts) {
	all := bounds(k.farms)
	maps.DeleteFunc(k.known, func(id, most uint32) bool { return all[id] != most })
	if len(k.known) == len(all) {
		return at, nil, nil
	}
	uncounted = map[uint32]bool{}
	for id := range all {
		if _, known := k.known[id]; !known {
			uncounted[id] = true
		}
	}
	at = time.Now()
	found, err := k.options.Connections.CountOnly(ctx, uncounted)
	if err != nil {
		k.options.Log.Debug("connections not counted", "error", err)
		return at, nil, nil
	}
	for id := range uncounted {
		if occupying(found, id) == 0 {
			k.known[id] = all[id]
			delete(uncounted, id)
		}
	}
	return at, uncounted, found
}

// bounds returns the connection limits of backends of running farms.
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

// occupying returns the number of connections to a backend as a ct count rule counts them.
func occupying(found map[uint32]conntrack.Counts, backend uint32) int {
	return found[rules.Mark(backend)].Occupying()
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
