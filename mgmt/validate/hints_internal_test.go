package validate

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/httpfarm"
	"github.com/sluicelb/sluice/mgmt/validate/l4farm"
)

// Every field has all hints that a form needs.
func TestEveryRuleHasItsHints(t *testing.T) {
	eachTable(t, func(t *testing.T, table any) {
		labels := map[string]string{}
		each(table, func(r *field.Rule, _ func(string) *field.Rule, readable bool) {
			if r.Section == "" || r.Label == "" || r.Cost == "" || r.About == "" {
				t.Errorf("%s lacks a hint: %+v", r.Name, r.Hints)
			}
			if !readable {
				return // older names of fields
			}
			if other := labels[string(r.Section)+r.Label]; other != "" {
				t.Errorf("%s and %s are both called %s in %s", other, r.Name, r.Label, r.Section)
			}
			labels[string(r.Section)+r.Label] = r.Name
			if seconds := strings.Contains(r.About, " in seconds"); seconds != (r.Unit == field.Seconds) {
				t.Errorf("%s has the unit %q, and its text is: %s", r.Name, r.Unit, r.About)
			}
			if r.Unit != "" && r.Kind != field.Number {
				t.Errorf("%s has the unit %s, and is no number", r.Name, r.Unit)
			}
		})
	})
}

// The default of a field is a valid value.
func TestDefaultsKeepTheirRule(t *testing.T) {
	eachTable(t, func(t *testing.T, table any) {
		each(table, func(r *field.Rule, _ func(string) *field.Rule, _ bool) {
			v := r.ByDefault()
			if v.IsNothing() || r.Required || v.Equal(field.ZeroValue(v.Kind())) || r.Kind == field.Number && v.Number() < 0 {
				return
			}
			if _, isWord := r.Normalize[v.Text()]; isWord {
				return
			}
			if v.Kind() != r.Kind {
				t.Errorf("%s is of kind %d, its default %s of kind %d", r.Name, r.Kind, v, v.Kind())
			}
			if err := r.Verify("", v); err != nil {
				t.Errorf("the default of %s: %v", r.Name, err)
			}
		})
	})
}

// The description of a field states its default and condition, and its rule text does not
// repeat them.
func TestDefaultsAndConditionsAreSaidOnce(t *testing.T) {
	eachTable(t, func(t *testing.T, table any) {
		each(table, func(r *field.Rule, _ func(string) *field.Rule, _ bool) {
			v := r.ByDefault()
			if said := fmt.Sprintf("%s when unset", v); !v.IsNothing() && strings.Contains(strings.ToLower(r.About), said) {
				t.Errorf("%s repeats its default in the text: %s", r.Name, r.About)
			}
			if r.Only != nil && strings.Contains(r.About, "Only with") {
				t.Errorf("%s repeats its condition in the text: %s", r.Name, r.About)
			}
		})
	})
	for _, p := range slices.Concat(httpfarm.ServiceUpdate.Params(), l4farm.Answer.Params()) {
		if strings.Contains(p.Description, "Default: -") {
			t.Errorf("%s has a default that cannot be sent: %s", p.Name, p.Description)
		}
	}
	for name, want := range map[string]string{
		"queue_timeout": "Maximum time a request waits in the queue, in seconds. Default: 5. Only while queue is not 0.",
		"redirecttype":  "Redirect target: append adds the request path to redirect, default uses redirect unchanged. Default: default. Only with redirect.",
		"slowstart":     "Not used by CONSISTENT_HASH.",
	} {
		params := httpfarm.ServiceUpdate.Params()
		i := slices.IndexFunc(params, func(p field.Param) bool { return p.Name == name })
		if got := params[i].Description; !strings.HasSuffix(got, want) {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
