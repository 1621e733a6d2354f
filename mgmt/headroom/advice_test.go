package headroom_test

import (
	"slices"
	"testing"
	"time"

	"github.com/sluicelb/sluice/mgmt/headroom"
)

func bent(at float64, base time.Duration) headroom.Known {
	return headroom.Known{Estimate: headroom.Estimate{State: headroom.Bent, Bend: at, Base: base, Carried: at / 2, Highest: 3 * at}}
}

func unbent(carried float64) headroom.Known {
	return headroom.Known{Estimate: headroom.Estimate{State: headroom.Unbent, Base: time.Second, Carried: carried, Highest: carried + 2}}
}

func TestLeftIsAPercentageOfTheLimit(t *testing.T) {
	k, lower := bent(8, time.Second), unbent(8)
	for load, want := range map[float64]float64{0: 100, 2: 75, 8: 0, 100: 0, -1: 100} {
		for _, k := range []headroom.Known{k, lower} {
			if got, ok := k.Left(load); !ok || got != want {
				t.Errorf("with %g of %g under way %g %% are left, %v", load, k.Limit(), got, ok)
			}
		}
	}
	if got, ok := new(headroom.Known).Left(0); ok || got != 0 {
		t.Errorf("without data %g %% are left", got)
	}
}

func TestALimitLeavesRoomForBursts(t *testing.T) {
	for bend, want := range map[float64]int{1: 2, 4: 6, 8: 11, 9: 12, 100: 110, 0.5: 2} {
		if k := bent(bend, time.Second); k.ConnLimit() != want {
			t.Errorf("a bend at %g: limit %d", bend, k.ConnLimit())
		}
	}
	if k := unbent(8); k.ConnLimit() != 0 {
		t.Error("a limit without a bend")
	}
}

func TestWeightsFollowCapacity(t *testing.T) {
	of := []headroom.Known{bent(8, 50*time.Millisecond), bent(16, 50*time.Millisecond), bent(8, 100*time.Millisecond)}
	for _, c := range []struct {
		of     []headroom.Known
		byLoad bool
		want   []int
	}{
		{of, false, []int{2, 4, 1}}, // 160, 320 and 80 requests per second
		{of, true, []int{1, 2, 1}},
		{[]headroom.Known{bent(8, time.Second), bent(8.3, time.Second)}, false, []int{1, 1}},
		{[]headroom.Known{bent(30, time.Second), bent(20, time.Second)}, false, []int{3, 2}},
		{[]headroom.Known{bent(100, time.Second), bent(1, time.Second)}, false, []int{9, 1}},
		{[]headroom.Known{bent(8, time.Second), unbent(8)}, false, nil},
		{nil, false, nil},
	} {
		got := headroom.Weights(c.of, c.byLoad)
		if len(c.of) > 0 && !slices.Equal(got, c.want) || (got == nil) != (c.want == nil) && len(c.of) > 0 {
			t.Errorf("weights %v, want %v", got, c.want)
		}
	}
}

func TestKnownFormatsAsText(t *testing.T) {
	few, slowed, never, tunnels, anew := bent(5.34, time.Second), unbent(12), bent(8, time.Second), headroom.Known{Tunnels: true}, bent(30.4, time.Second)
	slowed.Slowed, never.AtMost = true, true
	anew.Anew, anew.Since = true, begin
	for want, k := range map[string]headroom.Known{
		"latency bends at 5.3 at once":                                                                            few,
		"latency bends at 8 at once, or sooner: it was never seen with much less":                                 never,
		"latency bends at 30 at once; learned anew since 2026-03-02 00:00:00 UTC: its latency became another one": anew,
		"no bend was seen yet: never above 14 at once":                                                            unbent(12),
		"no bend was seen yet: latency was high at times, but then less was done than the 12 at once it can":      slowed,
		"not known: most of what is under way does not end (tunnels, long polls)":                                 tunnels,
		"not known yet: it takes 6 samples with much the same load, each of 50 requests or more":                  {},
	} {
		if got := k.Text(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	for n, want := range map[float64]string{0: "0", 0.04: "0", 0.25: "0.3", 9.94: "9.9", 9.95: "10", 10.5: "11", 1234.5: "1235", 9: "9"} {
		if got := headroom.Amount(n); got != want {
			t.Errorf("%g is written %s, want %s", n, got, want)
		}
	}
}

func TestAbleReturnsTheCapacity(t *testing.T) {
	k, lower := bent(8, 50*time.Millisecond), unbent(3)
	if k.Able() != 160 || lower.Able() != 3 || new(headroom.Known).Able() != 0 {
		t.Errorf("%g, %g, %g a second", k.Able(), lower.Able(), new(headroom.Known).Able())
	}
}
