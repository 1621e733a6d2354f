package forward

import (
	"fmt"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/marks"
)

// Kinds lists what the backends of the table need.
func (t *table) Kinds() (kinds []marks.Kind) {
	for _, b := range t.backends {
		kinds = append(kinds, b.kinds...)
	}
	return kinds
}

// unmarked says why the backends of a farm cannot be connected to with the
// marks they ask for.
func unmarked(f *farm.Farm, missing map[marks.Kind]error) error {
	for i := range f.L4.Backends {
		for _, k := range marks.Each(f, &f.L4.Backends[i]) {
			if err := missing[k]; err != nil {
				return fmt.Errorf("backend %d has %s: %w", i, k, err)
			}
		}
	}
	return nil
}
