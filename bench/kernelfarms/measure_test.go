package kernelfarms

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
)

// rounds are the turns of each side where few do.
const rounds = 31

// turns has n turns of all sides, each first as often as last, and returns what
// each measured, by turns.
func turns[S any](n int, sides []S, measure func(S) float64) [][]float64 {
	out := make([][]float64, len(sides))
	for i := range n {
		row := make([]float64, len(sides))
		for j := range sides {
			k := (i/2 + j) % len(sides)
			if i%2 == 1 {
				k = len(sides) - 1 - k
			}
			row[k] = measure(sides[k])
		}
		for k, rate := range row {
			out[k] = append(out[k], rate)
		}
	}
	return out
}

// median of a list, which stays as it is.
func median(list []float64) float64 {
	list = slices.Clone(list)
	slices.Sort(list)
	return list[len(list)/2]
}

func wanted(t *testing.T) {
	t.Helper()
	if os.Getenv("SLUICE_BENCH") == "" {
		t.Skip("measures for a minute: make bench does it")
	}
}

// say compares one with the other: by the median of the ratios of the same
// turn, which what else the machine does touches least.
func say(t *testing.T, name string, other, one []float64, least float64) {
	t.Helper()
	ratios := make([]float64, len(one))
	for i := range one {
		ratios[i] = one[i] / other[i]
	}
	ratio, verdict := median(ratios), "no target"
	switch {
	case least > 0 && ratio < least:
		verdict = fmt.Sprintf("at least %.2f: missed", least)
	case least > 0:
		verdict = fmt.Sprintf("at least %.2f: reached", least)
	}
	t.Logf("%-40s %12.0f/s %12.0f/s  %.3f  (%s)", name, median(one), median(other), ratio, verdict)
}

// What is compared with itself tells how much of the others is chance.
func TestAgainstARuleByHand(t *testing.T) {
	wanted(t)
	clock := newSide(t)
	clock.byHand(farm.NATMasquerade, hand)
	clock.chooseClock()
	for _, nat := range []farm.NATType{farm.NATMasquerade, farm.NATTarget} {
		s := newSide(t)
		s.farms(nat, 0)
		for _, table := range []string{hand, handAgain, counting} {
			s.byHand(nat, table)
		}
		const turn = 20 * time.Millisecond
		for _, load := range []struct {
			name  string
			turns int
			least float64
			do    func() float64
		}{
			{"connections", 3 * rounds, 0.97, func() float64 { return s.connect(turn) }},
			{"bulk, bytes", 3 * rounds, 0.97, func() float64 { return s.fetch(turn) }},
			{"datagrams of a flow", rounds, 0, func() float64 { return s.send(6_000, false) }},
			{"datagrams of new flows", rounds, 0, func() float64 { return s.send(6_000, true) }},
		} {
			rates := turns(load.turns, []string{hand, ours, handAgain, counting}, func(table string) float64 { s.wake(table); return load.do() })
			say(t, string(nat)+": "+load.name, rates[0], rates[1], load.least)
			say(t, "  the rule against itself", rates[0], rates[2], 0)
			say(t, "  with rules that count", rates[0], rates[3], 0)
		}
	}
}

func TestManyFarmsCostNoPacketMore(t *testing.T) {
	wanted(t)
	many, one := newSide(t), newSide(t)
	many.farms(farm.NATTarget, 1000)
	one.farms(farm.NATTarget, 0)
	for _, flows := range []bool{false, true} {
		rates := turns(rounds, []*side{one, many}, func(s *side) float64 { return s.send(10_000, flows) })
		name := "1,000 farms: datagrams of a flow"
		if flows {
			name = "1,000 farms: datagrams of new flows"
		}
		say(t, name, rates[0], rates[1], 1/1.05)
	}
}
