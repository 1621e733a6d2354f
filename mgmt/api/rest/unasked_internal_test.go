package rest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
)

// randomFarm returns a farm with two services that use random checks.
func randomFarm(r *rand.Rand, id uint32) farm.Farm {
	var list []farm.Service
	for i := range 2 {
		list = append(list, farm.Service{Name: fmt.Sprint("s", i), Check: []string{"", "a", "b"}[r.IntN(3)]})
	}
	return farm.Farm{ID: id, Name: fmt.Sprint("farm", r.IntN(6), id), Profile: farm.ProfileHTTP, Stopped: r.IntN(4) == 0, HTTP: &farm.HTTP{Services: list}}
}

// randomChange returns a changed copy of a configuration, which shares the settings of the
// other farms.
func randomChange(r *rand.Rand, was *farm.Config, id uint32) *farm.Config {
	cfg := *was
	cfg.Farms = slices.Clone(was.Farms)
	switch at := r.IntN(len(cfg.Farms)); r.IntN(5) {
	case 0:
		cfg.Farms = slices.Insert(cfg.Farms, at, randomFarm(r, id))
	case 1:
		cfg.Farms[at].Stopped = !cfg.Farms[at].Stopped
	case 2:
		cfg.Checks = slices.Clone(was.Checks)
		cfg.Checks[r.IntN(2)].Command = fmt.Sprint("ask ", r.IntN(3))
	case 3:
		cfg.Farms = slices.Insert(slices.Delete(cfg.Farms, at, at+1), 0, randomFarm(r, id))
	default:
		cfg.Farms[at] = randomFarm(r, cfg.Farms[at].ID)
	}
	return &cfg
}

func TestLinkedGroupsOfChangedFarmsAreThoseOfAll(t *testing.T) {
	r := rand.New(rand.NewPCG(64, 1))
	cfg := &farm.Config{Checks: []farm.Check{{Name: "a", Command: "ask"}, {Name: "b", Command: "ask"}}}
	for id := range uint32(4) {
		cfg.Farms = append(cfg.Farms, randomFarm(r, id+1))
	}
	for step := range uint32(500) {
		next := randomChange(r, cfg, step+10)
		describe := func(list []linked) (out []string) {
			for _, l := range list {
				out = append(out, fmt.Sprintf("%s %s at %s", l.Farm.Name, l.Name(), l.path))
			}
			return out
		}
		got, want := describe(linkedBy(cfg, next)), describe(linkedIn(cfg, next, cfg.Farms, next.Farms))
		if !slices.Equal(got, want) {
			t.Fatalf("change %d: got %v, want %v", step, got, want)
		}
		if cfg = next; len(cfg.Farms) > 12 {
			cfg.Farms = cfg.Farms[:4]
		}
	}
}
