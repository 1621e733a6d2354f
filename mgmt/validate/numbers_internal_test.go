package validate

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
)

// A bound itself is accepted and one beyond it is rejected, for all fields.
func TestEveryBoundIsTheLastValueThatIsTaken(t *testing.T) {
	eachTable(t, func(t *testing.T, table any) {
		each(table, func(r *rule, _ func(string) *rule, _ bool) {
			try := func(v any, want string) {
				t.Helper()
				got := ""
				if _, err := r.parse("", v); err != nil {
					got = err.Message
				}
				if got != want {
					t.Errorf("%s %.50v: got  %s\nwant %s", r.name, v, got, want)
				}
			}
			switch {
			case r.values != nil:
				return
			case r.kind == kindNumber:
				try(r.min, "")
				try(r.max, "")
				try(r.min-1, fmt.Sprintf("%s must be %s, got %d", r.name, r.allowed(), r.min-1))
				beyond := r.allowed()
				if r.max == maxUnbounded { // unbounded, so allowed does not state it
					beyond = fmt.Sprintf("at most %d", r.max)
				}
				try(r.max+1, fmt.Sprintf("%s must be %s, got %d", r.name, beyond, r.max+1))
			case r.kind == kindText:
				try(strings.Repeat("a", r.longest()+1), fmt.Sprintf("%s must be at most %d bytes long, got %d", r.name, r.longest(), r.longest()+1))
			case r.kind == kindList:
				try(make([]string, r.max+1), fmt.Sprintf("%s may have at most %d items, got %d", r.name, r.max, r.max+1))
				try(make([]string, r.max), fmt.Sprintf("%s must be %s, item 0 is blank", r.name, r.allowed()))
			}
		})
	})
}

// A number may have any notation. A fraction is rejected by every integer field.
func TestEveryNumberMayBeWrittenWithAPoint(t *testing.T) {
	tried := 0
	eachTable(t, func(t *testing.T, table any) {
		each(table, func(r *rule, _ func(string) *rule, _ bool) {
			if r.kind != kindNumber || r.values != nil {
				return
			}
			tried++
			low := strconv.FormatInt(r.min, 10)
			for _, raw := range []any{json.Number(low + ".0"), low + ".00", float64(r.min)} {
				if v, err := r.parse("", raw); err != nil || v.Number() != r.min {
					t.Errorf("%s %v: %v %v", r.name, raw, v, err)
				}
			}
			want := fmt.Sprintf("%s must be a whole number, got %s.5: %s", r.name, low, r.allowed())
			for _, raw := range []any{json.Number(low + ".5"), float64(r.min) + 0.5} {
				if _, err := r.parse("", raw); err == nil || err.Message != want {
					t.Errorf("%s %v: %v\nwant %s", r.name, raw, err, want)
				}
			}
			if _, err := r.parse("", low+".5"); err == nil || !strings.Contains(err.Message, "must be a whole number") {
				t.Errorf("%s %s.5 as text: %v", r.name, low, err)
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
		checkTogether(cfg, func(e Error) bool { out = append(out, e.Error()); return true })
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
