package apply

import (
	"context"
	"fmt"
	"net/netip"
	"reflect"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/resolve"
)

// RefreshNames puts new addresses of host names into force and removes parts that have drained.
// A name keeps its addresses if it does not resolve or if the new ones would break a rule. No
// revision is written, as the document stays the same, but the store keeps the addresses for
// the next start. It returns the number of backends that changed, came or went. After an error
// they are in force only after the next publication.
func (a *Applier) RefreshNames(ctx context.Context) (changed int, err error) {
	if len(NamesOf(a.now.Load().cfg)) == 0 {
		return 0, nil
	}
	if err := a.lock(ctx); err != nil {
		return 0, err
	}
	defer a.unlock()
	now := a.now.Load()
	cfg := a.withNames(now.cfg)
	if cfg == now.cfg {
		a.noteLeft(cfg)
		return 0, nil
	}
	if err := a.store.GiveIDs(cfg); err != nil {
		return 0, fmt.Errorf("addresses of names: %w", err)
	}
	a.noteLeft(cfg)
	changed = different(now.cfg, cfg)
	a.now.Store(&state{cfg, now.rev})
	if err := a.store.Amend(cfg); err != nil {
		a.log.Warn("addresses of names are not kept for the next start", "reason", err)
	}
	_, err = a.republish(ctx, cfg)
	return changed, err
}

// withNames returns cfg with the addresses known now, or cfg itself if they are the same. If
// they break a rule together, it applies each name separately and skips the bad ones.
func (a *Applier) withNames(cfg *farm.Config) *farm.Config {
	known := map[resolve.Question][]resolve.Target{}
	for _, q := range NamesOf(cfg) {
		if state, ok := a.names.Look(q); ok {
			if known[q] = state.Targets; state.Withdrawn {
				known[q] = nil
			}
		}
	}
	all, err := a.refreshed(cfg, known)
	if err == nil {
		clear(a.badNames)
		return all
	}
	for q, targets := range known {
		next, err := a.refreshed(cfg, map[resolve.Question][]resolve.Target{q: targets})
		if err != nil {
			a.refuseName(q, err)
			continue
		}
		cfg = next
	}
	return cfg
}

// refreshed returns a copy of cfg with these targets of names, or cfg itself if nothing
// changed. The error is the rule that would be broken.
func (a *Applier) refreshed(cfg *farm.Config, known map[resolve.Question][]resolve.Target) (*farm.Config, error) {
	next := cfg.Clone()
	for i := range next.Farms {
		for _, g := range next.Farms[i].Groups() {
			for k, of := range g.Configured() {
				targets, ok := known[QuestionOf(&of)]
				switch {
				case !ok || !of.Named():
				case of.Spreads():
					had := a.notDrained(g.Parts(of.ID))
					if len(targets) == 0 && !a.withdrawn(g.Farm, &of) {
						targets = targetsOf(had, of.Resolve)
					}
					a.spread(g, &of, had, targets)
					g.GiveNumbers()
				case a.withdrawn(g.Farm, &of):
					g.Backends()[k].Addr = netip.Addr{}
				default:
					if addr, err := a.choose(targets, &of, g.Farm); err == nil {
						g.Backends()[k].Addr = addr
					}
				}
			}
		}
	}
	if reflect.DeepEqual(cfg, next) {
		return cfg, nil
	}
	return next, a.checked.Resolved(next, false)
}

// withdrawn reports whether the name of a gslb farm's backend has had no address for so long
// that its last ones may belong to somebody else.
func (a *Applier) withdrawn(f *farm.Farm, b *farm.Backend) bool {
	if f.Carries() != farm.TrafficQueries {
		return false
	}
	state, known := a.names.Look(QuestionOf(b))
	return known && state.Withdrawn
}

// notDrained returns the parts that have not left, that left less than leastDrain ago, or that
// have connections and left less than mostDrain ago.
func (a *Applier) notDrained(parts []farm.Backend) (out []farm.Backend) {
	for _, b := range parts {
		since, known := a.left[b.ID]
		age := time.Since(since)
		if !b.Left || !known || age < leastDrain || age < mostDrain && a.busy != nil && a.busy(b.ID) {
			out = append(out, b)
		}
	}
	return out
}

// noteLeft records since when parts of cfg have been draining.
func (a *Applier) noteLeft(cfg *farm.Config) {
	before := a.left
	a.left = map[uint32]time.Time{}
	for p := range backends(cfg) {
		if b := p.backend(); b.Left {
			a.left[b.ID] = time.Now()
			if since, known := before[b.ID]; known {
				a.left[b.ID] = since
			}
		}
	}
}

// refuseName logs once that the addresses of a name are not used.
func (a *Applier) refuseName(q resolve.Question, err error) {
	if a.badNames[q] == err.Error() {
		return
	}
	a.badNames[q] = err.Error()
	a.log.Warn("addresses of a name are not used, those before are kept", "name", q.Name, "reason", err)
}

// different counts the backends that differ between both.
func different(old, cfg *farm.Config) (n int) {
	before := map[uint32]farm.Backend{}
	for p := range backends(old) {
		before[p.backend().ID] = *p.backend()
	}
	for p := range backends(cfg) {
		b := p.backend()
		was, known := before[b.ID]
		if !known || was.AddrPort() != b.AddrPort() || was.Left != b.Left {
			n++
		}
		delete(before, b.ID)
	}
	return n + len(before)
}
