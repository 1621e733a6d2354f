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

// RefreshNames brings what is known of host names into force, and removes parts
// that left and have drained. A name that does not resolve keeps its addresses,
// and so does one whose new ones would break a rule. No revision is written: the
// document stays the same, but the store keeps the addresses for the next start.
// It returns how many backends changed, came or went; on an error they are in
// force only after the next publication.
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

// withNames is cfg with the addresses that are known now; cfg itself when these
// are the same. When they break a rule together it is looked for the name that does.
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

// refreshed is a copy of cfg in which the given names have these addresses, or
// cfg when nothing changed. The error is the rule that would be broken.
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
	return next, a.rules.Config(next)
}

// withdrawn reports whether a backend of a gslb farm stands for a name that has had no
// address for so long that its last ones may belong to somebody else by now.
func (a *Applier) withdrawn(f *farm.Farm, b *farm.Backend) bool {
	if f.Carries() != farm.TrafficQueries {
		return false
	}
	state, known := a.names.Look(QuestionOf(b))
	return known && state.Withdrawn
}

// notDrained leaves out the parts that left and of which nothing is left.
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

// noteLeft remembers since when parts of cfg have been draining.
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

// refuseName says, once, that addresses of a name are not taken.
func (a *Applier) refuseName(q resolve.Question, err error) {
	if a.badNames[q] == err.Error() {
		return
	}
	a.badNames[q] = err.Error()
	a.log.Warn("addresses of a name are not used, those before are kept", "name", q.Name, "reason", err)
}

// different counts the backends that are not the same in both.
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
