package kernelfarms

import (
	"fmt"
	"testing"
	"time"

	"github.com/sluicelb/sluice/bench/proxytest"
	"github.com/sluicelb/sluice/core/farm"
)

// rounds is the number of turns of each side in short tests. With thirteen times as many,
// the medians of connections vary by 0.003 between runs; with three times, by 0.02.
const rounds = 31

// turns runs n turns of all sides and returns their measurements by side.
func turns[S any](n int, sides []S, measure func(S) float64) [][]float64 {
	out := make([][]float64, len(sides))
	for i := range n {
		for _, k := range proxytest.Order(i, len(sides)) {
			out[k] = append(out[k], measure(sides[k]))
		}
	}
	return out
}

// say logs the comparison: the median of the ratios within a turn, which other processes
// affect least.
func say(t *testing.T, name string, other, one []float64, least float64) {
	t.Helper()
	ratios := make([]float64, len(one))
	for i := range one {
		ratios[i] = one[i] / other[i]
	}
	ratio, verdict := proxytest.Median(ratios), "no target"
	switch {
	case least > 0 && ratio < least:
		verdict = fmt.Sprintf("at least %.2f: missed", least)
	case least > 0:
		verdict = fmt.Sprintf("at least %.2f: reached", least)
	}
	t.Logf("%-40s %12.0f/s %12.0f/s  %.3f  (%s)", name, proxytest.Median(one), proxytest.Median(other), ratio, verdict)
}

// The comparison of the rule with itself shows the noise.
func TestCostAgainstAHandWrittenRule(t *testing.T) {
	proxytest.Wanted(t)
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
			{"connections", 13 * rounds, 0.97, func() float64 { return s.connect(turn) }},
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
	proxytest.Wanted(t)
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
