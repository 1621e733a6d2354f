package validate_test

import (
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate"
)

func TestASplitIsAWeightEvenWhenItIsZero(t *testing.T) {
	t.Parallel()
	s := farm.Service{}
	for body, want := range map[string]int{`{"split":0}`: 0, `{"split":"100"}`: 100, `{"split":5}`: 5, `{"split":null}`: -1, `{"split":""}`: -1} {
		v, err := change(t, &validate.ServiceUpdate, &s, body)
		got := -1
		if s.Split != nil {
			got = int(*s.Split)
		}
		if err != nil || got != want {
			t.Errorf("%s: %d, %v", body, got, err)
		}
		given := false
		for name := range validate.ServiceDocument.Given(&s) {
			given = given || name == "split"
		}
		if given != (want >= 0) {
			t.Errorf("%s: a document has it: %v", body, given)
		}
		if want < 0 && sent(v, "split") != "null" {
			t.Errorf("%s: the answer says %s", body, sent(v, "split"))
		}
	}
	for _, body := range []string{`{"split":101}`, `{"split":-1}`, `{"split":"5%"}`} {
		if _, err := change(t, &validate.ServiceUpdate, &s, body); err == nil || !strings.Contains(err.Error(), "split must be a number from 0 to 100, got ") {
			t.Errorf("%s: %v", body, err)
		}
	}
}

func TestASplitWithoutNeighbourIsWarnedOf(t *testing.T) {
	t.Parallel()
	n := uint8(5)
	for splits, want := range map[string]string{"x": "a", "xx": "", "x-": "a", "-xx": "", "x-x": "a c", "xx-x": "d", "-": ""} {
		h := &farm.HTTP{}
		for i, c := range splits {
			s := farm.Service{Name: string(rune('a' + i))}
			if c == 'x' {
				s.Split = &n
			}
			h.Services = append(h.Services, s)
		}
		var got []string
		for _, w := range validate.Warnings(&farm.Config{Farms: []farm.Farm{{Name: "f", HTTP: h}}}) {
			got = append(got, strings.Trim(strings.TrimPrefix(w.Path, `farm "f" service `), `"`))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: warned of %v, want %s", splits, got, want)
		}
	}
}
