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

// Changed farms and kernel farms are in the scope. The states of all others remain valid.
func TestScopeOfAChange(t *testing.T) {
	same, gone, changed := site(1, 11), site(2, 12), site(3, 13)
	kernel := farm.Farm{ID: 4, Profile: farm.ProfileL4}
	kernel.L4 = &farm.L4{NAT: farm.NATMasquerade, Backends: []farm.Backend{{ID: 14}}}
	if !kernel.InKernel() {
		t.Fatal("the farm is not in the kernel")
	}
	scope := farmstate.Changed(&farm.Config{Farms: []farm.Farm{same, gone, changed, kernel}},
		&farm.Config{Farms: []farm.Farm{same, site(3, 15), kernel, site(5, 16)}})
	var ids []uint32
	for _, f := range scope.Farms {
		ids = append(ids, f.ID)
	}
	if want := []uint32{3, 4, 5}; !slices.Equal(ids, want) {
		t.Errorf("got farms %v in the scope, want %v", ids, want)
	}
	before, rest := farmstate.OfFarms(&scope, map[uint32]bool{1: true, 2: true, 3: true, 4: true})
	if len(before) != 3 || !before[2] || !before[3] || !before[4] || len(rest) != 1 || !rest[1] {
		t.Errorf("farms: got %v before, %v that hold", before, rest)
	}
	before, rest = farmstate.OfBackends(&scope, map[uint32]bool{11: true, 12: true, 13: true, 14: true})
	if len(before) != 3 || !before[12] || !before[13] || !before[14] || len(rest) != 1 || !rest[11] {
		t.Errorf("backends: got %v before, %v that hold", before, rest)
	}
	whole := farmstate.Whole(&farm.Config{Farms: []farm.Farm{same}})
	before, rest = farmstate.OfFarms(&whole, map[uint32]bool{1: true})
	if !before[1] || len(rest) != 0 || len(whole.Farms) != 1 {
		t.Errorf("all: got %v before, %v that hold", before, rest)
	}
}
