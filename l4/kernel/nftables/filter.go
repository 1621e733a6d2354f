package nftables

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"github.com/sluicelb/sluice/l4/kernel/carry"
	"github.com/sluicelb/sluice/l4/kernel/rules"
	"github.com/sluicelb/sluice/sysnet/ctl"
	"github.com/sluicelb/sluice/sysnet/nft"
)

// Filter keeps the kernel's tables equal to what was compiled. Make it with New.
// One goroutine at a time calls Carry and Intact, any the other methods.
type Filter struct {
	run *nft.Runner
	log *slog.Logger
	mu  sync.Mutex // guards applied, begun and past
	// applied is what the kernel has for certain; nil while in doubt. Only Carry
	// sets it, and nobody changes what it points to.
	applied *nft.Ruleset
	// begun says that this filter has carried something, or that somebody doubts what is
	// there: a seal of an earlier process proves nothing any more.
	begun bool
	// past is what was counted for backends of farms that were stopped since: the
	// rules that counted are no more.
	past map[uint32]ctl.KernelCount
	// seen is the change of rules up to which nobody else meddled with ours, stamp
	// what the rules were like then.
	seen  changes
	stamp uint64
	// replaced says that the tables themselves may have been changed, e.g. switched
	// off: adding to them would leave that as it is.
	replaced bool
}

func (n *Filter) set(applied *nft.Ruleset) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.applied = applied
}

// New returns a filter that knows nothing of what the kernel has: the first Carry
// builds everything anew, unless just that is there.
func New(run *nft.Runner, log *slog.Logger) *Filter { return &Filter{run: run, log: log} }

// Carry makes the kernel carry the farms of in and no others of ours. A farm the
// kernel refuses is left out and the others are tried again. problems are those
// that are not carried, by ID.
func (n *Filter) Carry(ctx context.Context, in *rules.Input) (problems map[uint32]string, err error) {
	parting := n.parting(ctx, in)
	problems, err = carry.Most(in, n.log, func(left *rules.Input) (problems, refused map[uint32]string, err error) {
		want, problems := rules.Compile(left)
		err = n.become(ctx, want)
		var e *nft.Error
		if errors.As(err, &e) {
			return nil, e.Refused, err
		}
		return problems, nil, err
	})
	n.keep(in, parting)
	n.begin()
	return problems, err
}

// untouched reports whether what is there can only be what an earlier process left.
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

// become makes the kernel's tables equal to want: by the difference to what is
// known to be there, else from nothing. What is there already is left alone: a
// packet may begin with the old chains and look for a set that is a new one then,
// which is empty for it, and each exchange of all chains loses a new connection or
// two where thousands come in every second.
func (n *Filter) become(ctx context.Context, want *nft.Ruleset) error {
	if n.untouched() && sealed(want) {
		n.set(want)
		return nil
	}
	if n.applied != nil {
		if batch, ok := nft.Diff(n.applied, want); ok {
			err := n.run.Apply(ctx, batch)
			if err == nil {
				n.set(want)
				return nil
			}
			var e *nft.Error
			if errors.As(err, &e) && e.Owner != 0 && !nft.IsMissing(err) {
				return err // nothing was done: what is applied still is
			}
			n.log.Warn("the difference was not taken, everything is built anew", "reason", err)
		}
	}
	n.set(nil)
	err := n.rebuildOrLoad(ctx, want)
	if err == nil {
		n.replaced = false
		n.set(want)
	}
	return err
}

// rebuildOrLoad makes everything anew, around what packets add to if that can be
// done.
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

// rebuild makes everything anew but what packets add to, which they do
// meanwhile; counters go on from where they were.
func (n *Filter) rebuild(ctx context.Context, want *nft.Ruleset) error {
	there, err := n.run.Present(ctx, rules.Tables())
	if err != nil {
		return err
	}
	carried, err := n.run.Carried(ctx, rules.Tables(), want, there.Stay(want))
	if err != nil {
		return err
	}
	return n.run.Apply(ctx, nft.Rebuild(there, want, carried))
}

// load removes the tables and makes them, with what packets had added to them.
func (n *Filter) load(ctx context.Context, want *nft.Ruleset) error {
	carried, err := n.run.Carried(ctx, rules.Tables(), want, nil)
	if err != nil {
		n.log.Warn("sessions and counters are lost", "reason", err)
	}
	return n.run.Apply(ctx, nft.Load(rules.Tables(), want, carried))
}

// Doubt tells that what was carried may be gone: the next Carry makes everything
// anew.
func (n *Filter) Doubt() {
	n.set(nil)
	n.begin()
}

// Check returns the farms of in that would not be carried and why, by ID: the
// kernel looks at the difference without taking it.
func (n *Filter) Check(ctx context.Context, in *rules.Input) map[uint32]string {
	n.mu.Lock()
	applied := n.applied
	n.mu.Unlock()
	problems, err := carry.Most(in, n.log, func(left *rules.Input) (problems, refused map[uint32]string, err error) {
		want, problems := rules.Compile(left)
		if applied == nil {
			return problems, nil, nil
		}
		batch, ok := nft.Diff(applied, want)
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
	return problems
}
