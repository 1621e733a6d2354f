package farm_test

import (
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/farm/fieldtest"
)

func TestSameCoversEveryField(t *testing.T) {
	(&fieldtest.Comparison[farm.Farm]{Equal: (*farm.Farm).Same}).Check(t)
}

// Key is the same value exactly for farms that are the same.
func TestKeysOfTheSameFarmAreEqual(t *testing.T) {
	one := farm.Farm{ID: 1, Name: "a",
		HTTP: farm.DefaultHTTP(), L4: farm.DefaultL4(), Global: &farm.GSLB{}, Notes: &farm.Notes{}}
	known := map[farm.Key]bool{one.Key(): true}
	if same := one; !known[same.Key()] || !one.Same(&same) {
		t.Error("a copy has another key")
	}
	for name, change := range map[string]func(f *farm.Farm){
		"HTTP":   func(f *farm.Farm) { f.HTTP = farm.DefaultHTTP() },
		"L4":     func(f *farm.Farm) { f.L4 = farm.DefaultL4() },
		"Global": func(f *farm.Farm) { f.Global = &farm.GSLB{} },
		"Notes":  func(f *farm.Farm) { f.Notes = &farm.Notes{} },
		"clone":  func(f *farm.Farm) { *f = f.Clone() },
	} {
		other := one
		if change(&other); known[other.Key()] || one.Same(&other) {
			t.Errorf("%s: equal settings in other memory are the same farm", name)
		}
	}
}
