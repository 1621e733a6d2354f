package farm_test

import (
	"slices"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/farm/changetest"
)

// AlignedWith reuses its result only for the same lists.
func TestAlignedWithIsAlign(t *testing.T) {
	configs := changetest.Configs(1, 30)
	for i, before := range configs {
		cfg := *configs[(i+1)%len(configs)]
		for _, list := range [][]farm.Farm{before.Farms, before.Farms, nil, configs[0].Farms, before.Farms[:1]} {
			if got, want := cfg.AlignedWith(list), farm.Align(list, cfg.Farms); !slices.Equal(got, want) {
				t.Fatalf("configuration %d: got %v, want %v", i, got, want)
			}
		}
		cfg.Farms = slices.Clone(cfg.Farms[1:])
		if got, want := cfg.AlignedWith(before.Farms), farm.Align(before.Farms, cfg.Farms); !slices.Equal(got, want) {
			t.Fatalf("configuration %d with another list: got %v, want %v", i, got, want)
		}
	}
}
