package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	documents "github.com/sluicelb/sluice/mgmt/document"
	"github.com/sluicelb/sluice/mgmt/validate"
)

// manual writes the manual and returns its pages by name.
func manual(t *testing.T) map[string]string {
	t.Helper()
	dir := t.TempDir()
	if err := write(dir, "1.2.3", time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(dir + "/man/*/*")
	if err != nil {
		t.Fatal(err)
	}
	pages := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		pages[filepath.Base(file)] = string(text)
	}
	return pages
}

// terms are the fields a page explains, in their order.
func terms(page string) (out []string) {
	for _, m := range regexp.MustCompile(`(?m)^\.TP\n\\fB(.*)\\fP`).FindAllStringSubmatch(page, -1) {
		out = append(out, strings.ReplaceAll(m[1], `\`, ""))
	}
	return out
}

// pageWidth is how long lines of a page on a terminal of 80 columns are.
const pageWidth = 71

func TestManualPagesExplainEverySettingOnceAndInALine(t *testing.T) {
	pages := manual(t)
	example := regexp.MustCompile(`(?s)\.EX\n.*?\.EE\n`)
	for name, text := range pages {
		for line := range strings.Lines(example.ReplaceAllString(text, "")) {
			if strings.HasPrefix(line, " ") && len(line) > pageWidth {
				t.Errorf("%s: %q does not fit a page, and is no text to be folded", name, line)
			}
		}
	}
	if got, want := terms(pages["sluice-service-set.8"]), validate.ServiceUpdate.Names(); !slices.Equal(got, want) {
		t.Errorf("settings of services: %q, want %q", got, want)
	}
	if text := pages["sluice-service-set.8"]; strings.Contains(text, `\fB--retry-on\fP`) {
		t.Errorf("settings are explained twice:\n%s", text)
	}
	if !strings.Contains(pages["sluice-backend-maintenance.8"], `\fB--mode\fP`) {
		t.Errorf("other flags are not explained:\n%s", pages["sluice-backend-maintenance.8"])
	}
}

func TestAPageExplainsEveryFieldOfADocument(t *testing.T) {
	page := manual(t)["sluice.yaml.5"]
	want := slices.Concat(validate.FarmDocument.Names(), validate.ServiceDocument.Names(), validate.BackendDocument.Names(),
		validate.ReplaceRequest.Rule.Names(), validate.Rewrites.Rule.Names())
	for _, p := range validate.Profiles()[1:] {
		want = slices.Concat(want, p.Farm().Document.Names(), p.Backend().Document.Names())
	}
	if got := terms(page); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	for _, list := range []string{"services", "backends", validate.ReplaceRequest.Service, validate.ReplaceResponse.Service, validate.Rewrites.Service} {
		if !strings.Contains(page, `\fB`+list+`\fP`) {
			t.Errorf("nothing of the list %s", list)
		}
	}
	if strings.Contains(page, "help for") || !strings.Contains(page, "Required.") {
		t.Errorf("it says:\n%s", page)
	}
	_, rest, _ := strings.Cut(page, ".EX\n")
	example, _, _ := strings.Cut(rest, ".EE\n")
	cfg, err := documents.Load([]byte(strings.NewReplacer(`\\`, `\`, `\-`, "-", `\&`, "").Replace(example)), validate.Rules{})
	if err != nil || len(cfg.Farms) != 2 {
		t.Errorf("its example cannot be applied: %v\n%s", err, example)
	}
}

func TestTheGuideIsAPageWithEveryTask(t *testing.T) {
	page := manual(t)["sluice-guide.7"]
	if !strings.HasPrefix(page, ".nh\n.TH \"SLUICE-GUIDE\" \"7\"") {
		t.Errorf("it begins with %.60q", page)
	}
	for _, m := range regexp.MustCompile(`(?m)^# (.*)$`).FindAllStringSubmatch(guideText, -1) {
		if !strings.Contains(page, "\n.SH "+m[1]+"\n") {
			t.Errorf("it has no %q", m[1])
		}
	}
}
