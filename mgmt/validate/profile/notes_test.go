package profile_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/httpfarm"
	"github.com/sluicelb/sluice/mgmt/validate/l4farm"
)

func TestNotesAreKeptAndCanBeRemoved(t *testing.T) {
	for name, table := range map[string]*field.Table[farm.Farm]{"http": &httpfarm.Update, "l4xnat": &l4farm.Update} {
		f := farm.Farm{Name: "a"}
		set := func(body map[string]any) *farm.Notes {
			t.Helper()
			values, err := table.Decode("", body)
			if err == nil {
				err = values.Apply(&f)
			}
			if err != nil {
				t.Fatal(err)
			}
			return f.Notes
		}
		if n := set(map[string]any{"comment": "the shop", "tags": []any{"prod", "eu:west"}}); n == nil || n.Comment != "the shop" || !slices.Equal(n.Tags, []string{"prod", "eu:west"}) {
			t.Errorf("%s: %+v", name, n)
		}
		if n := set(map[string]any{"comment": "the old shop"}); n == nil || n.Comment != "the old shop" || len(n.Tags) != 2 {
			t.Errorf("%s: the comment alone: %+v", name, n)
		}
		if n := set(map[string]any{"comment": "the shop"}); n == nil || n.Comment != "the shop" {
			t.Errorf("%s: %+v", name, n)
		}
		if n := set(map[string]any{"tags": []any{}}); n == nil || n.Comment != "the shop" || len(n.Tags) != 0 {
			t.Errorf("%s without tags: %+v", name, n)
		}
		if n := set(map[string]any{"comment": nil}); n != nil {
			t.Errorf("%s without notes: %+v", name, n)
		}
	}
}

func TestTagsAreWords(t *testing.T) {
	many := []any{}
	for range farm.MaxTags + 1 {
		many = append(many, "t"+strings.Repeat("x", len(many)))
	}
	for want, tags := range map[string][]any{
		"tags must be": {"two words"}, "tags": {strings.Repeat("x", 33)}, "at most 16": many, "twice": {"a", "a"},
	} {
		if _, err := httpfarm.Update.Decode("", map[string]any{"tags": tags}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", tags, err)
		}
	}
	if _, err := httpfarm.Update.Decode("", map[string]any{"tags": []any{"Größe", "team/shop"}}); err != nil {
		t.Error(err)
	}
	if _, err := httpfarm.Update.Decode("", map[string]any{"comment": strings.Repeat("x", 1025)}); err == nil {
		t.Error("a comment of 1025 bytes is accepted")
	}
}
