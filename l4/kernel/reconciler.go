package kernel

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluicelb/sluice/core/farm"
)

// healthPause is how often the health table is looked at, which is one comparison: how
// long a backend that was found down still gets new clients, but for what making rules
// takes. Everything else that is followed is looked at every followPause.
const (
	healthPause = 20 * time.Millisecond
	followPause = 100 * time.Millisecond
)

// groundPause is how often the ground is asked whether the farms can stand on it: an
// address of a farm comes and goes without a message, e.g. with the role of a cluster.
const groundPause = 500 * time.Millisecond

// retryPause is how often what failed is tried again.
var retryPause = 5 * time.Second

// intactPause is how often the filter is asked whether its rules are still there:
// how long farms are not served after others flushed all rules.
// One that takes long to tell is asked less often: for 1/intactShare of the time.
const (
	intactPause = 200 * time.Millisecond
	intactShare = 20
)

// Reconciler keeps the kernel equal to what was last asked for and to what the
// health table says. Any goroutine may call it. Make it with New.
type Reconciler struct {
	options Options

	mu    sync.Mutex // held while rules are changed
	farms []farm.Farm
	// transparent are farms of the engine whose backends see the addresses of
	// clients.
	transparent []farm.Farm
	generation  uint64
	version     uint64 // of the health table, as last carried
	problems    map[uint32]string
	warnings    map[uint32][]string
	wire        *seen             // as last carried
	looked      time.Time         // at the wire, last
	asked       time.Time         // when the filter was asked last whether its rules are there
	pause       time.Duration     // until it is asked again
	failed      time.Time         // when Carry failed last, zero while it works
	unready     map[uint32]string // farms the ground is not ready for
	prepared    time.Time         // when that was asked last
	applied     bool              // Apply was called
	graced      []graced          // farms that were stopped and whose connections may go on
	// flushed are farms whose connections were flushed, and until when that is to be
	// remembered.
	flushed map[uint32]time.Time
	// cut are backends whose connections were flushed while they were down.
	cut map[uint32]bool
	// restored is how often rules were made anew because somebody else had changed
	// them.
	restored uint64
	// left are backends that are down and whose flows of UDP were forgotten.
	left map[uint32]bool
	load

	shown atomic.Pointer[view]
}

// New returns a Reconciler that has not been asked for anything: whatever an
// earlier one left in the kernel stays until Apply.
func New(o Options) *Reconciler {
	if o.Connections == nil {
		o.Connections = Tracked{}
	}
	k := &Reconciler{options: o, flushed: map[uint32]time.Time{}, cut: map[uint32]bool{}, load: load{limits: limits{known: map[uint32]uint32{}}}}
	k.show()
	return k
}

// Apply makes the kernel carry the kernel farms of cfg and no others.
// generation numbers the request, see Generation. The result are the farms that
// are not carried and why, by ID.
func (k *Reconciler) Apply(ctx context.Context, generation uint64, cfg *farm.Config) map[uint32]string {
	k.mu.Lock()
	defer k.mu.Unlock()
	before := k.farms
	k.generation = generation
	k.farms, k.transparent = split(cfg)
	lost := k.parting(before)
	if lost != nil {
		k.noteFlushed(lost)
	}
	k.forgetFlushed(time.Now())
	k.applied = true
	k.watch(ctx)
	k.prepare(ctx)
	at, uncounted, found := k.recount(ctx)
	k.carry(ctx)
	if len(uncounted) > 0 {
		k.fill(ctx, at, uncounted, found)
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
func (k *Reconciler) Generation() uint64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.generation
}

// Run follows the health table and the number of connections until ctx ends. The
// kernel goes on with what it has then. It starts no goroutine.
func (k *Reconciler) Run(ctx context.Context) {
	tick := time.NewTicker(healthPause)
	defer tick.Stop()
	var followed time.Time
	var seen uint64
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			version := k.healthVersion()
			if version == seen && now.Sub(followed) < followPause {
				continue
			}
			seen, followed = version, now
			k.follow(ctx, false)
		case <-k.changes():
			k.follow(ctx, true)
		}
	}
}

// healthVersion is that of the health table, 0 without one.
func (k *Reconciler) healthVersion() uint64 {
	if k.options.Health == nil {
		return 0
	}
	return k.options.Health.Version()
}

// follow carries again when the health table has changed, or what is on the wire, and
// after a failure. The wire is looked at when it is said to have changed, and
// now and then because addresses of this machine change too.
func (k *Reconciler) follow(ctx context.Context, wire bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	over := k.endGrace(ctx, time.Now())
	if len(k.farms) == 0 && len(k.transparent) == 0 && !over {
		return
	}
	changed := k.forgetFlushed(time.Now())
	changed = k.measure(ctx, time.Now()) || changed || k.options.Health != nil && k.healthVersion() != k.version
	if over || time.Since(k.prepared) >= groundPause {
		before := k.unready
		k.prepare(ctx)
		changed = changed || over || !maps.Equal(before, k.unready)
	}
	failing := !k.failed.IsZero() && time.Since(k.failed) >= retryPause
	if wire || time.Since(k.looked) >= lookInterval {
		k.looked = time.Now()
		changed = changed || k.moved()
	}
	fallen := k.fallen(ctx)
	if fallen {
		clear(k.known)
		k.lose()
	}
	if changed || failing || fallen {
		k.carry(ctx)
	}
}

// errLost is the problem of farms until their rules are there again.
const errLost = "somebody else removed or changed its rules in the kernel; they are being restored"

// lose shows that farms are not carried as they should be, and counts that.
func (k *Reconciler) lose() {
	k.restored++
	problems := maps.Clone(k.problems)
	for _, f := range slices.Concat(k.farms, k.transparent) {
		if !f.Stopped && problems[f.ID] == "" {
			problems[f.ID] = errLost
		}
	}
	k.problems = problems
	k.show()
}

// fallen reports whether somebody removed rules.
func (k *Reconciler) fallen(ctx context.Context) bool {
	if time.Since(k.asked) < k.pause {
		return false
	}
	begin := time.Now()
	intact := k.options.Filter.Intact(ctx)
	k.asked = time.Now()
	k.pause = max(intactPause, intactShare*k.asked.Sub(begin))
	return !intact
}
