package table

import (
	"fmt"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/marks"
)

// Kinds lists what the backends of the table need.
func (t *Table) Kinds() (kinds []marks.Kind) {
	for _, b := range t.Backends {
		kinds = append(kinds, b.kind)
	}
	return kinds
}

// unmarked says why the backends of a farm cannot be connected to with the
// marks they ask for.
func unmarked(f *farm.Farm, missing map[marks.Kind]error) error {
	for _, s := range f.HTTP.Services {
		for i := range s.Backends {
			k := marks.Of(f, &s.Backends[i])
			if err := missing[k]; err != nil {
				return fmt.Errorf("service %q: backend %d has %s: %w", s.Name, i, k, err)
			}
		}
	}
	return nil
}
