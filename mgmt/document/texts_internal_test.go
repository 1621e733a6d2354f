package document

import (
	"fmt"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
)

// The text of a farm that stays is made once.
func TestTextsOfFarmsThatStayAreTakenOver(t *testing.T) {
	var texts Texts
	cfg := &farm.Config{Farms: []farm.Farm{{ID: 1, Name: "a", HTTP: farm.DefaultHTTP()}, {ID: 2, Name: "b", HTTP: farm.DefaultHTTP()}}}
	next := *cfg
	next.Farms = []farm.Farm{cfg.Farms[0].Clone(), cfg.Farms[1]}
	texts.Diff(cfg, cfg)
	first, second, document := &texts.farms[cfg.Farms[0]][0], &texts.farms[cfg.Farms[1]][0], &texts.lines[0]
	texts.Diff(cfg, &next)
	if &texts.farms[next.Farms[1]][0] != second || &texts.farms[next.Farms[0]][0] == first {
		t.Error("the text of another farm was taken, or that of one that stays was not")
	}
	if texts.of != &next || &texts.lines[0] == document {
		t.Error("the document that was compared last is not kept")
	}
}

// The texts of farms that are gone are forgotten when they are most of what is kept.
func TestTextsOfFarmsThatAreGoneAreForgotten(t *testing.T) {
	var texts Texts
	one := func(i int) *farm.Config {
		return &farm.Config{Farms: []farm.Farm{{Name: fmt.Sprint("farm", i), HTTP: farm.DefaultHTTP()}}}
	}
	was := one(0)
	for i := range fewGone / 2 {
		now := one(i + 1)
		texts.Diff(was, now)
		if was = now; len(texts.farms) > fewGone/3 {
			t.Fatalf("%d farms are kept, of which one is there", len(texts.farms))
		}
	}
	if len(texts.farms) == 0 || texts.farms[was.Farms[0]] == nil {
		t.Error("the one that is there is not kept")
	}
	lines := 0
	for _, l := range texts.farms {
		lines += len(l)
	}
	if lines != texts.kept {
		t.Errorf("%d lines are kept, not %d", lines, texts.kept)
	}
}

// A farm that is large is kept twice at most, before its change and after it.
func TestTextsOfLargeFarmsAreForgottenAtOnce(t *testing.T) {
	var texts Texts
	one := func(i int) *farm.Config {
		f := farm.Farm{Name: fmt.Sprint("farm", i), HTTP: farm.DefaultHTTP()}
		f.HTTP.Services = []farm.Service{{Name: "web", Backends: make([]farm.Backend, 2*fewGone)}}
		return &farm.Config{Farms: []farm.Farm{f}}
	}
	was := one(0)
	for i := range 6 {
		now := one(i + 1)
		texts.Diff(was, now)
		if was = now; len(texts.farms) > 2 {
			t.Fatalf("%d farms are kept, of which one is there", len(texts.farms))
		}
	}
}
