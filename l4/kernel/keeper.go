package kernel

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel/rules"
)

// followPause is how often the board is looked at: how long a backend that was
// found down still gets new clients.
const followPause = 100 * time.Millisecond

// retryPause is how often what failed is tried again.
var retryPause = 5 * time.Second

// standPause is how often a filter that can tell is asked whether its rules are
// still there: how long farms are not served after others flushed all rules.
const standPause = 3 * time.Second

// Keeper keeps the kernel equal to what was last asked for and to what the
// board says. Any goroutine may call it. Make it with New.
type Keeper struct {
	options Options

	mu    sync.Mutex // held while rules are changed
	farms []farm.Farm
	// transparent are farms of the engine whose backends see the addresses of
	// clients.
	transparent []farm.Farm
	generation  uint64
	cleaned     bool   // since the last Apply
	version     uint64 // of the board, as last carried
	problems    map[uint32]string
	warnings    map[uint32][]string
	wire        *seen             // as last carried
	looked      time.Time         // at the wire, last
	stood       time.Time         // when the filter was asked last whether its rules are there
	failed      time.Time         // when Carry failed last, zero while it works
	unready     map[uint32]string // farms the ground is not ready for
	prepared    time.Time         // when that was asked last
	applied     bool              // Apply was called
	graced      []graced          // farms that were stopped and whose connections may go on
	// ended are farms whose connections were ended, and until when that is to be
	// remembered.
	ended map[uint32]time.Time
	load

	shown atomic.Pointer[view]
}

// New returns a Keeper that has not been asked for anything: whatever an
// earlier one left in the kernel stays until Apply.
func New(o Options) *Keeper {
	if o.Connections == nil {
		o.Connections = Tracked{}
	}
	k := &Keeper{options: o, ended: map[uint32]time.Time{}, load: load{counted: map[uint32]uint32{}}}
	k.show()
	return k
}

// Apply makes the kernel carry the kernel farms of cfg and no others.
// generation numbers the request, see Generation. The result are the farms that
// are not carried and why, by ID.
func (k *Keeper) Apply(ctx context.Context, generation uint64, cfg *farm.Config) map[uint32]string {
	k.mu.Lock()
	defer k.mu.Unlock()
	before := k.farms
	k.generation, k.cleaned = generation, false
	k.farms, k.transparent = split(cfg)
	lost := k.parting(before)
	if lost != nil {
		k.end(lost)
	}
	k.endedLong(time.Now())
	k.applied = true
	k.watch(ctx)
	k.prepare(ctx)
	uncounted := k.recount(ctx)
	k.carry(ctx)
	if uncounted != nil {
		k.fill(ctx, uncounted)
	}
	if lost != nil {
		k.flush(ctx, lost)
	}
	for i := range k.farms {
		k.forgetSessions(ctx, &k.farms[i], before)
	}
	return maps.Clone(k.problems)
}

// Generation is the number of the last Apply; 0 before the first.
func (k *Keeper) Generation() uint64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.generation
}

// carry has the filter carry what is wanted now. A filter that fails is the
// problem of every farm that is to run.
func (k *Keeper) carry(ctx context.Context) {
	if b := k.options.Board; b != nil {
		k.version = b.Version() // before it is read: a change in between is seen next time
	}
	k.wire = k.look(k.farms)
	in := k.input(k.farms, k.transparent, k.wire)
	problems, err := k.options.Filter.Carry(ctx, in)
	k.failed = time.Time{}
	if err != nil {
		k.failed = time.Now()
		problems = map[uint32]string{}
		for _, f := range slices.Concat(k.farms, k.transparent) {
			if !f.Stopped {
				problems[f.ID] = err.Error()
			}
		}
	}
	if problems == nil {
		problems = map[uint32]string{}
	}
	maps.Copy(problems, k.unready)
	for id, p := range problems {
		if k.problems[id] != p {
			k.options.Log.Warn("farm is not carried by the kernel", "farm", k.name(id), "reason", p)
		}
	}
	k.problems = problems
	if k.options.Relay != nil {
		k.options.Relay.Follow(k.farms, problems, in.Wire)
	}
	k.warn(in)
	k.show()
}

// warn tells of backends that get nothing though their farm is carried.
func (k *Keeper) warn(in *rules.Input) {
	warnings := rules.Warnings(in)
	for id, list := range warnings {
		for _, w := range list {
			if !slices.Contains(k.warnings[id], w) {
				k.options.Log.Warn("backend is not reached by the kernel", "farm", k.name(id), "reason", w)
			}
		}
	}
	k.warnings = warnings
}

// prepare has the ground made ready for the farms that run. What is missing is
// the problem of those only.
func (k *Keeper) prepare(ctx context.Context) {
	if k.options.Ground == nil {
		return
	}
	standing := slices.Clone(k.transparent)
	for i := range k.farms {
		f := &k.farms[i]
		if !f.Stopped || f.L4.StopGrace > 0 && len(k.graced) > 0 { // its connections may still go on
			standing = append(standing, *f)
		}
	}
	k.unready, k.prepared = k.options.Ground.Prepare(ctx, standing), time.Now()
	for i := range k.farms {
		if k.farms[i].Stopped {
			delete(k.unready, k.farms[i].ID)
		}
	}
}

func (k *Keeper) name(id uint32) string {
	for i := range k.farms {
		if k.farms[i].ID == id {
			return k.farms[i].Name
		}
	}
	return fmt.Sprintf("number %d", id)
}

// Run follows the board and the number of connections until ctx ends. The
// kernel goes on with what it has then. It starts no goroutine.
func (k *Keeper) Run(ctx context.Context) {
	tick := time.NewTicker(followPause)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			k.follow(ctx, false)
		case <-k.changes():
			k.follow(ctx, true)
		}
	}
}

// follow carries again when the board has changed, or what is on the wire, and
// after a failure. The wire is looked at when it is said to have changed, and
// now and then because addresses of this machine change too.
func (k *Keeper) follow(ctx context.Context, wire bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	over := k.endGrace(ctx, time.Now())
	if len(k.farms) == 0 && len(k.transparent) == 0 && !over {
		return
	}
	changed := k.endedLong(time.Now())
	changed = k.measure(ctx, time.Now()) || changed || k.options.Board != nil && k.options.Board.Version() != k.version
	if over || len(k.unready) > 0 && time.Since(k.prepared) >= retryPause {
		k.prepare(ctx)
		changed = true
	}
	failing := !k.failed.IsZero() && time.Since(k.failed) >= retryPause
	if wire || time.Since(k.looked) >= lookInterval {
		k.looked = time.Now()
		changed = changed || k.moved()
	}
	fallen := k.fallen(ctx)
	if fallen {
		clear(k.counted)
	}
	if changed || failing || fallen {
		k.carry(ctx)
	}
}

// fallen reports whether somebody removed the rules.
func (k *Keeper) fallen(ctx context.Context) bool {
	s, ok := k.options.Filter.(Stander)
	if !ok || time.Since(k.stood) < standPause {
		return false
	}
	k.stood = time.Now()
	return !s.Stands(ctx)
}
