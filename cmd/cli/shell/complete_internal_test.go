package shell

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestAWordBecomesLongerByWhatAllOffersHave(t *testing.T) {
	var asked []string
	s := &Shell{Name: "sluice", Complete: func(words []string, last string) Offers {
		asked = append(slices.Clone(words), last)
		switch strings.Join(words, " ") {
		case "farm show":
			return Offers{Words: []Offer{{"shop", "up"}, {"shoes", "down"}, {"mail", ""}}}
		case "farm set shop":
			return Offers{Words: []Offer{{Word: "contimeout="}}, Open: true}
		case "certificate show":
			return Offers{Words: []Offer{{Word: "my shop.pem"}, {Word: "my shop 2.pem"}}}
		case "odd":
			return Offers{Words: []Offer{{Word: "a b"}}}
		}
		return Offers{}
	}}
	for before, want := range map[string]struct{ instead, shown string }{
		"farm show s":              {"farm show sho", ""},
		"sluice farm show m":       {"sluice farm show mail ", ""},
		"farm show sho":            {"farm show sho", "shop   up\nshoes  down"},
		"farm show ":               {"farm show ", "shop   up\nshoes  down\nmail"},
		"farm show x":              {"farm show x", ""},
		"farm set shop c":          {"farm set shop contimeout=", ""},
		"certificate show 'my":     {"certificate show 'my shop'", ""},
		"certificate show my\\ sh": {"certificate show 'my shop'", ""},
		"odd ":                     {"odd 'a b' ", ""},
		"farm show | s":            {"farm show | s", ""},
		"nothing ":                 {"nothing ", ""},
	} {
		if instead, shown := s.complete(before, 40); instead != want.instead || shown != want.shown {
			t.Errorf("%q: %q and %q, want %q and %q", before, instead, shown, want.instead, want.shown)
		}
	}
	if s.complete("sluice farm show 'sh", 40); !slices.Equal(asked, []string{"farm", "show", "sh"}) {
		t.Errorf("completed %q", asked)
	}
}

func TestFilesAreCompletedWhereTheyAreMeant(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"shop.yaml", "shop.pem", ".hidden", "old/x"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s := &Shell{Complete: func([]string, string) Offers { return Offers{Files: true} }}
	for before, want := range map[string]struct{ instead, shown string }{
		"apply -f " + dir + "/sh":     {"apply -f " + dir + "/shop.", ""},
		"apply -f " + dir + "/shop.y": {"apply -f " + dir + "/shop.yaml ", ""},
		"apply -f " + dir + "/o":      {"apply -f " + dir + "/old/", ""},
		"apply -f " + dir + "/.h":     {"apply -f " + dir + "/.hidden ", ""},
		"apply -f " + dir + "/none/":  {"apply -f " + dir + "/none/", ""},
	} {
		if instead, shown := s.complete(before, 200); instead != want.instead || shown != want.shown {
			t.Errorf("%q: %q and %q, want %q", before, instead, shown, want.instead)
		}
	}
	if _, shown := s.complete("apply -f "+dir+"/", 500); strings.Contains(shown, "hidden") || !strings.Contains(shown, "old/") || !strings.Contains(shown, "shop.pem") {
		t.Errorf("shown: %q", shown)
	}
}

func TestOffersFillTheColumnsThereAre(t *testing.T) {
	offers := []Offer{{Word: "a"}, {Word: "bb"}, {Word: "ccc"}, {Word: "d"}}
	if got := table(offers, 12); got != "a    bb\nccc  d" {
		t.Errorf("%q", got)
	}
	if got := table([]Offer{{"farm", "Manage farms and more"}, {"b", "x"}}, 14); got != "farm  Manage \nb     x" && got != "farm  Manage\nb     x" {
		t.Errorf("%q", got)
	}
}
