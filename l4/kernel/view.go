package kernel

import (
	"maps"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/sysnet/ctl"
)

// view is what is said of a keeper. Who asks does not wait for a change that is
// under way, which may take longer than anybody waits: it hears what was there
// before. Nothing of it is changed.
type view struct {
	farms      []farm.Farm
	generation uint64
	cleaned    bool
	problems   map[uint32]string
	warnings   map[uint32][]string
}

// show has everybody see what there is now. k.mu is held.
func (k *Keeper) show() {
	k.shown.Store(&view{k.farms, k.generation, k.cleaned, k.problems, k.warnings})
}

// state is what the kernel carries.
func (k *Keeper) state() ctl.KernelState {
	v := k.shown.Load()
	return ctl.KernelState{Generation: v.generation, Cleaned: v.cleaned, Problems: maps.Clone(v.problems), Warnings: k.told(v)}
}
