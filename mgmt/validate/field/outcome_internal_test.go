package field

import (
	"fmt"
	"slices"
	"testing"
)

// switched is an object whose value needs its switch.
type switched struct {
	on    bool
	value int64
}

// switchedTable declares that value needs on, with that outcome.
func switchedTable(missing Outcome) *Table[switched] {
	return &Table[switched]{Fields: []Field[switched]{
		{Rule: Rule{Name: "on", Kind: Bool},
			Get: func(s *switched) Value { return BoolValue(s.on) }, Set: func(s *switched, v Value) { s.on = v.Bool() }},
		{Rule: Rule{Name: "value", Kind: Number, Max: 9, Null: true, Only: With("on").Else(missing)},
			Get: func(s *switched) Value { return NumberValue(s.value) },
			Set: func(s *switched, v Value) { s.value = v.number }},
	}}
}

// use applies a body to an object and returns the object, or the error.
func use(t *testing.T, table *Table[switched], s switched, body map[string]any) string {
	t.Helper()
	values, err := table.Decode("", body)
	if err == nil {
		err = values.Apply(&s)
	}
	if err != nil {
		return "refused"
	}
	return fmt.Sprint(s)
}

func TestOutcomesOfConditions(t *testing.T) {
	for outcome, want := range map[Outcome]struct{ set, end, verify, warned string }{
		Reject:      {"refused", "{false 0}", "refused", "[]"},
		RejectBoth:  {"refused", "{false 5}", "refused", "[]"},
		WarnAndDrop: {"{false 5}", "{false 0}", "accepted", "[value]"},
		Drop:        {"{false 5}", "{false 0}", "accepted", "[]"},
		WarnAndKeep: {"{false 5}", "{false 5}", "accepted", "[value]"},
		Keep:        {"{false 5}", "{false 5}", "accepted", "[]"},
	} {
		table := switchedTable(outcome)
		if got := use(t, table, switched{}, map[string]any{"value": 5}); got != want.set {
			t.Errorf("outcome %d, value without on: got %s, want %s", outcome, got, want.set)
		}
		if got := use(t, table, switched{on: true, value: 5}, map[string]any{"on": "false"}); got != want.end {
			t.Errorf("outcome %d, end of on: got %s, want %s", outcome, got, want.end)
		}
		idle := &switched{value: 5}
		verdict := "accepted"
		table.Verify("", idle, nil, func(Error) bool { verdict = "refused"; return true })
		if verdict != want.verify {
			t.Errorf("outcome %d, a stored value without on: got %s, want %s", outcome, verdict, want.verify)
		}
		var warned []string
		table.IdleWarnings(idle, nil, func(field, _ string) { warned = append(warned, field) })
		if fmt.Sprint(warned) != want.warned {
			t.Errorf("outcome %d: got warnings about %v, want %s", outcome, warned, want.warned)
		}
		with := &switched{on: true, value: 5}
		table.Verify("", with, nil, func(e Error) bool { t.Errorf("outcome %d, value with on: %v", outcome, e); return true })
		if got := use(t, table, switched{on: true}, map[string]any{"value": 5}); got != "{true 5}" {
			t.Errorf("outcome %d, value with on: got %s, want {true 5}", outcome, got)
		}
	}
}

// A value that outlives its condition can be cleared while the condition is not met.
func TestKeptValuesCanBeCleared(t *testing.T) {
	for _, outcome := range []Outcome{RejectBoth, WarnAndKeep, Keep} {
		if got := use(t, switchedTable(outcome), switched{value: 5}, map[string]any{"value": nil}); got != "{false 0}" {
			t.Errorf("outcome %d: got %s, want {false 0}", outcome, got)
		}
	}
}

func TestConditionAboutTheContainerUsesTheLookup(t *testing.T) {
	table := switchedTable(Reject)
	table.Fields[1].Only.Of("farm")
	for _, on := range []bool{false, true} {
		in := func(name string) *Subject {
			rule := table.Fields[0].Rule
			return &Subject{Rule: &rule, now: BoolValue(on)}
		}
		var refused []string
		table.Verify("", &switched{value: 5}, in, func(e Error) bool { refused = append(refused, e.Field); return true })
		if on != (len(refused) == 0) || !on && !slices.Equal(refused, []string{"value"}) {
			t.Errorf("on %v in the farm: got %v refused", on, refused)
		}
	}
}
