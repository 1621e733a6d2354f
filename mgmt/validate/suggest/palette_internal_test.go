package suggest

import (
	"encoding/json"
	"flag"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write foreign.json of the GUI again")

// paletteFile lists the foreign terms by the page of the GUI that has the equivalent.
const paletteFile = "../../../web/src/layout/foreign.json"

// pagesOf maps groups of commands to the pages that do the same, by the keys of their titles.
var pagesOf = map[string][]string{
	"farm":         {"nav.farms", "palette.new_farm"},
	"service":      {"nav.farms"},
	"backend":      {"nav.farms"},
	"header":       {"nav.farms"},
	"rewrite":      {"nav.farms"},
	"session":      {"nav.farms"},
	"zone":         {"nav.farms"},
	"check":        {"nav.checks"},
	"certificate":  {"nav.certificates"},
	"notification": {"nav.notifications"},
	"system":       {"nav.system"},
	"geoip":        {"nav.system"},
	"stats":        {"nav.dashboard"},
	"top":          {"nav.dashboard"},
	"status":       {"nav.dashboard"},
	"acme":         {"nav.certificates"},
	"user":         {"nav.people"},
	"logs":         {"nav.system"},
}

// checkSettings are settings of health checks.
var checkSettings = []string{"rise", "fall", "interval", "farmguardian", "command"}

var sluiceCommand = regexp.MustCompile(`sluice ([a-z]+)( create)?`)

// palettePages returns the pages of the commands of a term, or else of its settings.
func palettePages(t Term) []string {
	var pages []string
	for _, found := range sluiceCommand.FindAllStringSubmatch(t.Command, -1) {
		of := pagesOf[found[1]]
		if found[1] == "farm" && found[2] == "" {
			of = of[:1]
		}
		pages = append(pages, of...)
	}
	if len(pages) == 0 && slices.ContainsFunc(t.Fields, func(f string) bool { return slices.Contains(checkSettings, f) }) {
		pages = []string{"nav.checks"}
	}
	if len(pages) == 0 && len(t.Fields) > 0 {
		pages = []string{"nav.farms"}
	}
	slices.Sort(pages)
	return slices.Compact(pages)
}

// The palette of the GUI finds pages by the same terms. Run with -update after a change of foreign.
func TestPaletteListsForeignTerms(t *testing.T) {
	byPage := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(foreign)) {
		for _, page := range palettePages(foreign[name]) {
			byPage[page] = append(byPage[page], name)
		}
	}
	lines := map[string]string{}
	for page, names := range byPage {
		lines[page] = strings.Join(names, " ")
	}
	want, err := json.MarshalIndent(lines, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, '\n')
	if *update {
		if err := os.WriteFile(paletteFile, want, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(paletteFile)
	if err != nil || string(got) != string(want) {
		t.Errorf("%s is out of date (%v): run go test ./mgmt/validate/suggest -run Palette -update", paletteFile, err)
	}
}
