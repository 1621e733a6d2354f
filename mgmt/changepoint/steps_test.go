package changepoint_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sluicelb/sluice/mgmt/changepoint"
)

var latency = changepoint.Bounds{Level: changepoint.Median, Ratio: 1.5, Difference: 0.001}

// noisy returns n values around a level, lognormal as latencies are.
func noisy(r *rand.Rand, n int, level, sigma float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = level * math.Exp(sigma*r.NormFloat64())
	}
	return out
}

func random(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

func within(t *testing.T, what string, got, want, by int) {
	t.Helper()
	if got < want-by || got > want+by {
		t.Errorf("%s at %d, want %d", what, got, want)
	}
}

func TestDoublingIsFoundInNoise(t *testing.T) {
	for _, sigma := range []float64{0.05, 0.2, 0.4} {
		for seed := range uint64(20) {
			r := random(seed)
			found := changepoint.Steps(append(noisy(r, 400, 0.02, sigma), noisy(r, 320, 0.04, sigma)...), latency)
			if len(found) != 1 {
				t.Fatalf("noise %v, seed %d: %+v", sigma, seed, found)
			}
			within(t, "step", found[0].At, 400, 8)
			if s := found[0]; s.Before < 0.015 || s.Before > 0.025 || s.After < 0.03 || s.After > 0.05 {
				t.Errorf("noise %v, seed %d: %+v", sigma, seed, s)
			}
		}
	}
}

func TestAStepDownIsFoundAsWell(t *testing.T) {
	r := random(1)
	found := changepoint.Steps(append(noisy(r, 100, 0.04, 0.2), noisy(r, 100, 0.02, 0.2)...), latency)
	if len(found) != 1 || found[0].After >= found[0].Before {
		t.Fatalf("%+v", found)
	}
	within(t, "step", found[0].At, 100, 2)
}

func TestNoiseHasNoSteps(t *testing.T) {
	for _, sigma := range []float64{0, 0.05, 0.3, 1} {
		for seed := range uint64(100) {
			if found := changepoint.Steps(noisy(random(seed), 720, 0.02, sigma), latency); len(found) > 0 {
				t.Errorf("noise %v, seed %d: %+v", sigma, seed, found)
			}
		}
	}
}

func TestThreeMinuteChangeHasTwoSteps(t *testing.T) {
	r := random(3)
	values := append(append(noisy(r, 400, 0.02, 0.2), noisy(r, 36, 0.08, 0.2)...), noisy(r, 284, 0.02, 0.2)...)
	found := changepoint.Steps(values, latency)
	if len(found) != 2 {
		t.Fatalf("%+v", found)
	}
	within(t, "first", found[0].At, 400, 2)
	within(t, "second", found[1].At, 436, 2)
}

func TestOutliersAreNotSteps(t *testing.T) {
	values := noisy(random(4), 720, 0.02, 0.2)
	for i := 0; i < len(values); i += 9 {
		values[i] = 5
	}
	for i := 300; i < 305; i++ {
		values[i] = 5
	}
	if found := changepoint.Steps(values, latency); len(found) > 0 {
		t.Errorf("%+v", found)
	}
}

func TestSlopeIsNotAStep(t *testing.T) {
	values := noisy(random(5), 720, 1, 0.1)
	for i := range values {
		values[i] *= 0.02 * (1 + 2*float64(i)/720)
	}
	if found := changepoint.Steps(values, latency); len(found) > 0 {
		t.Errorf("%+v", found)
	}
}

// A difference too small to matter is no step, even if it is certain.
func TestSmallStepIsIgnored(t *testing.T) {
	for name, c := range map[string][2]float64{"ratio": {0.020, 0.027}, "difference": {0.0001, 0.0009}} {
		r := random(6)
		if found := changepoint.Steps(append(noisy(r, 360, c[0], 0.01), noisy(r, 360, c[1], 0.01)...), latency); len(found) > 0 {
			t.Errorf("%s: %+v", name, found)
		}
	}
}

func TestAFewValuesHaveNoStep(t *testing.T) {
	for _, values := range [][]float64{nil, {0.02}, {0.02, 0.02, 5}, append(noisy(random(7), 15, 0.02, 0.1), noisy(random(8), 15, 2, 0.1)...)} {
		if found := changepoint.Steps(values, latency); len(found) > 0 {
			t.Errorf("%d values: %+v", len(values), found)
		}
	}
	if found := changepoint.Steps(append(noisy(random(7), 16, 0.02, 0.1), noisy(random(8), 16, 2, 0.1)...), latency); len(found) != 1 || found[0].At != 16 {
		t.Errorf("two windows: %+v", found)
	}
}

// Error shares are mostly 0, and their median says nothing.
func TestErrorsThatBeginAreAStep(t *testing.T) {
	errors := changepoint.Bounds{Level: changepoint.Mean, Ratio: 1.5, Difference: 0.01}
	r := random(9)
	values := make([]float64, 720)
	for i := range values {
		failing := 0.002
		if i >= 500 {
			failing = 0.05
		}
		n := 0
		for range 50 {
			if r.Float64() < failing {
				n++
			}
		}
		values[i] = float64(n) / 50
	}
	found := changepoint.Steps(values, errors)
	if len(found) != 1 || found[0].After < 0.03 {
		t.Fatalf("%+v", found)
	}
	within(t, "step", found[0].At, 500, 6)
	if none := changepoint.Steps(values[:500], errors); len(none) > 0 {
		t.Errorf("before: %+v", none)
	}
}

func TestTheMedianIsTheMiddle(t *testing.T) {
	for want, of := range map[float64][]float64{3: {9, 3, 1}, 2: {3, 1}, 5: {5}} {
		if got := changepoint.Median(of); got != want {
			t.Errorf("median of %v: got %v, want %v", of, got, want)
		}
	}
	if !math.IsNaN(changepoint.Median(nil)) {
		t.Error("an empty list has a median")
	}
}

func BenchmarkSteps(b *testing.B) {
	values := noisy(random(1), 720, 0.02, 0.3)
	for b.Loop() {
		changepoint.Steps(values, latency)
	}
}
