package engine_test

import (
	"testing"

	"github.com/sluicelb/sluice/core/engine"
	"github.com/sluicelb/sluice/core/farm"
)

func TestChangedLooksAtFarmsOfItsKindOnly(t *testing.T) {
	own := func(id uint32) farm.Farm { return farm.Farm{ID: id, L4: &farm.L4{}} }
	other := func(id uint32) farm.Farm { return farm.Farm{ID: id, HTTP: &farm.HTTP{}} }
	a, b, x := own(1), own(2), other(3)
	for name, c := range map[string]struct {
		before, now []farm.Farm
		want        bool
	}{
		"nothing":                {nil, nil, false},
		"all stay":               {[]farm.Farm{a, x}, []farm.Farm{a, x}, false},
		"they move":              {[]farm.Farm{a, x, b}, []farm.Farm{b, a, x}, false},
		"one changes":            {[]farm.Farm{a, x}, []farm.Farm{own(1), x}, true},
		"one is new":             {[]farm.Farm{a}, []farm.Farm{a, b}, true},
		"one is gone":            {[]farm.Farm{a, b}, []farm.Farm{a}, true},
		"another kind changes":   {[]farm.Farm{a, x}, []farm.Farm{a, other(3)}, false},
		"another kind is new":    {[]farm.Farm{a}, []farm.Farm{a, x}, false},
		"another kind is gone":   {[]farm.Farm{a, x}, []farm.Farm{a}, false},
		"one becomes another":    {[]farm.Farm{a}, []farm.Farm{other(1)}, true},
		"another becomes of its": {[]farm.Farm{other(1)}, []farm.Farm{a}, true},
	} {
		is := func(f *farm.Farm) bool { return f.L4 != nil }
		if got := engine.Changed(&farm.Config{Farms: c.now}, c.before, is); got != c.want {
			t.Errorf("%s: got %t, want %t", name, got, c.want)
		}
	}
}
