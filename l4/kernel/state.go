package kernel

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel/rules"
	"github.com/sluicelb/sluice/sysnet/ctl"
)

// view is the published state of a reconciler. A query does not wait for a change in
// progress, which may take long, but sees the previous state. A view is immutable.
type view struct {
	farms      []farm.Farm
	generation uint64
	problems   map[uint32]string
	warnings   map[uint32][]string
	restored   uint64
	removal    string
}

// show publishes the current state. k.mu is held.
func (k *Reconciler) show() {
	k.shown.Store(&view{k.farms, k.generation, k.problems, k.warnings, k.restored, k.removal})
}

// state returns the state of the kernel's farms.
func (k *Reconciler) state() ctl.KernelState {
	v := k.shown.Load()
	return ctl.KernelState{Generation: v.generation, Problems: maps.Clone(v.problems), Warnings: k.told(v), Restored: v.restored}
}

// told returns the warnings about running farms: backends without connections, and warnings
// of the ground and the filter.
func (k *Reconciler) told(v *view) map[uint32][]string {
	out := maps.Clone(v.warnings)
	sources := []func(*farm.Farm) []string{k.options.Filter.Warnings}
	if k.options.Ground != nil {
		sources = []func(*farm.Farm) []string{k.options.Ground.Warnings, k.options.Filter.Warnings}
	}
	for _, warnings := range sources {
		for i := range v.farms {
			f := &v.farms[i]
			if f.Stopped {
				continue
			}
			if list := warnings(f); len(list) > 0 {
				if out == nil {
					out = map[uint32][]string{}
				}
				out[f.ID] = slices.Concat(out[f.ID], list)
			}
		}
	}
	return out
}

// Traffic returns the kernel's counters of carried farms. A farm's counters are the sum over
// its backends.
func (k *Reconciler) Traffic(ctx context.Context) (ctl.KernelTraffic, error) {
	counted, err := k.options.Filter.Counters(ctx)
	if err != nil {
		return ctl.KernelTraffic{}, err
	}
	open, err := k.options.Connections.Count(ctx)
	if err != nil {
		return ctl.KernelTraffic{}, err
	}
	farms := k.shown.Load().farms
	out := ctl.KernelTraffic{Farms: map[uint32]ctl.KernelCount{}, Backends: map[uint32]ctl.KernelCount{}}
	for i := range farms {
		f := &farms[i]
		var sum ctl.KernelCount
		for j := range f.L4.Backends {
			id := f.L4.Backends[j].ID
			count := counted[id]
			now := open[rules.Mark(id)]
			count.Established, count.Pending = uint64(now.Established), uint64(now.Pending)
			out.Backends[id] = count
			sum.Add(count)
		}
		out.Farms[f.ID] = sum
	}
	return out, nil
}

// Rules returns the rules of one farm in the kernel, as readable text.
func (k *Reconciler) Rules(ctx context.Context, id uint32) (string, error) {
	v, running := k.shown.Load(), false
	for i := range v.farms {
		running = running || (v.farms[i].ID == id && !v.farms[i].Stopped && v.problems[id] == "")
	}
	if !running {
		return "", nil
	}
	return k.options.Filter.Rules(ctx, id)
}

// Objects lists the objects of this program in the packet filter, and how often someone else
// changed them.
func (k *Reconciler) Objects(ctx context.Context) ([]ctl.KernelObject, error) {
	list, err := k.options.Filter.Objects(ctx)
	if reason := k.shown.Load().removal; reason != "" {
		detail := "those of stopped or deleted farms may remain, their removal is retried: " + reason
		list = append(list, ctl.KernelObject{Kind: "warning", Name: "rules", Detail: detail})
	}
	if n := k.shown.Load().restored; n > 0 {
		list = append(list, ctl.KernelObject{Kind: "warning", Name: "rules", Detail: fmt.Sprintf("changed by somebody else and restored: %d times since netd started", n)})
	}
	return list, err
}

// Clean removes everything of this program from the packet filter, for an appliance that
// does not run.
func (k *Reconciler) Clean(ctx context.Context) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	_, err := k.options.Filter.Carry(ctx, &rules.Input{})
	if err == nil {
		k.loaded = nil
		clear(k.known)
		k.noteFlushed(func(uint32) bool { return true })
		k.farms, k.transparent, k.graced, k.unready = nil, nil, nil, nil
		k.carried, k.removal = map[uint32]bool{}, ""
		k.show()
	}
	return err
}
