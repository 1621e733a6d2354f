package farm_test

import (
	"net/netip"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/farm/fieldtest"
)

func TestBackendEqualCoversEveryField(t *testing.T) {
	(&fieldtest.Comparison[farm.Backend]{Equal: (*farm.Backend).Equal}).Check(t)
}

// Equal tells nil from an empty list, as reflect.DeepEqual does.
func TestBackendEqualTellsNilFromEmpty(t *testing.T) {
	for name, b := range map[string]farm.Backend{
		"Sessions": {Sessions: []string{}}, "ServerNames": {ServerNames: []string{}}, "Nets": {Nets: []netip.Prefix{}},
		"Countries": {Countries: []string{}}, "Continents": {Continents: []string{}},
	} {
		if none := (farm.Backend{}); none.Equal(&b) || b.Equal(&none) {
			t.Errorf("%s: nil and an empty list are equal", name)
		}
	}
}
