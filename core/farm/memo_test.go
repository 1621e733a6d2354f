package farm_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
)

// describe returns a text that differs for any two farms of randomFarms.
func describe(f *farm.Farm) string {
	return fmt.Sprint(f.ID, f.Name, f.VPort, f.Stopped, f.HTTP.Services[0].Backends[0].Weight)
}

// changeOne returns the list after one random change. Changed farms get settings of their
// own, as the applier's clones have.
func changeOne(r *rand.Rand, farms []farm.Farm, next *uint32) []farm.Farm {
	farms = slices.Clone(farms)
	if len(farms) == 0 || r.IntN(4) == 0 {
		*next++
		f := farm.Farm{ID: *next, Name: fmt.Sprint("f", *next), HTTP: &farm.HTTP{Services: []farm.Service{{Backends: []farm.Backend{{Weight: 1}}}}}}
		return slices.Insert(farms, r.IntN(len(farms)+1), f)
	}
	i := r.IntN(len(farms))
	switch r.IntN(5) {
	case 0:
		farms = slices.Delete(farms, i, i+1)
	case 1:
		farms[i].Stopped = !farms[i].Stopped
	case 2:
		farms[i].VPort++
	case 3:
		farms[i] = farms[i].Clone()
		farms[i].HTTP.Services[0].Backends[0].Weight++
	case 4:
		k := r.IntN(len(farms))
		farms[i], farms[k] = farms[k], farms[i]
	}
	return farms
}

func TestMemoEqualsFullComputation(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		var m farm.Memo[string]
		var farms []farm.Farm
		next := uint32(0)
		for range 200 {
			farms = changeOne(r, farms, &next)
			var want []string
			for i := range farms {
				want = append(want, describe(&farms[i]))
			}
			if got := m.Of(farms, describe); !slices.Equal(got, want) {
				t.Fatalf("got %q, want %q", got, want)
			}
		}
	}
}

func TestMemoComputesChangedFarmsOnly(t *testing.T) {
	var m farm.Memo[string]
	var farms []farm.Farm
	next, computed := uint32(0), 0
	r := rand.New(rand.NewPCG(3, 4))
	count := func(f *farm.Farm) string { computed++; return describe(f) }
	for range 500 {
		farms = changeOne(r, farms, &next)
		m.Of(farms, count)
		if computed > 1 {
			t.Fatalf("%d farms were computed after a change of one", computed)
		}
		computed = 0
	}
	farms[0].Stopped = !farms[0].Stopped // in the same list
	if m.Of(farms, count); computed != 1 {
		t.Errorf("%d farms were computed after a change in the list itself", computed)
	}
}
