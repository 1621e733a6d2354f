package nftables

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel/carry"
	"github.com/sluicelb/sluice/l4/kernel/rules"
	"github.com/sluicelb/sluice/sysnet/ctl"
	"github.com/sluicelb/sluice/sysnet/nft"
)

// Filter keeps the kernel's tables equal to the compiled rules. Make it with New. Carry and
// Intact are called by one goroutine at a time, the other methods by any.
type Filter struct {
	run   *nft.Runner
	log   *slog.Logger
	rules rules.Compiler
	mu    sync.Mutex // guards applied, begun, past and carried
	// applied holds the rules known to be in the kernel, nil if unknown. Only Carry sets it,
	// and its target is immutable.
	applied *nft.Parts
	// begun reports that this filter has loaded rules, or that Doubt was called: a seal of an
	// earlier process no longer counts.
	begun bool
	// past holds the counters of backends whose farms were stopped since, as their counting
	// rules are deleted.
	past map[uint32]ctl.KernelCount
	// seen is the last change of rules without interference by others, and stamp the state
	// of the rules then.
	seen  changes
	stamp uint64
	// replaced reports that the tables themselves may have been changed, e.g. disabled.
	// Adding to them would not undo that.
	replaced bool
	// resets counts how often everything was rebuilt.
	resets atomic.Uint64
	// carried holds the farms of the last successful Carry, rivals the farms of other
	// instances.
	carried []farm.Farm
	rivals  Rivals
	// noNetdev reports that the kernel lacks the family netdev.
	noNetdev atomic.Bool
}

func (n *Filter) set(applied *nft.Parts) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.applied = applied
}

// New returns a filter that does not know the kernel's rules. The first Carry rebuilds
// everything, unless the wanted rules are there already.
func New(run *nft.Runner, log *slog.Logger) *Filter { return &Filter{run: run, log: log} }

// Carry makes the kernel carry exactly the farms of in. If the kernel refuses a farm, that
// one is left out and the others are tried again. problems holds the farms that are not
// carried, by ID.
func (n *Filter) Carry(ctx context.Context, in *rules.Input) (problems map[uint32]string, err error) {
	parting := n.parting(in)
	problems, err = carry.Most(in, n.log, func(left *rules.Input) (problems, refused map[uint32]string, err error) {
		return n.try(ctx, left)
	})
	n.keep(in, parting)
	n.begin()
	if err == nil {
		n.mu.Lock()
		n.carried = in.Farms
		n.mu.Unlock()
	}
	return problems, err
}

// untouched reports whether this process has never changed rules, so that existing ones
// are from an earlier process.
func (n *Filter) untouched() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.applied == nil && !n.begun
}

func (n *Filter) begin() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.begun = true
}

// become makes the kernel's tables equal to want: by the difference to the known rules, or
// from scratch. Existing objects are kept. Otherwise a packet that began in the old chains
// could look into a new set, which is still empty for it. Each exchange of all chains loses
// a new connection or two if thousands arrive per second.
func (n *Filter) become(ctx context.Context, want *nft.Parts) error {
	if n.untouched() && sealed(want) {
		n.set(want)
		return nil
	}
	if n.applied != nil {
		if batch, ok := nft.DiffParts(n.applied, want); ok {
			err := n.run.Apply(ctx, batch)
			if err == nil {
				n.set(want)
				return nil
			}
			var e *nft.Error
			if errors.As(err, &e) && e.Owner != 0 && !nft.IsMissing(err) {
				return err // nothing was done: applied is still valid
			}
			n.log.Warn("the difference was not taken, everything is built anew", "reason", err)
		}
	}
	n.set(nil)
	err := n.rebuildOrLoad(ctx, want.Whole())
	if err == nil {
		n.replaced = false
		n.resets.Add(1)
		n.set(want)
	}
	return err
}

// rebuildOrLoad rebuilds everything, and keeps elements added by packets if possible.
func (n *Filter) rebuildOrLoad(ctx context.Context, want *nft.Ruleset) error {
	if n.replaced {
		return n.load(ctx, want)
	}
	err := n.rebuild(ctx, want)
	var e *nft.Error
	refused := errors.As(err, &e)
	if err == nil || refused && e.Owner != 0 || errors.Is(err, nft.ErrNotPermitted) || errors.Is(err, nft.ErrUnsupported) {
		return err
	}
	n.log.Warn("the tables are removed and made anew", "reason", err)
	return n.load(ctx, want)
}

// rebuild replaces everything except sets that packets add to, which they do meanwhile.
// Counters keep their values.
func (n *Filter) rebuild(ctx context.Context, want *nft.Ruleset) error {
	there, err := n.run.Present(ctx, n.tables())
	if err != nil {
		return err
	}
	carried, err := n.run.Carried(ctx, n.tables(), want, there.Stay(want))
	if err != nil {
		return err
	}
	return n.run.Apply(ctx, nft.Rebuild(there, want, carried))
}

// load deletes and recreates the tables, with the elements added by packets.
func (n *Filter) load(ctx context.Context, want *nft.Ruleset) error {
	carried, err := n.run.Carried(ctx, n.tables(), want, nil)
	if err != nil {
		n.log.Warn("sessions and counters are lost", "reason", err)
	}
	return n.run.Apply(ctx, nft.Load(n.tables(), want, carried))
}

// Resets returns how often everything was rebuilt.
func (n *Filter) Resets() uint64 { return n.resets.Load() }

// Doubt reports that the loaded rules may be gone: the next Carry rebuilds everything.
func (n *Filter) Doubt() {
	n.set(nil)
	n.begin()
}

// Remembered returns Flushed and Cut of the input whose rules the kernel has.
func (n *Filter) Remembered(context.Context) (flushed, cut map[uint32]bool, err error) {
	return rules.Remembered(nft.Marks)
}

// Check returns the farms of in that would not be carried, with the reasons, by ID. The
// kernel checks the difference without applying it.
func (n *Filter) Check(ctx context.Context, in *rules.Input) map[uint32]string {
	n.mu.Lock()
	applied := n.applied
	n.mu.Unlock()
	taken := n.taken(in)
	problems, err := carry.Most(in, n.log, func(left *rules.Input) (problems, refused map[uint32]string, err error) {
		left, refused = n.possible(left)
		if len(refused) > 0 {
			return nil, refused, errNoNetdev
		}
		want, problems := n.rules.Compile(left)
		if applied == nil {
			return problems, nil, nil
		}
		batch, ok := nft.DiffParts(applied, want)
		if !ok {
			return problems, nil, nil
		}
		err = n.run.Try(ctx, batch)
		var e *nft.Error
		if errors.As(err, &e) && !nft.IsMissing(err) {
			return nil, e.Refused, err
		}
		return problems, nil, nil
	})
	if err != nil {
		n.log.Debug("rules could not be checked beforehand", "reason", err)
	}
	maps.Copy(taken, problems)
	return taken
}
