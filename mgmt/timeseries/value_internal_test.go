package timeseries

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestValuesAreRoundedByAThousandthAtMost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Float64Range(1e-6, 1.7e13).Draw(t, "value")
		if got := decode(encode(v)); math.Abs(got-v) > v/2048 {
			t.Errorf("%g is read as %g", v, got)
		}
	})
	for _, c := range []struct{ in, want float64 }{
		{0, 0}, {-1, 0}, {1e-9, 0}, {math.SmallestNonzeroFloat64, 0}, {1, 1}, {2047, 2047}, {2049, 2050}, {0.5, 0.5},
		{math.Inf(1), decode(largest)}, {1e300, decode(largest)}, {math.Inf(-1), 0},
	} {
		if got := decode(encode(c.in)); got != c.want {
			t.Errorf("%g is read as %g, want %g", c.in, got, c.want)
		}
	}
	if encode(math.NaN()) != unknown || !math.IsNaN(decode(unknown)) || decode(largest) < 1.7e13 {
		t.Errorf("an unknown value is %d, and the largest %g", encode(math.NaN()), decode(largest))
	}
	for code := 1; code < unknown; code++ {
		if got := encode(decode(uint16(code))); got != uint16(code) {
			t.Fatalf("%d becomes %d", code, got)
		}
	}
}

func FuzzDecodeHeader(f *testing.F) {
	f.Add(encodeHeader([]column{{name: "requests"}, {name: "p99", kind: Max, since: 1 << 40}}))
	f.Add(encodeHeader(nil))
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, b []byte) {
		columns, err := decodeHeader(b)
		if err != nil {
			return
		}
		again, err := decodeHeader(encodeHeader(columns))
		if err != nil || len(again) != len(columns) {
			t.Errorf("%d columns become %d, %v", len(columns), len(again), err)
		}
	})
}
