package marks

import (
	"cmp"

	"github.com/sluicelb/sluice/core/farm"
)

// Of is what connections to a backend of the farm need; its mark is 0 when they
// need nothing, and Transparent where the backend is to see the client's address.
// Of a farm of TCP and UDP it is what those of TCP need, see Each.
func Of(f *farm.Farm, b *farm.Backend) Kind {
	k := Kind{V6: !b.Addr.Unmap().Is4()}
	if f.L4 == nil {
		k.Mark = cmp.Or(b.Mark, f.HTTP.Mark)
		return k
	}
	k.Mark, k.UDP = cmp.Or(b.Mark, f.L4.Mark), f.L4.Protocol == farm.L4UDP
	if f.Transparent() {
		k.Mark = Transparent
	}
	return k
}

// Each is Of for each transport of the farm.
func Each(f *farm.Farm, b *farm.Backend) []Kind {
	k := Of(f, b)
	if f.L4 == nil || f.L4.Protocol != farm.L4TCPUDP {
		return []Kind{k}
	}
	datagrams := k
	datagrams.UDP = true
	return []Kind{k, datagrams}
}

// Needed lists what connections to the backends of a farm need, one by one. A
// farm that is stopped, or that the kernel carries, needs nothing.
func Needed(f *farm.Farm) (kinds []Kind) {
	add := func(backends []farm.Backend) {
		for i := range backends {
			for _, k := range Each(f, &backends[i]) {
				if k.Mark != 0 {
					kinds = append(kinds, k)
				}
			}
		}
	}
	switch {
	case f.Stopped:
	case f.HTTP != nil:
		for i := range f.HTTP.Services {
			add(f.HTTP.Services[i].Backends)
		}
	case f.InUserspace():
		add(f.L4.Backends)
	}
	return kinds
}
