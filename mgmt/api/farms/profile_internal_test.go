package farms

import (
	"errors"
	"slices"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/api/rest"
)

// A profile unknown to the API would be shown as another one.
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

func TestTheHelpOfANewFarmNamesEachFieldOnce(t *testing.T) {
	help := newFarmHelp{}.Params()
	for _, field := range (newFarmFields{}).Params() {
		n := 0
		for _, p := range help {
			if p.Name == field.Name {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%s comes %d times", field.Name, n)
		}
	}
}

func TestARuleOfAFarmThatIsNotThereIsRefusedAsTheFarmIs(t *testing.T) {
	none := errors.New("there is no such farm")
	l := ruleList[farm.HeaderRemove, any]{of: func(*rest.Call, *farm.Config) (*[]farm.HeaderRemove, string, error) { return nil, "", none }}
	if _, err := l.at(&rest.Call{}); !errors.Is(err, none) {
		t.Errorf("got %v", err)
	}
}
