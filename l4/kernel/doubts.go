package kernel

import (
	"maps"
	"slices"

	"github.com/sluicelb/sluice/core/farm"
)

// Doubtful is a Ground that knows what may keep packets of a farm it was
// prepared for from passing, in sentences for people.
type Doubtful interface {
	Warnings(f *farm.Farm) []string
}

// told are the warnings about farms that run: of backends that get nothing, and
// of the ground they stand on. k.mu is held.
func (k *Keeper) told() map[uint32][]string {
	out := maps.Clone(k.warnings)
	ground, ok := k.options.Ground.(Doubtful)
	if !ok {
		return out
	}
	for i := range k.farms {
		f := &k.farms[i]
		if f.Stopped {
			continue
		}
		if list := ground.Warnings(f); len(list) > 0 {
			if out == nil {
				out = map[uint32][]string{}
			}
			out[f.ID] = slices.Concat(out[f.ID], list)
		}
	}
	return out
}
