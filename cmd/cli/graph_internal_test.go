package cli

import (
	"math"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/cmd/cli/show"
)

func values(of ...float64) []*float64 {
	out := make([]*float64, len(of))
	for i, v := range of {
		if !math.IsNaN(v) {
			out[i] = &v
		}
	}
	return out
}

func TestALineOfValuesIsDrawn(t *testing.T) {
	none := math.NaN()
	ramp := make([]float64, 0, 600)
	for i := range 600 {
		ramp = append(ramp, float64(i/10%10))
	}
	for want, of := range map[string][]float64{
		"▁▂▄▅▆▇█":   {0, 1, 3, 4, 5, 6, 7},
		"▁▁":        {0, 0},
		" █ ▄ ":     {none, 8, none, 3.9, none},
		"":          {},
		"▁▂▃▄▅▆▇██": {0, .9, 1.8, 2.7, 3.6, 4.5, 5.4, 6.3, 7.2},
	} {
		v := values(of...)
		_, _, largest, _ := overall(v)
		if got := line(v, largest); got != want {
			t.Errorf("%v: %q, want %q", of, got, want)
		}
	}
	v := values(ramp...)
	_, _, largest, _ := overall(v)
	if got := line(v, largest); got != strings.Repeat("▁▁▂▃▄▅▆▇██", 6) {
		t.Errorf("more values than there is room for: %q", got)
	}
}

func TestValuesAreShownByTheirUnit(t *testing.T) {
	for _, c := range []struct {
		unit string
		v    float64
		want string
	}{
		{"/s", 0, "0"}, {"/s", 1.234, "1.23"}, {"", 9.99, "9.99"}, {"%", 10, "10"}, {"/s", 12345.6, "12346"}, {"s", 0.00123456, "1.23ms"}, {"s", 0, "0s"}, {"B", 2048, show.Size(2048)}, {"B/s", 1e6, show.Size(1e6)},
	} {
		if got := (drawnSeries{Unit: c.unit}).shown(&c.v); got != c.want {
			t.Errorf("%g %s: %v, want %s", c.v, c.unit, got, c.want)
		}
	}
	if got := (drawnSeries{}).shown(nil); got != nil {
		t.Errorf("an unknown series: %v", got)
	}
	least, mean, largest, last := overall(values(math.NaN(), 4, 2, 9, math.NaN()))
	if *least != 2 || *mean != 5 || *largest != 9 || *last != 9 {
		t.Errorf("%g, %g, %g, %g", *least, *mean, *largest, *last)
	}
}
