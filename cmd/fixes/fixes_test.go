package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tree writes a project with one dependency of each kind.
func tree(t *testing.T, module, tool, npm, nested, release string) string {
	t.Helper()
	dir := t.TempDir()
	files := map[string]string{
		"go.mod":   "module example.org/x\n\ngo 1.24\n\ntoolchain " + release + "\n\nrequire golang.org/x/net " + module + "\n",
		"Makefile": "export GOTOOLCHAIN = " + release + "\nlint:\n\tgo run example.org/tool@" + tool + " ./...\n",
		"web/package-lock.json": `{"packages":{"":{"version":"0.0.0"},"node_modules/vite":{"version":"` + npm + `"},
			"node_modules/a/node_modules/vite":{"version":"` + nested + `"}}}`,
		"fixes": `# comment
go      toolchain         go1.27.2  GO-2026-6617               servers speak HTTP/2
module  golang.org/x/net  v0.61.0   GO-2026-6611,GO-2026-6612  so do tests
tool    example.org/tool  v1.2.0    CVE-2026-1                 reads the sources
npm     vite              7.3.2     GHSA-v2wj-q39q-566r        serves files
`,
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestVersionsOlderThanAFixAreNamed(t *testing.T) {
	for _, c := range []struct {
		name                               string
		module, tool, npm, nested, release string
		want                               string // in the one message; empty: no fault
	}{
		{"new enough", "v0.61.0", "v1.2.0", "7.3.2", "7.10.0", "go1.27.2", ""},
		{"module", "v0.60.9", "v1.2.0", "7.3.2", "7.3.2", "go1.27.2", "module golang.org/x/net v0.60.9 lacks the fix of GO-2026-6611, GO-2026-6612 (so do tests): update it to v0.61.0"},
		{"candidate", "v0.61.0-rc.1", "v1.2.0", "7.3.2", "7.3.2", "go1.27.2", "v0.61.0-rc.1"},
		{"tool", "v0.61.0", "v1.1.9", "7.3.2", "7.3.2", "go1.27.2", "tool example.org/tool v1.1.9"},
		{"npm", "v0.61.0", "v1.2.0", "7.3.1", "7.3.2", "go1.27.2", "npm vite 7.3.1"},
		{"nested npm", "v0.61.0", "v1.2.0", "7.3.2", "6.4.1", "go1.27.2", "npm vite 6.4.1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := tree(t, c.module, c.tool, c.npm, c.nested, c.release)
			faults, err := run(dir, filepath.Join(dir, "fixes"))
			switch {
			case err != nil:
				t.Fatal(err)
			case c.want == "" && len(faults) > 0, c.want != "" && (len(faults) != 1 || !strings.Contains(faults[0], c.want)):
				t.Errorf("faults %q, want one with %q", faults, c.want)
			}
		})
	}
}

func TestEachPlaceOfTheToolchainIsChecked(t *testing.T) {
	fixes, err := parse("go toolchain go1.27.2 GO-2026-6617 HTTP/2")
	if err != nil {
		t.Fatal(err)
	}
	for have, want := range map[string]int{"go1.27.3": 0, "go1.27.2": 0, "go1.27rc1": 1, "go1.26.9": 1, "go1.9.9": 1} {
		v := versions{}
		v.add("go", "toolchain", have)
		if got := check(fixes, v); len(got) != want {
			t.Errorf("%s: %q, want %d", have, got, want)
		}
	}
	v := versions{}
	if err := makefile(tree(t, "v1.0.0", "v1.0.0", "1.0.0", "1.0.0", "go1.26.1"), v); err != nil || len(v["go"]["toolchain"]) != 1 {
		t.Errorf("the Makefile's GOTOOLCHAIN: %v, %v", v, err)
	}
}

func TestUnusedLineIsStale(t *testing.T) {
	fixes, err := parse("module example.org/gone v1.0.0 CVE-2026-1 it was used once")
	if err != nil {
		t.Fatal(err)
	}
	if got := check(fixes, versions{}); len(got) != 1 || !strings.Contains(got[0], "line 1: module example.org/gone is not in use") {
		t.Errorf("%q", got)
	}
}

func TestMalformedLinesAreRefused(t *testing.T) {
	for _, line := range []string{
		"module golang.org/x/net v0.61.0 GO-2026-6611",
		"module golang.org/x/net 0.61.0 GO-2026-6611 reason",
		"go toolchain 1.27.2 GO-2026-6611 reason",
		"crate serde v1.0.0 GO-2026-6611 reason",
		"npm vite v7.3.2 GHSA-v2wj-q39q-566r reason",
		"module golang.org/x/net v0.61.0 none reason",
	} {
		if f, err := parse(line); err == nil {
			t.Errorf("%q was read as %+v", line, f)
		}
	}
}

func TestTheProjectHasEveryKnownFix(t *testing.T) {
	faults, err := run("../..", "../../.ci/fixes")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range faults {
		t.Error(f)
	}
}
