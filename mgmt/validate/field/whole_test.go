package field_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/sluicelb/sluice/mgmt/validate/field"
)

func TestAWholeNumberIsOneHoweverItIsWritten(t *testing.T) {
	for written, want := range map[string]string{
		"5": "5", "5.0": "5", "5.000": "5", "5e0": "5", "50e-1": "5", "0.5E1": "5", "0.005e+3": "5", "500e-2": "5", "-5.0": "-5", "5e2": "500",
		"0.0": "0", "0e9": "0", "-0.0": "0", "0e99999999999999999999": "0", "10.0": "10", "100.10e1": "1001", "9223372036854775807.0": "9223372036854775807",
		"1e18": "1000000000000000000", "1e18.5": "1e18.5",
		// not integral, or too long
		"5.5": "5.5", "5e-1": "5e-1", "0.1": "0.1", "1e19": "1e19", "1e400": "1e400", "1e99999999999999999999": "1e99999999999999999999", "1e-99999999999999999999": "1e-99999999999999999999",
		// not JSON numbers
		"": "", "x": "x", "5.": "5.", ".5": ".5", "+5.0": "+5.0", "0x10": "0x10", "5.0 ": "5.0 ",
	} {
		if got := field.Whole(json.Number(written)); got != want {
			t.Errorf("%q: %q, want %q", written, got, want)
		}
	}
}

func TestNumbersAreReadFromTextsAndJSON(t *testing.T) {
	for _, c := range []struct {
		raw  any
		want int64
		ok   bool
	}{
		{json.Number("5.0"), 5, true}, {json.Number("1e3"), 1000, true}, {json.Number("5.5"), 0, false}, {json.Number("1e19"), 0, false}, {json.Number("9223372036854775807.0"), math.MaxInt64, true},
		{"5", 5, true}, {"5.0", 5, true}, {"007.00", 7, true}, {"5.5", 0, false}, {"5.", 0, false}, {".0", 0, false}, {"1e3", 0, false}, {"+5.0", 0, false}, {"5.0.0", 0, false}, {"5.0x", 0, false}, {"", 0, false},
		{5.0, 5, true}, {5.5, 0, false}, {math.NaN(), 0, false}, {int64(5), 5, true}, {true, 0, false}, {nil, 0, false},
	} {
		if got, ok := field.ParseNumber(c.raw); ok != c.ok || ok && got != c.want {
			t.Errorf("%#v: %d %v, want %d %v", c.raw, got, ok, c.want, c.ok)
		}
	}
}
