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

// view is what is said of a reconciler. Who asks does not wait for a change that is
// under way, which may take longer than anybody waits: it hears what was there
// before. Nothing of it is changed.
type view struct {
	farms      []farm.Farm
	generation uint64
	problems   map[uint32]string
	warnings   map[uint32][]string
	restored   uint64
}

// show has everybody see what there is now. k.mu is held.
func (k *Reconciler) show() {
	k.shown.Store(&view{k.farms, k.generation, k.problems, k.warnings, k.restored})
}

// state is what the kernel carries.
func (k *Reconciler) state() ctl.KernelState {
	v := k.shown.Load()
	return ctl.KernelState{Generation: v.generation, Problems: maps.Clone(v.problems), Warnings: k.told(v), Restored: v.restored}
}

// told are the warnings about farms that run: of backends that get nothing, of
// the ground they stand on, and of what carries them.
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

// Traffic is what the kernel counted for the farms it carries; a farm's is the
// sum of its backends.
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

// Rules is what is in the kernel for one farm, for people to read.
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

// Objects lists what of ours is in the packet filter, and tells whether somebody
// else meddles with it.
func (k *Reconciler) Objects(ctx context.Context) ([]ctl.KernelObject, error) {
	list, err := k.options.Filter.Objects(ctx)
	if n := k.shown.Load().restored; n > 0 {
		list = append(list, ctl.KernelObject{Kind: "warning", Name: "rules", Detail: fmt.Sprintf("changed by somebody else and restored: %d times since netd started", n)})
	}
	return list, err
}

// Clean removes everything of ours from the packet filter, for an appliance that
// does not run.
func (k *Reconciler) Clean(ctx context.Context) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	_, err := k.options.Filter.Carry(ctx, &rules.Input{})
	if err == nil {
		k.noteFlushed(func(uint32) bool { return true })
		k.farms, k.transparent, k.graced, k.unready = nil, nil, nil, nil
		k.show()
	}
	return err
}
