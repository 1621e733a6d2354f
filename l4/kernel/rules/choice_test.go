package rules_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel/l4test"
	"github.com/sluicelb/sluice/l4/kernel/rules"
	"github.com/sluicelb/sluice/sysnet/claim"
)

// shares returns each backend's share of the slots of the farm's choice, and the expression
// that chooses a slot.
func shares(t *testing.T, in *rules.Input) (by string, share map[uint32]float64) {
	t.Helper()
	want, problems := rules.Compile(in)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for id, c := range want.Chains {
		if id.Name != "farm7" {
			continue
		}
		for _, rule := range c.Rules {
			text, slots, ok := strings.Cut(rule, " map { ")
			if !ok {
				continue
			}
			list, n := strings.Split(strings.TrimSuffix(slots, " }"), ", "), 0
			by, _, _ = strings.Cut(strings.TrimPrefix(text, "ct mark set "), " mod")
			_, mod, _ := strings.Cut(text, " mod ")
			if _, err := fmt.Sscan(mod, &n); err != nil || n != len(list) {
				t.Errorf("%q for %d slots: %v", text, len(list), err)
			}
			share = map[uint32]float64{}
			for i, element := range list {
				var slot int
				var mark uint32
				if _, err := fmt.Sscanf(element, "%d : 0x%x", &slot, &mark); err != nil || slot != i {
					t.Fatalf("element %d is %q: %v", i, element, err)
				}
				share[mark&^claim.OwnMask] += 1 / float64(len(list))
			}
			return by, share
		}
	}
	t.Fatal("no rule chooses")
	return "", nil
}

// Shares by hash are approximate, over about a thousand slots; others are exact.
func TestAlgorithmsShareByWeight(t *testing.T) {
	weights := []int{1, 2, 6}
	for algorithm, by := range map[farm.L4Algorithm]string{
		farm.L4Weight: "numgen random", farm.L4LeastConn: "numgen random", farm.L4RoundRobin: "numgen inc",
		farm.L4HashSrc: "jhash ip saddr", farm.L4HashFlow: "jhash ip saddr . th sport", farm.L4HashSrcPt: "jhash th sport",
		farm.L4HashDst: "jhash ip daddr", farm.L4HashDstPt: "jhash th dport", farm.L4SymHash: "symhash",
	} {
		in := &rules.Input{Weights: map[uint32]int{1: 2, 2: 8}, Farms: []farm.Farm{l4test.Example(func(f *farm.Farm) {
			f.L4.Algorithm = algorithm
			third := f.L4.Backends[1]
			third.ID, third.Addr = 3, third.Addr.Next()
			f.L4.Backends = append(f.L4.Backends, third)
			for i, w := range weights {
				f.L4.Backends[i].Weight = uint8(w)
			}
		})}}
		got, share := shares(t, in)
		if got != by {
			t.Errorf("%s chooses by %q, want %q", algorithm, got, by)
		}
		for i, w := range weights {
			want, off := float64(w)/9, 0.25*float64(w)/9
			switch algorithm {
			case farm.L4RoundRobin:
				want, off = 1.0/3, 1e-9
			case farm.L4LeastConn: // as measured, ten by default
				want, off = []float64{0.1, 0.4, 0.5}[i], 1e-9
			case farm.L4Weight:
				off = 1e-9
			}
			if math.Abs(share[uint32(1+i)]-want) > off {
				t.Errorf("%s: backend %d of weight %d has %.3f, want %.3f", algorithm, 1+i, w, share[uint32(1+i)], want)
			}
		}
	}
}
