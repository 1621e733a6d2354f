package farms

import (
	"slices"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/api/rest"
)

// A profile the API does not know would be shown as another one.
func TestEveryProfileHasItsAnswers(t *testing.T) {
	var names []farm.Profile
	for _, p := range profiles {
		names = append(names, p.Name())
		if !slices.Contains(p.words(), p.Name()) || profileNamed(p.Name()) != p {
			t.Errorf("%s is called %q, and found as %s", p.Name(), p.words(), profileNamed(p.Name()).Name())
		}
		for _, body := range []rest.Fields{newBody(p), changedBody(p)} {
			if !has(body, "vip") {
				t.Errorf("%s: a body without vip", p.Name())
			}
		}
	}
	if !slices.Equal(names, farm.Profiles()) {
		t.Errorf("answers for %q, profiles are %q", names, farm.Profiles())
	}
}
