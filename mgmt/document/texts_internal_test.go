package document

import (
	"slices"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
)

// The text of a farm that stays is made once, and that of one that is gone is forgotten.
func TestTextsOfFarmsThatStayAreTakenOver(t *testing.T) {
	var texts Texts
	cfg := &farm.Config{Farms: []farm.Farm{{ID: 1, Name: "a", HTTP: farm.DefaultHTTP()}, {ID: 2, Name: "b", HTTP: farm.DefaultHTTP()}}}
	next := *cfg
	next.Farms = []farm.Farm{cfg.Farms[0].Clone(), cfg.Farms[1]}
	texts.Diff(cfg, cfg)
	before := *texts.last.Load()
	for now, want := range map[*farm.Config]int{cfg: 2, &next: 1} {
		texts.last.Store(&before)
		texts.Diff(cfg, now)
		after, taken := *texts.last.Load(), 0
		for f, lines := range after {
			if was := before[f]; len(was) > 0 && &was[0] == &lines[0] {
				taken++
			}
			if !slices.Contains(now.Farms, f) {
				t.Errorf("farm %d is remembered, which is gone", f.ID)
			}
		}
		if len(after) != 2 || taken != want {
			t.Errorf("%d texts, %d taken over, want %d", len(after), taken, want)
		}
	}
}
