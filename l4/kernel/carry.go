package kernel

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel/rules"
)

// split are the farms the kernel carries, and those of the engine it helps with.
func split(cfg *farm.Config) (carried, transparent []farm.Farm) {
	for i := range cfg.Farms {
		switch f := &cfg.Farms[i]; {
		case f.InKernel():
			carried = append(carried, f.Clone())
		case f.Transparent() && (!f.Stopped || f.L4.StopGrace > 0): // the engine knows when that is over
			transparent = append(transparent, f.Clone())
		}
	}
	return carried, transparent
}

// input is what is compiled for those farms now.
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

// carry has the filter carry what is wanted now. A filter that fails is the
// problem of every farm that is to run.
func (k *Reconciler) carry(ctx context.Context) {
	if b := k.options.Health; b != nil {
		k.version = b.Version() // before it is read: a change in between is seen next time
	}
	k.wire = k.look(k.farms)
	in := k.input(k.farms, k.transparent, k.wire)
	problems, err := k.options.Filter.Carry(ctx, in)
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
	if err == nil {
		k.leave(ctx, in)
	}
	if k.options.Relay != nil {
		k.options.Relay.Follow(k.farms, problems, in.Wire)
	}
	k.warn(in)
	k.show()
}

// warn tells of backends that get nothing though their farm is carried.
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

// prepare has the ground made ready for the farms that run. What is missing is
// the problem of those only.
func (k *Reconciler) prepare(ctx context.Context) {
	if k.options.Ground == nil {
		return
	}
	standing := slices.Clone(k.transparent)
	for i := range k.farms {
		f := &k.farms[i]
		if !f.Stopped || f.L4.StopGrace > 0 && len(k.graced) > 0 { // its connections may still go on
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

// Check tells which farms of cfg would not be carried, and why, by ID: a change
// that is refused for that has never been in force, and has ended no connection.
// What only trying shows is not among it.
func (k *Reconciler) Check(ctx context.Context, cfg *farm.Config) map[uint32]string {
	k.mu.Lock()
	defer k.mu.Unlock()
	farms, transparent := split(cfg)
	return k.options.Filter.Check(ctx, k.input(farms, transparent, k.look(farms)))
}
