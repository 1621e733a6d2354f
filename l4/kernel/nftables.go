package kernel

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"github.com/sluicelb/sluice/l4/kernel/rules"
	"github.com/sluicelb/sluice/sysnet/ctl"
	"github.com/sluicelb/sluice/sysnet/nft"
)

// Nftables is the Filter that works by nft(8).
type Nftables struct {
	run *nft.Runner
	log *slog.Logger
	mu  sync.Mutex // guards applied and past
	// applied is what the kernel has for certain; nil while in doubt. Only Carry
	// sets it, and nobody changes what it points to.
	applied *nft.Ruleset
	// past is what was counted for backends of farms that were stopped since: the
	// rules that counted are no more.
	past map[uint32]ctl.KernelCount
	// seen is the change of rules up to which nobody else meddled with ours; one
	// goroutine at a time asks Stands.
	seen changes
}

func (n *Nftables) set(applied *nft.Ruleset) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.applied = applied
}

// NewNftables returns the filter; it knows nothing of what the kernel has, so
// the first Carry builds everything anew.
func NewNftables(run *nft.Runner, log *slog.Logger) *Nftables { return &Nftables{run: run, log: log} }

// Carry implements Filter. A farm the kernel refuses is left out and the others
// are tried again.
func (n *Nftables) Carry(ctx context.Context, in *rules.Input) (map[uint32]string, error) {
	parting := n.parting(ctx, in)
	problems, err := withoutRefused(in, n.log, func(left *rules.Input) (problems, refused map[uint32]string, err error) {
		want, problems := rules.Compile(left)
		err = n.become(ctx, want)
		var e *nft.Error
		if errors.As(err, &e) {
			return nil, e.Refused, err
		}
		return problems, nil, err
	})
	n.keep(in, parting)
	return problems, err
}

// become makes the kernel's tables equal to want: by the difference to what is
// known to be there, else from nothing.
func (n *Nftables) become(ctx context.Context, want *nft.Ruleset) error {
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
	err := n.rebuild(ctx, want)
	var e *nft.Error
	if errors.As(err, &e) && e.Owner == 0 && !errors.Is(err, nft.ErrNotPermitted) && !errors.Is(err, nft.ErrUnsupported) {
		n.log.Warn("the tables are removed and made anew", "reason", err)
		err = n.load(ctx, want)
	}
	if err == nil {
		n.set(want)
	}
	return err
}

// rebuild makes everything anew but what packets add to, which they do
// meanwhile; counters go on from where they were.
func (n *Nftables) rebuild(ctx context.Context, want *nft.Ruleset) error {
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
func (n *Nftables) load(ctx context.Context, want *nft.Ruleset) error {
	carried, err := n.run.Carried(ctx, rules.Tables(), want, nil)
	if err != nil {
		return err
	}
	return n.run.Apply(ctx, nft.Load(rules.Tables(), want, carried))
}
