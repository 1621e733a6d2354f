package rules_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel/rules"
)

// In names of backends the first letter is the state, usable (u), down (d), draining (m) or
// cut (c), and the number the priority.
func TestBackendStateDeterminesChoice(t *testing.T) {
	for _, c := range []struct{ backends, known, chosen, first, spare string }{
		{"u1 u1 u1", "012", "012", "0", "12"},
		{"u1 d1 m1 c1", "02", "0", "0", ""},
		{"u1 u2 u3", "012", "0", "0", ""},
		{"d1 u2 u3", "12", "1", "1", ""},
		{"d1 d1 u2 u3 u4", "234", "23", "2", "3"},
		{"u1 d1 u3 u2", "023", "03", "0", "3"},
		{"c1 m1 d3 u3", "13", "3", "3", ""},
		{"u2 u2", "01", "", "", ""},
		{"d1 u2 u2", "12", "12", "1", "2"},
		{"d1 d2 u3 u2", "23", "23", "3", "2"},
		{"d1 d1", "", "", "", ""},
	} {
		l, down := farm.DefaultL4(), map[uint32]bool{}
		for i, text := range strings.Fields(c.backends) {
			b := farm.Backend{ID: uint32(i), Priority: text[1] - '0'}
			switch text[0] {
			case 'd':
				down[b.ID] = true
			case 'm':
				b.Maintenance = farm.MaintenanceDrain
			case 'c':
				b.Maintenance = farm.MaintenanceCut
			}
			l.Backends = append(l.Backends, b)
		}
		in := &rules.Input{Usable: func(id uint32) bool { return !down[id] }}
		known, chosen := "", ""
		for _, s := range in.States(l) {
			if s.Known {
				known += fmt.Sprint(s.ID)
			}
			if s.Chosen {
				chosen += fmt.Sprint(s.ID)
			}
		}
		l.Algorithm = farm.L4Priority
		first, spare := "", ""
		for _, s := range in.States(l) {
			if s.Chosen {
				first += fmt.Sprint(s.ID)
			}
			if s.Spare {
				spare += fmt.Sprint(s.ID)
			}
		}
		if known != c.known || chosen != c.chosen || first != c.first || spare != c.spare {
			t.Errorf("%s: known %q, chosen %q, by priority %q, spare %q; want %q, %q, %q, %q", c.backends, known, chosen, first, spare, c.known, c.chosen, c.first, c.spare)
		}
	}
}

func TestWithoutHealthAllBackendsAreUsable(t *testing.T) {
	l := farm.DefaultL4()
	l.Backends = []farm.Backend{{ID: 1}}
	if s := (&rules.Input{}).States(l); !s[0].Known || !s[0].Chosen {
		t.Errorf("%+v", s[0])
	}
}
