package marks

import (
	"cmp"

	"github.com/sluicelb/sluice/core/farm"
)

// Of returns the kind of socket for connections to a backend of the farm. The mark is 0
// if no special socket is needed, and Transparent if the backend must see the client's
// address. For a farm with TCP and UDP it returns the kind for TCP; see Each.
func Of(f *farm.Farm, b *farm.Backend) Kind { return Each(f, b)[0] }

// Each returns the kind for each transport of the farm, like Of.
func Each(f *farm.Farm, b *farm.Backend) []Kind {
	k := Kind{V6: !b.Addr.Unmap().Is4(), Mark: markOf(f, b)}
	transports := f.Transports()
	kinds := make([]Kind, len(transports))
	for i, t := range transports {
		kinds[i] = k
		kinds[i].UDP = t == farm.L4UDP
	}
	return kinds
}

// markOf returns the mark of connections to a backend, or 0.
func markOf(f *farm.Farm, b *farm.Backend) uint32 {
	if f.Transparent() {
		return Transparent
	}
	return cmp.Or(b.Mark, f.DefaultMark())
}

// Needed returns the kinds of all backends of a farm, with duplicates. The list is
// empty for a farm that is stopped or served outside the engine.
func Needed(f *farm.Farm) (kinds []Kind) {
	if f.Stopped || !f.InEngine() {
		return nil
	}
	for _, g := range f.Groups() {
		for i := range g.Backends() {
			if b := &g.Backends()[i]; markOf(f, b) != 0 {
				kinds = append(kinds, Each(f, b)...)
			}
		}
	}
	return kinds
}
