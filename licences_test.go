package sluice_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sluicelb/sluice"
)

var update = flag.Bool("update", false, "write LICENCES from the module cache")

// module is one that the program is linked from.
type module struct{ Path, Version, Dir, License string }

// linked lists the modules whose packages are in the program.
func linked(t *testing.T) (out []module) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-json=Module", "./cmd/sluice")
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for dec := json.NewDecoder(strings.NewReader(string(text))); ; {
		var p struct {
			Module *struct {
				Path, Version, Dir string
				Main               bool
			}
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if m := p.Module; m != nil && !m.Main && !seen[m.Path] {
			seen[m.Path] = true
			out = append(out, module{Path: m.Path, Version: m.Version, Dir: m.Dir})
		}
	}
	slices.SortFunc(out, func(a, b module) int { return strings.Compare(a.Path, b.Path) })
	return out
}

var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]es?|copying|notice|patents)([.-].*)?$`)

// texts returns the licence texts of a module, those in a folder of licences, too.
func texts(t *testing.T, dir string) (out []string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		path := filepath.Join(dir, e.Name())
		switch {
		case !licenceFile.MatchString(e.Name()) || filepath.Ext(e.Name()) == ".go":
		case e.IsDir():
			inner, err := os.ReadDir(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range inner {
				out = append(out, text(t, filepath.Join(path, f.Name())))
			}
		default:
			out = append(out, text(t, path))
		}
	}
	return out
}

func text(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !utf8.Valid(b) { // then it is Latin-1, as FreeType's
		all := make([]rune, len(b))
		for i := range b {
			all[i] = rune(b[i])
		}
		b = []byte(string(all))
	}
	var lines []string
	for line := range strings.Lines(strings.ReplaceAll(string(b), "\r\n", "\n")) {
		lines = append(lines, strings.TrimRight(line, " \t\n\f"))
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n") + "\n"
}

// licences makes the text: each licence once, below the modules that have it.
func licences(t *testing.T) string {
	t.Helper()
	root, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	return together(t, append([]module{{Path: "Go", Dir: strings.TrimSpace(string(root))}}, linked(t)...))
}

func together(t *testing.T, all []module) string {
	t.Helper()
	var order []string
	of := map[string][]string{}
	for _, m := range all {
		found := texts(t, m.Dir)
		switch {
		case len(found) == 0 && m.License != "":
			found = []string{"The package has no text, but says that its licence is " + m.License + ".\n"}
		case len(found) == 0:
			t.Errorf("%s has no licence text", m.Path)
		}
		for _, text := range found {
			if of[text] == nil {
				order = append(order, text)
			}
			if name := m.Path; !slices.Contains(of[text], name) {
				of[text] = append(of[text], name)
			}
		}
	}
	var out strings.Builder
	out.WriteString("The licences of what Sluice is made of. `go test . -update` writes this file.\n")
	for _, text := range order {
		fmt.Fprintf(&out, "\n%s\n%s\n%s\n\n%s", strings.Repeat("=", 78), strings.Join(of[text], "\n"), strings.Repeat("=", 78), text)
	}
	return out.String()
}

func TestLicencesAreThoseOfTheModulesInTheProgram(t *testing.T) {
	want := licences(t)
	if *update {
		if err := os.WriteFile("LICENCES", []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if sluice.Licences != want {
		t.Error("LICENCES does not match the program's modules: run go test . -update")
	}
}

func TestTheNoticeNamesEveryModuleOfTheProgram(t *testing.T) {
	words := strings.FieldsFunc(sluice.Notice, func(r rune) bool { return strings.ContainsRune(" ,;()\n\t", r) })
	for _, m := range linked(t) {
		if !slices.Contains(words, m.Path) {
			t.Errorf("NOTICE does not name %s", m.Path)
		}
	}
}

// packaged lists the packages of npm that are not for development alone.
func packaged(t *testing.T) (out []module) {
	t.Helper()
	b, err := os.ReadFile("web/package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	var lock struct {
		Packages map[string]struct {
			Version, License string
			Dev, Optional    bool
		}
	}
	if err := json.Unmarshal(b, &lock); err != nil {
		t.Fatal(err)
	}
	for dir, p := range lock.Packages {
		name, is := strings.CutPrefix(dir, "node_modules/")
		if is && !p.Dev && !p.Optional && !strings.Contains(name, "/node_modules/") && !strings.HasPrefix(name, "@types/") {
			out = append(out, module{name, p.Version, filepath.Join("web", dir), p.License})
		}
	}
	slices.SortFunc(out, func(a, b module) int { return strings.Compare(a.Path, b.Path) })
	return out
}

func TestLicencesAreThoseOfThePackagesInTheGUI(t *testing.T) {
	all := packaged(t)
	if *update {
		if err := os.WriteFile("web/LICENCES", []byte(together(t, all)), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	named := strings.Split(sluice.GUILicences, "\n")
	for _, m := range all {
		if !slices.Contains(named, m.Path) {
			t.Errorf("web/LICENCES does not have %s: run npm ci in web, then go test . -update", m.Path)
		}
	}
}
