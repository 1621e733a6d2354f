package apply

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/document"
	"github.com/sluicelb/sluice/mgmt/resolve"
)

// A change gives up its turn while it waits for name servers, so that a name server that is
// down delays only the changes that need it. If another change comes first meanwhile, or the
// rights of the author change, the change starts again, from its edit, with the answers it has.

// mostStarts bounds how often a change starts again.
const mostStarts = 8

// errOvertaken reports that another change came first.
var errOvertaken = fmt.Errorf("%w: another change came first", ErrConflict)

// hold is the turn of one change, with the answers of name servers so far.
type hold struct {
	overtaken bool
	kept      bool // it must not be given up
	rights    any  // of the author, at the start of the attempt
	names     map[resolve.Question]nameAnswer
	spent     time.Duration           // time for which names were asked
	parents   map[string]parentAnswer // by zone
}

type nameAnswer struct {
	targets []resolve.Target
	err     error
}

type parentAnswer struct {
	delegation resolve.Delegation
	err        error
}

// timeLeft returns the time for which the change may ask for more names.
func (h *hold) timeLeft() time.Duration {
	left := resolveTimeout - h.spent
	if left < lateTimeout {
		left = min(lateTimeout, 2*resolveTimeout-h.spent)
	}
	return max(left, 0)
}

func newHold() *hold {
	return &hold{names: map[resolve.Question]nameAnswer{}, parents: map[string]parentAnswer{}}
}

type holdKey struct{}

func withHold(ctx context.Context, h *hold) context.Context {
	return context.WithValue(ctx, holdKey{}, h)
}

// holdOf returns the turn that the change of ctx has; without one, e.g. in Plan, an empty one
// that withoutTurn does not give up.
func holdOf(ctx context.Context) (h *hold, held bool) {
	if d := DraftOf(ctx); d != nil {
		return d.hold, true
	}
	if h, held = ctx.Value(holdKey{}).(*hold); held {
		return h, true
	}
	return newHold(), false
}

// withoutTurn calls wait while others may have the turn of the change of ctx. It returns
// errOvertaken if one of them changed the configuration, an object that it names, or the rights
// of the author.
func (a *Applier) withoutTurn(ctx context.Context, wait func()) error {
	h, held := holdOf(ctx)
	if !held || h.kept {
		wait()
		return nil
	}
	now := a.now.Load()
	a.unlock()
	wait()
	a.turn <- struct{}{} // regardless of ctx: the caller gives the turn back
	if a.now.Load() != now || rightsOf(ctx) != h.rights {
		h.overtaken = true
		return errOvertaken
	}
	return nil
}

// askAhead asks name servers for everything that a change to cfg may need. A change that must
// keep its turn calls it before.
func (a *Applier) askAhead(ctx context.Context, cfg *farm.Config) *hold {
	h := newHold()
	h.kept = true
	old, next := a.now.Load().cfg, cfg.Clone()
	document.Carry(old, next)
	before, missing := namedIn(old), map[resolve.Question]bool{}
	for p := range backends(next) {
		if b := p.backend(); b.Of == 0 && b.Named() && needsLookup(before, b) {
			missing[QuestionOf(b)] = true
		}
	}
	a.askAll(ctx, h, slices.Collect(maps.Keys(missing)))
	if a.delegation == nil || isForced(ctx) {
		return h
	}
	_, _ = a.askParents(withHold(ctx, h), resignedOf(old, next)) // its only error is errOvertaken
	return h
}

// restartWaiting makes changes that have given up their turn start again.
func (a *Applier) restartWaiting() {
	now := *a.now.Load()
	a.now.Store(&now)
}

type acceptedKey struct{}

// AcceptRevision returns a context for changes that expect a revision. still decides whether another
// one is as good, e.g. because the farm in question is unchanged. It has the turn to write.
func AcceptRevision(ctx context.Context, still func(cfg *farm.Config, revision uint64) bool) context.Context {
	return context.WithValue(ctx, acceptedKey{}, still)
}

// expected reports whether a change that expects a revision, 0 for any, may follow now.
func expected(ctx context.Context, now *state, revision uint64) bool {
	if revision == 0 || revision == now.rev.Number {
		return true
	}
	still, ok := ctx.Value(acceptedKey{}).(func(*farm.Config, uint64) bool)
	return ok && still(now.cfg, now.rev.Number)
}

// repeat calls try until no other change comes first. It needs the turn.
func (a *Applier) repeat(ctx context.Context, h *hold, try func(ctx context.Context) error) error {
	for range mostStarts {
		h.overtaken, h.rights = false, rightsOf(ctx)
		if err := try(withHold(ctx, h)); !h.overtaken {
			return err
		}
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("%w while name servers were asked: %w", ErrConflict, err)
		}
	}
	return fmt.Errorf("%w: gave up after %d attempts, because others changed it each time while name servers were asked; try again", ErrConflict, mostStarts)
}
