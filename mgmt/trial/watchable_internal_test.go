package trial

import (
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
)

func TestAGuardWatchesNoFarmThatItsAuthorDoesNotSee(t *testing.T) {
	cfg := &farm.Config{Farms: []farm.Farm{{ID: 1, Name: "a"}, {ID: 2, Name: "b"}, {ID: 3, Name: "c", Stopped: true}}}
	notB := func(id uint32) bool { return id != 2 }
	for name, c := range map[string]struct {
		spec    Spec
		touched []string
		want    string
	}{
		"affected farms":             {Spec{}, []string{"a", "c"}, "a"},
		"only stopped ones":          {Spec{}, []string{"c"}, "a b"},
		"all":                        {Spec{All: true}, []string{"a"}, "a b"},
		"only stopped ones, limited": {Spec{Sees: notB}, []string{"c"}, "a"},
		"all, limited":               {Spec{All: true, Sees: notB}, []string{"c"}, "a"},
		"an affected farm is seen":   {Spec{Sees: notB}, []string{"b"}, "b"},
	} {
		var got []string
		for _, f := range c.spec.watchable(cfg, c.touched) {
			got = append(got, f.Name)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}
