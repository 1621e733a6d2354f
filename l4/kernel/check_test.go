package kernel_test

import (
	"context"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
)

func TestChecksChangeNothingAndTellWhatTheKernelRefuses(t *testing.T) {
	s := newSite(t, 1)
	good := s.l4(1, farm.L4TCP, farm.NATMasquerade, false, 80)
	s.apply(good)
	before := s.Appliance.Run("nft", "list", "ruleset")
	check := func(farms ...farm.Farm) (problems map[uint32]string) {
		s.Appliance.Do(func() { problems = s.keeper.Check(context.Background(), &farm.Config{Farms: farms}) })
		return problems
	}
	same := s.l4(2, farm.L4TCP, farm.NATTarget, false, 80)
	if p := check(good, same); len(p) != 1 || !strings.Contains(p[2], "taken") {
		t.Errorf("a second farm with the same address: %v", p)
	}
	other := s.l4(2, farm.L4UDP, farm.NATTarget, true, 80)
	if p := check(good, other); len(p) != 0 {
		t.Errorf("a farm that can be carried: %v", p)
	}
	direct := s.l4(3, farm.L4TCP, farm.NATDirect, false, 81)
	if p := check(direct); !strings.Contains(p[3], "neighbours") {
		t.Errorf("a farm that needs what is not here: %v", p)
	}
	if now := s.Appliance.Run("nft", "list", "ruleset"); now != before {
		t.Errorf("rules were\n%s\nand are\n%s", before, now)
	}
}
