package archtest

import (
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// text is a file of the house, by its path from the top.
func text(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile("../../" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

var quoted = regexp.MustCompile("`([^`]+)`")

// rows are the folders in the first column of the table below a heading. Those without a
// slash, after one with it, are its neighbours.
func rows(t *testing.T, document, heading string) (folders []string) {
	t.Helper()
	_, rest, found := strings.Cut(text(t, document), "\n## "+heading+"\n")
	rest, _, _ = strings.Cut(rest, "\n## ")
	for line := range strings.Lines(rest) {
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		beside := ""
		for _, m := range quoted.FindAllStringSubmatch(strings.Split(line, "|")[1], -1) {
			name := m[1]
			if dir, _ := path.Split(name); dir != "" {
				beside = dir
			} else {
				name = beside + name
			}
			folders = append(folders, name)
		}
	}
	if !found || len(folders) == 0 {
		t.Fatalf("%s: no table of folders below %q", document, heading)
	}
	return folders
}

func TestEveryFolderIsInTheDocuments(t *testing.T) {
	readme, architecture := rows(t, "README.md", "Development"), rows(t, "ARCHITECTURE.md", "The folders")
	for _, p := range packages(t) {
		folder := p.path()
		if top, _, _ := strings.Cut(folder, "/"); folder != strings.TrimSuffix(module, "/") && !slices.Contains(readme, top) {
			t.Errorf("README.md, Development: no row for %s", top)
		}
		if len(p.GoFiles) > 0 && folder != strings.TrimSuffix(module, "/") && !within(folder, architecture) {
			t.Errorf("ARCHITECTURE.md, The folders: no row for %s", folder)
		}
	}
	for _, document := range []struct {
		name    string
		folders []string
	}{{"README.md", readme}, {"ARCHITECTURE.md", architecture}} {
		for _, folder := range document.folders {
			if is, err := os.Stat("../../" + folder); err != nil || !is.IsDir() {
				t.Errorf("%s: there is no folder %s", document.name, folder)
			}
		}
	}
}

// What can be made is found by who types make.
func TestEveryTargetIsInMakeHelp(t *testing.T) {
	makefile := text(t, "Makefile")
	_, targets, _ := strings.Cut(makefile, "\n.PHONY:")
	targets, _, _ = strings.Cut(targets, "\n")
	_, help, _ := strings.Cut(makefile, "\nhelp:\n")
	help, _, _ = strings.Cut(help, "\n\n")
	if len(strings.Fields(targets)) < 10 || !strings.Contains(help, "make build ") {
		t.Fatalf("targets %q, help %q", targets, help)
	}
	for _, target := range strings.Fields(targets) {
		if target != "help" && !strings.Contains(help, "make "+target+" ") && !strings.Contains(help, "make "+target+":") {
			t.Errorf("make help does not name make %s", target)
		}
	}
}
