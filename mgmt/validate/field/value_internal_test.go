package field

import (
	"fmt"
	"strings"
	"testing"
)

// Values are equal only if all their parts are.
func TestValuesAreEqualInAllTheyAre(t *testing.T) {
	values := []Value{{}, TextValue(""), TextValue("a"), TextValue("0"), NumberValue(0), NumberValue(1), BoolValue(false), BoolValue(true), ListValue(nil), ListValue([]string{"a"}), ListValue([]string{"a", "b"}), ListValue([]string{"b", "a"})}
	for i, a := range values {
		for j, b := range values {
			if a.Equal(b) != (i == j) {
				t.Errorf("%v and %v are equal: %t", a, b, i != j)
			}
		}
		if nothing := i == 0 || i == 1 || i == 8; a.IsNothing() != nothing || a.isBlankText() != (i == 1) ||
			a.Null() != (i == 0) || a.IsText() != (i >= 1 && i <= 3) || a.IsList() != (i >= 8) {
			t.Errorf("%d: %+v", i, a)
		}
	}
	for want, v := range map[string]Value{"null": {}, "a, b": ListValue([]string{"a", "b"}), "x": TextValue("x"), "-3": NumberValue(-3), "true": BoolValue(true), "false": BoolValue(false), "": ListValue(nil)} {
		if got := v.words(); got != want {
			t.Errorf("%+v is written %q, want %q", v, got, want)
		}
	}
	if got := fmt.Sprintf("%#v %#v %#v", ListValue(nil).Any(), BoolValue(true).Any(), Value{}.Any()); got != `[]string{} "true" <nil>` {
		t.Errorf("as JSON: %s", got)
	}
}

func TestTimesMayHaveTheirUnit(t *testing.T) {
	for _, c := range []struct {
		text, unit string
		want       int64
		ok         bool
	}{
		{"5s", Seconds, 5, true}, {"2m", Seconds, 120, true}, {"1h30m", Seconds, 5400, true}, {"1d", Seconds, 86400, true}, {"5000ms", Seconds, 5, true},
		{"500ms", Seconds, 0, false}, {"1.5s", Seconds, 0, false}, {"-5s", Seconds, 0, false}, {"5", Seconds, 0, false}, {"5x", Seconds, 0, false}, {"s", Seconds, 0, false},
		{"2h", Minutes, 120, true}, {"90s", Minutes, 0, false}, {"7d", Days, 7, true}, {"48h", Days, 2, true}, {"99999999999999d", Days, 0, false},
		{"5s", Bytes, 0, false}, {"5s", "", 0, false},
	} {
		if got, ok := parseTime(c.text, c.unit); got != c.want || ok != c.ok {
			t.Errorf("%q in %q: %d, %v; want %d, %v", c.text, c.unit, got, ok, c.want, c.ok)
		}
	}
}

func TestRangeErrorsNameTheUnit(t *testing.T) {
	r := Rule{Name: "contimeout", Kind: Number, Min: 1, Max: 120, Hints: Basic(AtTimeouts, "x").In(Seconds)}
	if v, err := r.Parse("", "5s"); err != nil || v.number != 5 {
		t.Errorf("5s: %v, %v", v, err)
	}
	for _, raw := range []any{0, "0s", "3m", "500ms"} {
		if _, err := r.Parse("", raw); err == nil || !strings.Contains(err.Error(), "must be a number from 1 to 120 (seconds), got") {
			t.Errorf("%v: %v", raw, err)
		}
	}
}
