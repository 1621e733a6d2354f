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

// healthPause is how often the health table is checked, which is one comparison. It limits
// how long a failed backend still gets new clients, apart from the time to change rules.
// Everything else is checked every followPause.
const (
	healthPause = 20 * time.Millisecond
	followPause = 100 * time.Millisecond
)

// groundPause is how often the ground is checked: a farm's address may appear or disappear
// without a notification, e.g. with a cluster role.
const groundPause = 500 * time.Millisecond

// retryPause is the pause before a failed step is retried.
var retryPause = 5 * time.Second

// intactPause is how often the filter is asked whether its rules are still there. It limits
// how long farms are not served after someone flushed all rules. A slow check runs less
// often, for 1/intactShare of the time.
const (
	intactPause = 200 * time.Millisecond
	intactShare = 20
)

// Reconciler keeps the kernel equal to the last requested farms and the health table. It is
// safe for concurrent use. Make it with New.
type Reconciler struct {
	options Options

	mu    sync.Mutex // held while rules are changed
	ways  farm.Memo[way]
	farms []farm.Farm
	// transparent holds farms of the engine whose backends see client addresses.
	transparent []farm.Farm
	generation  uint64
	version     uint64 // of the health table, when rules were last loaded
	problems    map[uint32]string
	warnings    map[uint32][]string
	wire        *seen             // as last loaded
	looked      time.Time         // last check of the wire
	asked       time.Time         // last check of the rules
	pause       time.Duration     // until the next check of the rules
	failed      time.Time         // last failure of Carry, zero if it worked since
	carried     map[uint32]bool   // running farms of the last successful Carry; nil before that
	removal     string            // why rules of other farms may remain, see unremoved
	unready     map[uint32]string // farms the system is not ready for
	prepared    time.Time         // last check of that
	applied     bool              // Apply was called
	graced      []graced          // stopped farms whose connections may continue
	// flushed holds farms whose connections were flushed, with the time this record expires.
	flushed map[uint32]time.Time
	// cut holds backends whose connections were flushed while they were down.
	cut map[uint32]bool
	// restored counts how often rules were rebuilt because someone else changed them.
	restored uint64
	// left holds backends that are down and whose UDP flows were deleted.
	left map[uint32]bool
	load

	shown atomic.Pointer[view]
}

// New returns a Reconciler without farms. Rules left in the kernel by an earlier process
// stay until Apply.
func New(o Options) *Reconciler {
	if o.Connections == nil {
		o.Connections = Tracked{}
	}
	k := &Reconciler{options: o, flushed: map[uint32]time.Time{}, cut: map[uint32]bool{}, load: load{limits: limits{known: map[uint32]uint32{}}}}
	k.show()
	return k
}

// Apply makes the kernel carry exactly the kernel farms of cfg, which must not be modified
// afterwards. generation numbers the request, see Generation. It returns the farms that are
// not carried, with the reasons, by ID.
func (k *Reconciler) Apply(ctx context.Context, generation uint64, cfg *farm.Config) map[uint32]string {
	k.mu.Lock()
	defer k.mu.Unlock()
	before := k.farms
	k.generation = generation
	k.farms, k.transparent = k.split(cfg)
	if !k.applied {
		k.remember(ctx)
	}
	gone, fresh := farm.Apart(before, k.farms)
	lost := k.parting(gone, fresh)
	if lost != nil {
		k.noteFlushed(lost)
	}
	k.forgetFlushed(time.Now())
	k.applied = true
	k.watch(ctx)
	k.prepare(ctx)
	k.carry(ctx)
	if lost != nil {
		k.flush(ctx, lost)
	}
	for i := range fresh {
		k.forgetSessions(ctx, &fresh[i], gone)
	}
	return maps.Clone(k.problems)
}

// Generation returns the number of the last Apply, or 0 before the first.
func (k *Reconciler) Generation() uint64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.generation
}

// Run follows the health table and the number of connections until ctx ends. The kernel then
// keeps its current rules. Run starts no goroutine.
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

// healthVersion returns the version of the health table, or 0 without one.
func (k *Reconciler) healthVersion() uint64 {
	if k.options.Health == nil {
		return 0
	}
	return k.options.Health.Version()
}

// follow reloads the rules when the health table or something on the wire has changed, and
// after a failure. The wire is checked after a notification, and periodically because
// addresses of this machine change too.
func (k *Reconciler) follow(ctx context.Context, wire bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	over := k.endGrace(ctx, time.Now())
	if len(k.farms) == 0 && len(k.transparent) == 0 && !over && k.removal == "" {
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
		k.lose()
	}
	if changed || failing || fallen {
		k.carry(ctx)
	}
}

// errLost is the problem of farms until their rules are restored.
const errLost = "somebody else removed or changed its rules in the kernel; they are being restored"

// lose records that the rules of farms were lost, and counts it.
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

// fallen reports whether someone removed rules.
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
