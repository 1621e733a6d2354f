package farmstate_test

import (
	"slices"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/farmstate"
)

func site(id uint32, backend uint32) farm.Farm {
	service := farm.Service{ID: id, Backends: []farm.Backend{{ID: backend}}}
	return farm.Farm{ID: id, Profile: farm.ProfileHTTP, HTTP: &farm.HTTP{Services: []farm.Service{service}}}
}

// Changed farms are in the scope, also those in the kernel. The states of all others remain
// valid.
func TestScopeOfAChange(t *testing.T) {
	same, gone, changed := site(1, 11), site(2, 12), site(3, 13)
	relay := func(id, backend uint32) farm.Farm {
		l := &farm.L4{NAT: farm.NATMasquerade, Backends: []farm.Backend{{ID: backend}}}
		return farm.Farm{ID: id, Profile: farm.ProfileL4, L4: l}
	}
	kernel, other := relay(4, 14), relay(6, 17)
	if !kernel.InKernel() {
		t.Fatal("the farm is not in the kernel")
	}
	scope := farmstate.Changed(&farm.Config{Farms: []farm.Farm{same, gone, changed, kernel, other}},
		&farm.Config{Farms: []farm.Farm{same, site(3, 15), relay(4, 14), other, site(5, 16)}})
	var ids []uint32
	for _, f := range scope.Farms {
		ids = append(ids, f.ID)
	}
	if want := []uint32{3, 4, 5}; !slices.Equal(ids, want) {
		t.Errorf("got farms %v in the scope, want %v", ids, want)
	}
	before, rest := farmstate.OfFarms(&scope, map[uint32]bool{1: true, 2: true, 3: true, 4: true, 6: true})
	if len(before) != 3 || !before[2] || !before[3] || !before[4] || len(rest) != 2 || !rest[1] || !rest[6] {
		t.Errorf("farms: got %v before, %v that hold", before, rest)
	}
	before, rest = farmstate.OfBackends(&scope, map[uint32]bool{11: true, 12: true, 13: true, 14: true, 17: true})
	if len(before) != 3 || !before[12] || !before[13] || !before[14] || len(rest) != 2 || !rest[11] || !rest[17] {
		t.Errorf("backends: got %v before, %v that hold", before, rest)
	}
	whole := farmstate.Whole(&farm.Config{Farms: []farm.Farm{same}})
	before, rest = farmstate.OfFarms(&whole, map[uint32]bool{1: true})
	if !before[1] || len(rest) != 0 || len(whole.Farms) != 1 {
		t.Errorf("all: got %v before, %v that hold", before, rest)
	}
}
