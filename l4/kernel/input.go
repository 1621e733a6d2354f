package kernel

import (
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
func (k *Keeper) input(farms, transparent []farm.Farm, wire *seen) *rules.Input {
	in := &rules.Input{Farms: farms, Weights: k.weights, Hold: len(k.graced) > 0, Transparent: transparent, Ended: k.endedNow()}
	if b := k.options.Board; b != nil {
		in.Usable = func(id uint32) bool { return b.Slot(id).Usable() }
	}
	if wire != nil {
		in.Wire = wire
	}
	return in
}
