package engine_test

import (
	"slices"
	"testing"

	"github.com/sluicelb/sluice/core/engine"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/ports"
)

type numbered struct{ id uint32 }

func (n *numbered) Number() uint32             { return n.id }
func (n *numbered) Addresses() []farm.Listener { return nil }

func TestUsedListDropsRemovedFarms(t *testing.T) {
	compile := func(f *farm.Farm, was *numbered) (*numbered, error) {
		if was != nil {
			return was, nil
		}
		return &numbered{f.ID}, nil
	}
	list := []farm.Farm{{ID: 1}, {ID: 2}}
	first, _ := engine.FarmsOf(&engine.Farms[*numbered]{}, &farm.Config{Farms: list}, compile)
	second, _ := engine.FarmsOf(&first, &farm.Config{Farms: slices.Clone(list[:1])}, compile)
	p := &ports.Port{Number: 3}
	second.Bind(p, 1)
	if second.On(p) != first.ByID[1] || first.On(p) != nil || second.On(&ports.Port{Number: 9}) != nil {
		t.Errorf("on its port: %v, before: %v", second.On(p), first.On(p))
	}
	if len(second.Left) != 1 || second.Left[0].id != 2 || second.ByID[1] != first.ByID[1] || second.Same() {
		t.Errorf("%+v", second)
	}
	third, _ := engine.FarmsOf(&second, &farm.Config{}, compile)
	if third.On(p) != nil || second.On(p) == nil {
		t.Errorf("without the farm its port has %v", third.On(p))
	}
	if second.Settle(); second.Left != nil || second.Fresh != nil || len(second.ByID) != 1 {
		t.Errorf("in use: %+v", second)
	}
}
