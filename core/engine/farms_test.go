package engine_test

import (
	"slices"
	"testing"

	"github.com/sluicelb/sluice/core/engine"
	"github.com/sluicelb/sluice/core/farm"
)

type numbered struct{ id uint32 }

func (n *numbered) Number() uint32             { return n.id }
func (n *numbered) Addresses() []farm.Listener { return nil }

func TestAListThatIsInUseKeepsNoFarmThatLeft(t *testing.T) {
	compile := func(f *farm.Farm, was *numbered) (*numbered, error) {
		if was != nil {
			return was, nil
		}
		return &numbered{f.ID}, nil
	}
	list := []farm.Farm{{ID: 1}, {ID: 2}}
	first, _ := engine.FarmsOf(&engine.Farms[*numbered]{}, &farm.Config{Farms: list}, compile)
	second, _ := engine.FarmsOf(&first, &farm.Config{Farms: slices.Clone(list[:1])}, compile)
	if len(second.Left) != 1 || second.Left[0].id != 2 || second.ByID[1] != first.ByID[1] || second.Same() {
		t.Errorf("%+v", second)
	}
	if second.Settle(); second.Left != nil || second.Fresh != nil || len(second.ByID) != 1 {
		t.Errorf("in use: %+v", second)
	}
}
