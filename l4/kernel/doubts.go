package kernel

import (
	"maps"
	"slices"

	"github.com/sluicelb/sluice/core/farm"
)

// Doubtful is a Ground, or a Filter, that knows what may keep a farm it was
// prepared for, or carries, from working as it should, in sentences for people.
type Doubtful interface {
	Warnings(f *farm.Farm) []string
}

// told are the warnings about farms that run: of backends that get nothing, of
// the ground they stand on, and of what carries them.
func (k *Keeper) told(v *view) map[uint32][]string {
	out := maps.Clone(v.warnings)
	for _, from := range []any{k.options.Ground, k.options.Filter} {
		doubtful, ok := from.(Doubtful)
		if !ok {
			continue
		}
		for i := range v.farms {
			f := &v.farms[i]
			if f.Stopped {
				continue
			}
			if list := doubtful.Warnings(f); len(list) > 0 {
				if out == nil {
					out = map[uint32][]string{}
				}
				out[f.ID] = slices.Concat(out[f.ID], list)
			}
		}
	}
	return out
}
