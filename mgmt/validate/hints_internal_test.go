package validate

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// Every field has all hints that a form needs.
func TestEveryRuleHasItsHints(t *testing.T) {
	eachTable(t, func(t *testing.T, table any) {
		labels := map[string]string{}
		each(table, func(r *rule, _ func(string) *rule, readable bool) {
			if r.section == "" || r.label == "" || r.cost == "" || r.about == "" {
				t.Errorf("%s lacks a hint: %+v", r.name, r.hints)
			}
			if !readable {
				return // older names of fields
			}
			if other := labels[string(r.section)+r.label]; other != "" {
				t.Errorf("%s and %s are both called %s in %s", other, r.name, r.label, r.section)
			}
			labels[string(r.section)+r.label] = r.name
			if seconds := strings.Contains(r.about, " in seconds"); seconds != (r.unit == inSeconds) {
				t.Errorf("%s has the unit %q, and its text is: %s", r.name, r.unit, r.about)
			}
			if r.unit != "" && r.kind != kindNumber {
				t.Errorf("%s has the unit %s, and is no number", r.name, r.unit)
			}
		})
	})
}

// The default of a field is a valid value.
func TestDefaultsKeepTheirRule(t *testing.T) {
	eachTable(t, func(t *testing.T, table any) {
		each(table, func(r *rule, _ func(string) *rule, _ bool) {
			v := r.byDefault()
			if v.isNothing() || r.required || v.equal(zeroValue(v.kind)) || r.kind == kindNumber && v.number < 0 {
				return
			}
			if _, isWord := r.normalize[v.text]; isWord {
				return
			}
			if v.kind != r.kind {
				t.Errorf("%s is of kind %d, its default %s of kind %d", r.name, r.kind, v, v.kind)
			}
			if err := r.verify("", v); err != nil {
				t.Errorf("the default of %s: %v", r.name, err)
			}
		})
	})
}

// The description of a field states its default and condition, and its rule text does not
// repeat them.
func TestDefaultsAndConditionsAreSaidOnce(t *testing.T) {
	eachTable(t, func(t *testing.T, table any) {
		each(table, func(r *rule, _ func(string) *rule, _ bool) {
			v := r.byDefault()
			if said := fmt.Sprintf("%s when unset", v); !v.isNothing() && strings.Contains(strings.ToLower(r.about), said) {
				t.Errorf("%s repeats its default in the text: %s", r.name, r.about)
			}
			if r.only != nil && strings.Contains(r.about, "Only with") {
				t.Errorf("%s repeats its condition in the text: %s", r.name, r.about)
			}
		})
	})
	for _, p := range slices.Concat(ServiceUpdate.Params(), L4FarmAnswer.Params()) {
		if strings.Contains(p.Description, "Default: -") {
			t.Errorf("%s has a default that cannot be sent: %s", p.Name, p.Description)
		}
	}
	for name, want := range map[string]string{
		"queue_timeout": "Maximum time a request waits in the queue, in seconds. Default: 5. Only while queue is not 0.",
		"redirecttype":  "Redirect target: append adds the request path to redirect, default uses redirect unchanged. Default: default. Only with redirect.",
		"slowstart":     "Not used by CONSISTENT_HASH.",
	} {
		params := ServiceUpdate.Params()
		i := slices.IndexFunc(params, func(p Param) bool { return p.Name == name })
		if got := params[i].Description; !strings.HasSuffix(got, want) {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
