package claim_test

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/sysnet/claim"
	"github.com/sluicelb/sluice/sysnet/sysnettest"
)

func none(claim.Slot) bool { return false }

func TestSlotsNameDifferentThings(t *testing.T) {
	seen := map[any]claim.Slot{}
	for s := range claim.Slot(claim.Slots) {
		for _, name := range []any{s.Table(), s.Chains(), s.Mark()} {
			if other, twice := seen[name]; twice {
				t.Errorf("slots %s and %s share %v", s, other, name)
			}
			seen[name] = s
		}
		if s.Mark()&claim.MarkMask != claim.FirstMark || s.Mark()&claim.OwnMask != s.Mark() || !claim.IsTable(s.Table()) {
			t.Errorf("slot %s: mark %#x, table %s", s, s.Mark(), s.Table())
		}
		if got, err := claim.Parse(s.String() + "\n"); err != nil || got != s {
			t.Errorf("slot %s is read as %s, %v", s, got, err)
		}
	}
	if first := claim.Slot(0); first.Table() != "sluice" || first.Chains() != "SLUICE" || first.Mark() != 0x5c000000 {
		t.Errorf("the only one has %s, %s, %#x", first.Table(), first.Chains(), first.Mark())
	}
	for _, text := range []string{"", "-1", "16", "a"} {
		if s, err := claim.Parse(text); err == nil {
			t.Errorf("%q is slot %s", text, s)
		}
	}
	for _, name := range []string{"sluice_16", "sluice-1", "sluice_", "filter"} {
		if claim.IsTable(name) {
			t.Errorf("%s is recognised as a table of an instance", name)
		}
	}
}

func TestSlotsAreTriedInOrder(t *testing.T) {
	had := claim.Slot(7)
	full := func(s claim.Slot) bool { return s != 5 }
	for name, c := range map[string]struct {
		had   *claim.Slot
		only  bool
		used  func(claim.Slot) bool
		first claim.Slot
	}{
		"alone":               {nil, true, none, 0},
		"had one":             {&had, true, none, 7},
		"had one with rules":  {&had, false, full, 7},
		"alone with rules":    {nil, true, full, 0},
		"rules in all others": {nil, false, full, 5},
	} {
		got := claim.Order(c.had, c.only, "/a", c.used)
		sorted := slices.Sorted(slices.Values(got))
		if got[0] != c.first || len(got) != claim.Slots || len(slices.Compact(sorted)) != claim.Slots {
			t.Errorf("%s: %v", name, got)
		}
	}
	if got := claim.Order(nil, false, "/a", none); got[0] == 0 || got[claim.Slots-1] != 0 {
		t.Errorf("next to other instances: %v", got)
	}
}

func TestSlotIsHeldUntilReleased(t *testing.T) {
	if !sysnettest.Inside(t) {
		return
	}
	order := claim.Order(nil, true, "/a", none)
	if list := claim.Holders(); len(list) != 0 {
		t.Fatalf("held by %v", list)
	}
	var all []*claim.Claim
	for _, want := range order {
		c, err := claim.Take(order)
		if err != nil || c.Slot != want {
			t.Fatalf("%+v, %v; want slot %s", c, err, want)
		}
		all = append(all, c)
	}
	if _, err := claim.Take(order); !errors.Is(err, claim.ErrTaken) {
		t.Errorf("one more: %v", err)
	}
	list := claim.Holders()
	if len(list) != claim.Slots || list[3].Slot != 3 || list[3].PID != os.Getpid() || !strings.Contains(list[3].String(), "table inet sluice_3") {
		t.Errorf("held by %v", list)
	}
	all[5].Close()
	if c, err := claim.Take(order); err != nil || c.Slot != order[5] {
		t.Errorf("%+v, %v; want slot %s", c, err, order[5])
	}
}
