package validate

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/field"
)

// A bound itself is accepted and one beyond it is rejected, for all fields.
func TestEveryBoundIsTheLastValueThatIsTaken(t *testing.T) {
	eachTable(t, func(t *testing.T, table any) {
		each(table, func(r *field.Rule, _ func(string) *field.Rule, _ bool) {
			try := func(v any, want string) {
				t.Helper()
				got := ""
				if _, err := r.Parse("", v); err != nil {
					got = err.Message
				}
				if got != want {
					t.Errorf("%s %.50v: got  %s\nwant %s", r.Name, v, got, want)
				}
			}
			switch {
			case r.Values != nil:
				return
			case r.Kind == field.Number:
				try(r.Min, "")
				try(r.Max, "")
				try(r.Min-1, fmt.Sprintf("%s must be %s, got %d", r.Name, r.Allowed(), r.Min-1))
				beyond := r.Allowed()
				if r.Max == field.Unbounded { // unbounded, so allowed does not state it
					beyond = fmt.Sprintf("at most %d", r.Max)
				}
				try(r.Max+1, fmt.Sprintf("%s must be %s, got %d", r.Name, beyond, r.Max+1))
			case r.Kind == field.Text:
				try(strings.Repeat("a", r.Longest()+1), fmt.Sprintf("%s must be at most %d bytes long, got %d", r.Name, r.Longest(), r.Longest()+1))
			case r.Kind == field.List:
				try(make([]string, r.Max+1), fmt.Sprintf("%s may have at most %d items, got %d", r.Name, r.Max, r.Max+1))
				try(make([]string, r.Max), fmt.Sprintf("%s must be %s, item 0 is blank", r.Name, r.Allowed()))
			}
		})
	})
}

// A number may have any notation. A fraction is rejected by every integer field.
func TestEveryNumberMayBeWrittenWithAPoint(t *testing.T) {
	tried := 0
	eachTable(t, func(t *testing.T, table any) {
		each(table, func(r *field.Rule, _ func(string) *field.Rule, _ bool) {
			if r.Kind != field.Number || r.Values != nil {
				return
			}
			tried++
			low := strconv.FormatInt(r.Min, 10)
			for _, raw := range []any{json.Number(low + ".0"), low + ".00", float64(r.Min)} {
				if v, err := r.Parse("", raw); err != nil || v.Number() != r.Min {
					t.Errorf("%s %v: %v %v", r.Name, raw, v, err)
				}
			}
			want := fmt.Sprintf("%s must be a whole number, got %s.5: %s", r.Name, low, r.Allowed())
			for _, raw := range []any{json.Number(low + ".5"), float64(r.Min) + 0.5} {
				if _, err := r.Parse("", raw); err == nil || err.Message != want {
					t.Errorf("%s %v: %v\nwant %s", r.Name, raw, err, want)
				}
			}
			if _, err := r.Parse("", low+".5"); err == nil || !strings.Contains(err.Message, "must be a whole number") {
				t.Errorf("%s %s.5 as text: %v", r.Name, low, err)
			}
		})
	})
	if tried < 50 {
		t.Errorf("only %d were tried", tried)
	}
}

// The number of farms is limited by the number of IDs.
func TestFarmsAreBounded(t *testing.T) {
	cfg := &farm.Config{}
	for i := range farm.MaxFarmID {
		cfg.Farms = append(cfg.Farms, farm.Farm{Name: fmt.Sprint("f", i), Stopped: true})
	}
	told := func() (out []string) {
		checkTogether(cfg, func(e field.Error) bool { out = append(out, e.Error()); return true })
		return out
	}
	if got := told(); got != nil {
		t.Errorf("%d farms: %q", len(cfg.Farms), got)
	}
	cfg.Farms = append(cfg.Farms, farm.Farm{Name: "f0", Stopped: true})
	want := fmt.Sprintf("farms: at most %d are possible, got %d", farm.MaxFarmID, farm.MaxFarmID+1)
	if got := told(); len(got) != 2 || got[0] != want || got[1] != `farm "f0": name must be unique, a farm "f0" exists already` {
		t.Errorf("%d farms: %q", len(cfg.Farms), got)
	}
}
