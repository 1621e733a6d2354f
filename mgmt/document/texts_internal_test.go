package document

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
)

// The lines of an unchanged farm are written once. Only the lines of changed farms and their
// neighbours are cached.
func TestLinesAreKeptOfChangedFarmsAndNeighbours(t *testing.T) {
	var texts Texts
	cfg := &farm.Config{}
	for i := range 50 {
		cfg.Farms = append(cfg.Farms, farm.Farm{ID: uint32(i + 1), Name: fmt.Sprint("f", i), Profile: farm.ProfileHTTP, HTTP: farm.DefaultHTTP()})
	}
	change := func() (old *farm.Config) {
		next := *cfg
		next.Farms = append([]farm.Farm(nil), cfg.Farms...)
		next.Farms[20] = next.Farms[20].Clone()
		next.Farms[20].VPort++
		old, cfg = cfg, &next
		if texts.Diff(old, cfg) == "" {
			t.Fatal("no difference")
		}
		return old
	}
	change()
	if len(texts.farms) > 6 {
		t.Errorf("lines of %d farms are kept, want those of neighbours and of the changed farm before and after", len(texts.farms))
	}
	first := &texts.farms[cfg.Farms[20].Key()][0]
	old := change()
	if &texts.farms[old.Farms[20].Key()][0] != first {
		t.Error("the lines of the farm before the second change were written again")
	}
}

// The lines of farms that are left out are counted correctly for any size and content.
func TestLinesOfFarmsAreCounted(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 9))
	cfg := &farm.Config{Farms: []farm.Farm{large()}}
	for range 10 {
		cfg = edited(r, cfg)
		for i := range cfg.Farms {
			f := &cfg.Farms[i]
			if got, want := countLines(f), len(writtenLines(f)); got != want {
				t.Errorf("farm %s has %d lines, %d are counted", f.Name, want, got)
			}
		}
	}
}

// The lines of a large farm are not cached.
func TestLinesOfLargeFarmsAreNotKept(t *testing.T) {
	var texts Texts
	f := large()
	old := &farm.Config{Farms: []farm.Farm{f, {Name: "web", HTTP: farm.DefaultHTTP()}}}
	now := &farm.Config{Farms: []farm.Farm{f, {Name: "web", VPort: 1, HTTP: farm.DefaultHTTP()}}}
	if texts.Diff(old, now) == "" || len(texts.farms) != 2 {
		t.Errorf("lines of %d farms are kept, want those of the small farm before and after", len(texts.farms))
	}
}
