package marks

import (
	"cmp"

	"github.com/sluicelb/sluice/core/farm"
)

// Of is what connections to a backend of the farm need; its mark is 0 when they
// need nothing, and Transparent where the backend is to see the client's address.
// Of a farm of TCP and UDP it is what those of TCP need, see Each.
func Of(f *farm.Farm, b *farm.Backend) Kind { return Each(f, b)[0] }

// Each is Of for each transport of the farm.
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

// markOf is the mark of connections to a backend, 0 for none.
func markOf(f *farm.Farm, b *farm.Backend) uint32 {
	if f.Transparent() {
		return Transparent
	}
	return cmp.Or(b.Mark, f.DefaultMark())
}

// Needed lists what connections to the backends of a farm need, one by one. A
// farm that is stopped, or that the engine does not carry, needs nothing.
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
