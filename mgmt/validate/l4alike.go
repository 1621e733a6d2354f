package validate

import (
	"slices"

	"github.com/sluicelb/sluice/core/farm"
)

// sameL4 compares where backends of layer 4 answer clients (eachAnswer).
func sameL4(was, f *farm.Farm) bool {
	a, b := was.L4, f.L4
	if a == nil || b == nil {
		return a == b
	}
	return a.NAT == b.NAT && a.Protocol == b.Protocol &&
		slices.EqualFunc(a.Backends, b.Backends, func(a, b farm.Backend) bool { return a.Addr == b.Addr && a.Port == b.Port })
}
