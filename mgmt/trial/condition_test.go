package trial_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/mgmt/trial"
)

func TestConditionsAreParsed(t *testing.T) {
	for text, want := range map[string]trial.Spec{
		"errors<1%":                   {Window: 10 * time.Minute, Conditions: []trial.Condition{{Metric: trial.Errors, Below: true, Bound: 0.01}}},
		" p99 <= 200ms , 2m , all":    {Window: 2 * time.Minute, All: true, Conditions: []trial.Condition{{Metric: trial.P99, Below: true, Equal: true, Bound: 0.2}}},
		"errors<=0.5%,backends_up>=2": {Window: 10 * time.Minute, Conditions: []trial.Condition{{Metric: trial.Errors, Below: true, Equal: true, Bound: 0.005}, {Metric: trial.BackendsUp, Equal: true, Bound: 2}}},
		"requests>100,p50<1s,24h":     {Window: 24 * time.Hour, Conditions: []trial.Condition{{Metric: trial.Requests, Bound: 100}, {Metric: trial.P50, Below: true, Bound: 1}}},
		"errors<100%,10s":             {Window: 10 * time.Second, Conditions: []trial.Condition{{Metric: trial.Errors, Below: true, Bound: 1}}},
	} {
		got, err := trial.Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		for i := range got.Conditions {
			if !strings.Contains(strings.ReplaceAll(text, " ", ""), got.Conditions[i].String()) {
				t.Errorf("%s: a condition is called %s", text, got.Conditions[i])
			}
		}
		if !same(got, want) {
			t.Errorf("%s: %+v, want %+v", text, got, want)
		}
		again, err := trial.Parse(got.Text())
		if again.Window = got.Window; err != nil || !reflect.DeepEqual(again, got) {
			t.Errorf("%s: written as %s, which is %+v (%v)", text, got.Text(), again, err)
		}
	}
}

// same compares everything except the written texts of conditions.
func same(x, y trial.Spec) bool {
	if len(x.Conditions) != len(y.Conditions) || x.Window != y.Window || x.All != y.All {
		return false
	}
	for i, a := range x.Conditions {
		b := y.Conditions[i]
		if a.Metric != b.Metric || a.Below != b.Below || a.Equal != b.Equal || a.Bound != b.Bound {
			return false
		}
	}
	return true
}

func TestInvalidConditionsAreRefusedWithAllowedValues(t *testing.T) {
	for text, want := range map[string]string{
		"":                             "nothing between two commas, or at all",
		"errors<1%,,p99<1s":            "nothing between two commas",
		"10m":                          "no condition is given",
		"all":                          "no condition is given",
		"errors<1%,1m,2m":              "2m is a second window",
		"errors<1%,9s":                 "from 10s to 24h0m0s, got 9s",
		"errors<1%,25h":                "from 10s to 24h0m0s, got 25h0m0s",
		"errors<1%,-1m":                "from 10s to 24h0m0s, got -1m0s",
		"errors<1%,errors<2%":          "errors comes twice",
		"quick":                        `"quick" is neither a condition nor a time`,
		"speed<1":                      `"speed" is not known, allowed are errors, p50`,
		"errors>1%":                    `allowed are < and <=, got ">"`,
		"errors==1%":                   `allowed are < and <=, got "=="`,
		"backends_up<2":                `allowed are >= and >, got "<"`,
		"errors<1":                     `"1" is not a share`,
		"errors<101%":                  `"101%" is not a share`,
		"errors<-1%":                   `"-1%" is not a share`,
		"errors<NaN%":                  `"NaN%" is not a share`,
		"errors<1e1%":                  `"1e1%" is not a share`,
		"errors<":                      `"" is not a share`,
		"p99<200":                      `"200" is not a time up to 1h0m0s`,
		"p99<0s":                       `"0s" is not a time`,
		"p99<61m":                      `"61m" is not a time`,
		"backends_up>=two":             `"two" is not a number up to`,
		"requests>=1000000001":         `is not a number up to 1000000000`,
		"requests>=-1":                 `"-1" is not a number`,
		strings.Repeat("errors", 1000): "6000 bytes are too many, allowed are 512",
	} {
		if _, err := trial.Parse(text); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "guard: ") {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"errors<1%,p99<200ms,backends_up>=2,10m", "requests>=100,all", "p50<=1h", "errors<0.5%,", "p99<1e3s", "errors<١%"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := trial.Parse(text)
		if err != nil {
			return
		}
		if s.Window < trial.LeastWindow || s.Window > trial.MostWindow || len(s.Conditions) == 0 {
			t.Errorf("%q: %+v", text, s)
		}
		for _, c := range s.Conditions {
			if !(c.Bound >= 0) || c.Metric == trial.Errors && c.Bound > 1 {
				t.Errorf("%q: bound %v", text, c.Bound)
			}
		}
		again, err := trial.Parse(s.Text())
		if again.Window = s.Window; err != nil || !reflect.DeepEqual(again, s) {
			t.Errorf("%q: written as %q, which is %+v (%v)", text, s.Text(), again, err)
		}
	})
}
