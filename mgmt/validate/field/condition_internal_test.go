package field

import (
	"testing"
)

// chained is an object whose c needs b, which needs a.
type chained struct{ a, b, c int64 }

// Clearing a field clears dependent fields, also indirectly.
func TestClearingAFieldClearsItsDependents(t *testing.T) {
	number := func(name string, needs *Condition, at func(*chained) *int64) Field[chained] {
		return Field[chained]{Rule: Rule{Name: name, Kind: Number, Max: 9, Null: true, Only: needs},
			Get: func(c *chained) Value { return NumberValue(*at(c)) }, Set: func(c *chained, v Value) { *at(c) = v.number }}
	}
	table := Table[chained]{Fields: []Field[chained]{
		number("a", nil, func(c *chained) *int64 { return &c.a }),
		number("b", With("a"), func(c *chained) *int64 { return &c.b }),
		number("c", With("b"), func(c *chained) *int64 { return &c.c }),
	}}
	c := chained{1, 2, 3}
	values, err := table.Decode("", map[string]any{"a": nil})
	if err != nil || values.Apply(&c) != nil || c != (chained{}) {
		t.Errorf("without a there is %+v (%v)", c, err)
	}
}
