package rules

import (
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
)

func slotted(weights ...int) (chosen []*State) {
	for i := range weights {
		chosen = append(chosen, &State{Backend: &farm.Backend{ID: uint32(100 + i)}})
	}
	return chosen
}

func owners(t *testing.T, chosen []*State, shares []int) []string {
	t.Helper()
	n, text := slots(chosen, shares)
	list := strings.Split(text, ", ")
	if len(list) != n {
		t.Fatalf("%d elements for %d slots", len(list), n)
	}
	for i, e := range list {
		_, list[i], _ = strings.Cut(e, " : ")
	}
	return list
}

func TestRemovedBackendMovesOnlyItsSlots(t *testing.T) {
	weights := []int{1, 1, 2, 1, 1, 3, 1, 1, 1, 1}
	all := slotted(weights...)
	before := owners(t, all, weights)
	for gone := range all {
		var rest []*State
		var shares []int
		for i := range all {
			if i != gone {
				rest, shares = append(rest, all[i]), append(shares, weights[i])
			}
		}
		after := owners(t, rest, shares)
		for slot := range before {
			if before[slot] != MarkText(all[gone].ID) && before[slot] != after[slot] {
				t.Fatalf("slot %d went from %s to %s when %s left", slot, before[slot], after[slot], MarkText(all[gone].ID))
			}
		}
	}
}

func TestSlotsFollowTheWeights(t *testing.T) {
	weights := []int{1, 2, 3, 4}
	count := map[string]int{}
	for _, o := range owners(t, slotted(weights...), weights) {
		count[o]++
	}
	for i, w := range weights {
		got, want := float64(count[MarkText(uint32(100+i))])/fewSlots, float64(w)/10
		if got < want*0.8 || got > want*1.2 {
			t.Errorf("weight %d has a share of %.3f, want about %.1f", w, got, want)
		}
	}
}

// With weights of one to nine, each share is close to its weight for any number of backends.
func TestSlotsFollowTheWeightsOfManyBackends(t *testing.T) {
	for backends, c := range map[int]struct {
		slots     int
		tolerance float64
	}{10: {fewSlots, 0.25}, 11: {8 * fewSlots, 0.25}, 32: {8 * fewSlots, 0.25}, 33: {32 * fewSlots, 0.25}, 60: {32 * fewSlots, 0.25}, 128: {32 * fewSlots, 0.45}} {
		tolerance := c.tolerance
		weights, sum := make([]int, backends), 0
		for i := range weights {
			weights[i] = 1 + i%9
			sum += weights[i]
		}
		count := map[string]int{}
		all := owners(t, slotted(weights...), weights)
		if len(all) != c.slots {
			t.Errorf("%d backends share %d slots, want %d", backends, len(all), c.slots)
		}
		for _, o := range all {
			count[o]++
		}
		for i, w := range weights {
			got, want := float64(count[MarkText(uint32(100+i))]), float64(w)/float64(sum)*float64(len(all))
			if got < want*(1-tolerance) || got > want*(1+tolerance) {
				t.Errorf("%d backends: weight %d has %.0f of %d slots, want about %.0f", backends, w, got, len(all), want)
			}
		}
	}
}
