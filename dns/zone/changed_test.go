package zone_test

import (
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/farm/fieldtest"
	"github.com/sluicelb/sluice/dns/zone"
)

// Equal zones are not compiled again. Each new field of a zone must be compared, or listed
// here because its compiled form does not contain it.
func TestSameZonesCoversEveryField(t *testing.T) {
	(&fieldtest.Comparison[farm.Zone]{
		Equal: func(a, b *farm.Zone) bool {
			return zone.SameZones(&farm.GSLB{Zones: []farm.Zone{*a}}, &farm.GSLB{Zones: []farm.Zone{*b}})
		},
		Ignored: []string{"ID", "facts", "LastRecord", "Held.TTL", "Held.Until", "KeysHeld.TTL", "KeysHeld.Until", "KeyDays"},
	}).Check(t)
}
