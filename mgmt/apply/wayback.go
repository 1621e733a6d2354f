package apply

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/document"
)

// wayBack is the effect of a pending change. A revert merges three configurations: changed
// parts return to their state before it, all others keep their current state. In changed farms,
// later starts, stops and maintenance are kept.
type wayBack struct {
	revision    uint64
	base, after *farm.Config
	farms       map[uint32]bool // changed ones, by ID
	names       map[string]bool // theirs, before and after
	checks      map[string]bool // changed ones
	// system and aliases report whether it changed the settings of the machine, and aliases.
	system, aliases bool
}

// wayBackOf loads the effect of a pending change. The caller holds the turn to write.
func (a *Applier) wayBackOf(p *Pending) (*wayBack, error) {
	if a.back != nil && a.back.revision == p.Revision {
		return a.back, nil
	}
	base, _, err := a.store.Get(p.Base)
	if err != nil {
		return nil, fmt.Errorf("go back to revision %d: %w", p.Base, err)
	}
	after, _, err := a.store.Get(p.Revision)
	if err != nil {
		return nil, fmt.Errorf("go back from revision %d: %w", p.Revision, err)
	}
	w := &wayBack{revision: p.Revision, base: base, after: after, farms: map[uint32]bool{}, names: map[string]bool{}, checks: map[string]bool{}}
	w.compare()
	a.back = w
	return w, nil
}

// WayBack returns the configuration that would be in force if the pending change were reverted
// now, or nil without one. prepare of Renew may call it, to keep the objects that it needs.
func (a *Applier) WayBack() (*farm.Config, error) {
	p := a.pending.Load()
	if p == nil {
		return nil, nil
	}
	w, err := a.wayBackOf(p)
	if err != nil {
		return nil, err
	}
	return w.merged(a.now.Load().cfg), nil
}

func (w *wayBack) compare() {
	for _, f := range either(w.base.Farms, w.after.Farms) {
		was, is := farmAt(w.base, f.ID), farmAt(w.after, f.ID)
		if was != nil && is != nil && sameFarm(was, is) {
			continue
		}
		w.farms[f.ID], w.names[f.Name] = true, true
	}
	for _, c := range either(w.base.Checks, w.after.Checks) {
		if !sameCheck(w.base, w.after, c.Name) {
			w.checks[c.Name] = true
		}
	}
	w.system, w.aliases = !sameSystem(w.base, w.after), !sameAliases(w.base, w.after)
}

func sameAliases(a, b *farm.Config) bool {
	return reflect.DeepEqual(a.System.Aliases, b.System.Aliases)
}

func either[T any](a, b []T) []*T {
	var out []*T
	for _, list := range [][]T{a, b} {
		for i := range list {
			out = append(out, &list[i])
		}
	}
	return out
}

func farmAt(cfg *farm.Config, id uint32) *farm.Farm {
	for i := range cfg.Farms {
		if cfg.Farms[i].ID == id {
			return &cfg.Farms[i]
		}
	}
	return nil
}

// sameFarm compares the documents of farms, without the addresses of host names.
func sameFarm(a, b *farm.Farm) bool {
	return a.Same(b) || reflect.DeepEqual(a, b) || document.Diff(&farm.Config{Farms: []farm.Farm{*a}}, &farm.Config{Farms: []farm.Farm{*b}}) == ""
}

func sameCheck(a, b *farm.Config, name string) bool {
	was, is := farm.CheckAt(a.Checks, name), farm.CheckAt(b.Checks, name)
	if was < 0 || is < 0 {
		return was == is
	}
	return reflect.DeepEqual(a.Checks[was], b.Checks[is])
}

// blocks reports whether a change from now to cfg must wait: it changes a part that the pending
// change touched, by more than a start, a stop or maintenance.
func (w *wayBack) blocks(now, cfg *farm.Config) bool {
	for name := range w.names {
		was, is := now.Farm(name), cfg.Farm(name)
		if (was == nil) != (is == nil) || was != nil && !onlyOperated(was, is) {
			return true
		}
	}
	for name := range w.checks {
		if !sameCheck(now, cfg, name) {
			return true
		}
	}
	return w.system && !sameSystem(now, cfg) || w.aliases && !sameAliases(now, cfg)
}

// onlyOperated reports whether a farm differs only by starts, stops and maintenance.
func onlyOperated(was, is *farm.Farm) bool {
	if was.ID != is.ID {
		return false
	}
	like := is.Clone()
	like.Stopped = was.Stopped
	maintenance := maintenanceOf(was)
	eachBackend(&like, func(b *farm.Backend) {
		if m, known := maintenance[b.ID]; known {
			b.Maintenance = m
		}
	})
	return sameFarm(was, &like)
}

func eachBackend(f *farm.Farm, do func(*farm.Backend)) {
	for _, g := range f.Groups() {
		for i := range g.Backends() {
			do(&g.Backends()[i])
		}
	}
}

func maintenanceOf(f *farm.Farm) map[uint32]farm.Maintenance {
	out := map[uint32]farm.Maintenance{}
	eachBackend(f, func(b *farm.Backend) { out[b.ID] = b.Maintenance })
	return out
}

// merged returns now without the pending change.
func (w *wayBack) merged(now *farm.Config) *farm.Config {
	next := now.Clone()
	known := farm.IDSet{}
	var farms []farm.Farm
	for i := range w.base.Farms {
		f := &w.base.Farms[i]
		known.Add(f.ID)
		switch is := farmAt(next, f.ID); {
		case w.farms[f.ID]:
			farms = append(farms, w.operated(f, is))
		case is != nil:
			farms = append(farms, *is)
		}
	}
	for i := range next.Farms {
		if f := &next.Farms[i]; !w.farms[f.ID] && !known.Take(f.ID) {
			farms = append(farms, *f)
		}
	}
	next.Farms = farms
	w.mergeChecks(next)
	before, is := w.base.System.Clone(), next.System
	if !w.aliases {
		before.Aliases = is.Aliases
	}
	if w.system {
		next.System = before
	}
	next.System.Aliases = before.Aliases
	return next
}

// operated returns a farm from before the pending change, with the later starts, stops and
// maintenance.
func (w *wayBack) operated(f, now *farm.Farm) farm.Farm {
	out, after := f.Clone(), farmAt(w.after, f.ID)
	if now == nil || after == nil {
		return out
	}
	if now.Stopped != after.Stopped {
		out.Stopped = now.Stopped
	}
	before, is := maintenanceOf(after), maintenanceOf(now)
	eachBackend(&out, func(b *farm.Backend) {
		was, had := before[b.ID]
		if m, has := is[b.ID]; had && has && m != was {
			b.Maintenance = m
		}
	})
	return out
}

func (w *wayBack) mergeChecks(next *farm.Config) {
	for name := range w.checks {
		next.Checks = slices.DeleteFunc(next.Checks, func(c farm.Check) bool { return c.Name == name })
	}
	for i, c := range w.base.Checks {
		if w.checks[c.Name] {
			next.Checks = slices.Insert(next.Checks, min(i, len(next.Checks)), c)
		}
	}
}
