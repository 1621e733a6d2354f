package proxy

import (
	"cmp"
	"fmt"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/loop"
)

// markOf is the mark of connections to a backend; 0 means none.
func markOf(f *farm.Farm, b *farm.Backend) uint32 { return cmp.Or(b.Mark, f.HTTP.Mark) }

// marks says why the backends of a service cannot be connected to with the
// marks they ask for.
func marks(f *farm.Farm, s *farm.Service) error {
	for i := range s.Backends {
		mark := markOf(f, &s.Backends[i])
		if mark == 0 {
			continue
		}
		if err := loop.CanMark(); err != nil {
			return fmt.Errorf("backend %d has mark %d: %w: give the engine that capability, or remove the mark", i, mark, err)
		}
		return nil
	}
	return nil
}
