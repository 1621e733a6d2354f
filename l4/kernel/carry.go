package kernel

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel/rules"
)

// way is how a farm is carried.
type way struct{ inKernel, transparent bool }

func wayOf(f *farm.Farm) way { return way{f.InKernel(), f.Transparent()} }

// split returns the farms that the kernel carries, and the engine's transparent farms,
// which also need kernel rules.
func (k *Reconciler) split(cfg *farm.Config) (carried, transparent []farm.Farm) {
	for i, way := range k.ways.Of(cfg.Farms, wayOf) {
		switch f := &cfg.Farms[i]; {
		case way.inKernel:
			carried = append(carried, *f)
		case way.transparent && (!f.Stopped || f.L4.StopGrace > 0): // the engine knows when the grace ends
			transparent = append(transparent, *f)
		}
	}
	return carried, transparent
}

// input returns the input of the compiler for these farms in the current state.
func (k *Reconciler) input(farms, transparent []farm.Farm, wire *seen) *rules.Input {
	in := &rules.Input{Farms: farms, Weights: k.weights, Hold: len(k.graced) > 0, Transparent: transparent, Flushed: k.flushedNow(), Cut: k.cutNow()}
	if b := k.options.Health; b != nil {
		in.Usable = func(id uint32) bool { return b.Slot(id).Usable() }
	}
	if wire != nil {
		in.Wire = wire
	}
	return in
}

// carry makes the filter carry the current farms. If the filter fails, every farm that
// should run has that problem.
func (k *Reconciler) carry(ctx context.Context) {
	if b := k.options.Health; b != nil {
		k.version = b.Version() // read first: a change in between is seen next time
	}
	k.wire = k.look(k.farms)
	in := k.input(k.farms, k.transparent, k.wire)
	problems, err := k.loadCounted(ctx, in)
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
	k.unremoved(err)
	if err == nil {
		k.leave(ctx, in)
	}
	if k.options.Relay != nil {
		k.options.Relay.Follow(k.farms, problems, in.Wire)
	}
	k.warn(in)
	k.show()
}

// loadCounted loads the rules of in. The rules count connections that begin after them, so
// those that are open already are counted here, for limits that are new to the rules.
func (k *Reconciler) loadCounted(ctx context.Context, in *rules.Input) (problems map[uint32]string, err error) {
	before := k.loaded
	at, uncounted, found := k.recount(ctx)
	problems, err = k.options.Filter.Carry(ctx, in)
	if err != nil {
		k.loaded = before
		k.forgetLimits()
		return problems, err
	}
	if resets := k.options.Filter.Resets(); resets != k.resets {
		k.resets, k.loaded = resets, nil
		at, uncounted, found = k.recount(ctx)
	}
	k.unload(problems)
	if len(uncounted) > 0 {
		k.fill(ctx, at, uncounted, found)
	}
	return problems, nil
}

// unremoved records the result of Carry for farms that were stopped or deleted. Their rules may
// still be in the kernel after an error, which is the problem of no running farm. So the log
// and Objects report it, and follow retries. Processes without the right to change rules have
// loaded none.
func (k *Reconciler) unremoved(err error) {
	running := map[uint32]bool{}
	for _, f := range slices.Concat(k.farms, k.transparent) {
		if !f.Stopped {
			running[f.ID] = true
		}
	}
	if err == nil {
		k.carried, k.removal = running, ""
		return
	}
	if errors.Is(err, ErrNoFilter) || errors.Is(err, fs.ErrPermission) {
		k.removal = ""
		return
	}
	remain := k.carried == nil && len(running) == 0
	for id := range k.carried {
		remain = remain || !running[id]
	}
	reason := ""
	if remain {
		reason = err.Error()
	}
	if remain && reason != k.removal {
		const text = "rules of stopped or deleted farms may still be in the kernel, their removal is retried"
		k.options.Log.Warn(text, "reason", reason)
	}
	k.removal = reason
}

// warn logs backends of carried farms that get no connections.
func (k *Reconciler) warn(in *rules.Input) {
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

// prepare prepares the system for the farms that run. A failure is a problem of the affected
// farms only.
func (k *Reconciler) prepare(ctx context.Context) {
	if k.options.Ground == nil {
		return
	}
	standing := slices.Clone(k.transparent)
	for i := range k.farms {
		f := &k.farms[i]
		if !f.Stopped || f.L4.StopGrace > 0 && len(k.graced) > 0 { // its connections may continue
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

func (k *Reconciler) name(id uint32) string {
	for i := range k.farms {
		if k.farms[i].ID == id {
			return k.farms[i].Name
		}
	}
	return fmt.Sprintf("number %d", id)
}

// Check returns the farms of cfg that could not be carried, with the reasons, by ID. A
// change refused for such a reason leaves all connections intact. Check misses problems
// that only appear when rules are loaded.
func (k *Reconciler) Check(ctx context.Context, cfg *farm.Config) map[uint32]string {
	k.mu.Lock()
	defer k.mu.Unlock()
	farms, transparent := k.split(cfg)
	return k.options.Filter.Check(ctx, k.input(farms, transparent, k.look(farms)))
}
