package command

import (
	"slices"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	_ "github.com/sluicelb/sluice/mgmt/validate" // registers the profiles
	"github.com/sluicelb/sluice/mgmt/validate/check"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/httpfarm"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
)

// The word null is accepted for every setting with a default, as the help states.
func TestNullIsAcceptedForEverySettingWithADefault(t *testing.T) {
	accepted(t, &check.Update)
	accepted(t, &httpfarm.ServiceUpdate)
	for _, p := range farm.Profiles() {
		accepted(t, profile.Named(p).Farm().Update)
		accepted(t, profile.Named(p).Backend().Update)
	}
}

func accepted[T any](t *testing.T, table *field.Table[T]) {
	t.Helper()
	s := &Settings{params: table.Params()}
	for _, p := range s.params {
		if p.Plain.Default == nil || slices.Contains(p.Options, "required") {
			continue
		}
		if _, err := table.Decode("", map[string]any{p.Name: s.Value(p.Name, "null")}); err != nil {
			t.Errorf("%s=null: %v", p.Name, err)
		}
	}
}
