package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
)

// versions holds the versions in use by kind and name. npm may have several of one
// package.
type versions map[string]map[string][]string

func (v versions) add(kind, name, version string) {
	if v[kind] == nil {
		v[kind] = map[string][]string{}
	}
	v[kind][name] = append(v[kind][name], version)
}

// inUse returns the versions that the sources below dir are built with.
func inUse(dir string) (versions, error) {
	v := versions{}
	for _, read := range []func(string, versions) error{goMod, makefile, npmLock} {
		if err := read(dir, v); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// goMod adds the modules and the toolchain line of go.mod, and the release that
// compiled this program: GOTOOLCHAIN may name an older one.
func goMod(dir string, v versions) error {
	cmd := exec.Command("go", "mod", "edit", "-json")
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("go mod edit -json: %w", err)
	}
	var file struct {
		Toolchain string
		Require   []struct{ Path, Version string }
		Replace   []struct {
			Old struct{ Path string }
			New struct{ Version string }
		}
	}
	if err := json.Unmarshal(out, &file); err != nil {
		return err
	}
	v.add("go", "toolchain", runtime.Version())
	if file.Toolchain != "" {
		v.add("go", "toolchain", file.Toolchain)
	}
	for _, m := range file.Require {
		v.add("module", m.Path, m.Version)
	}
	for _, r := range file.Replace {
		if r.New.Version != "" {
			v.add("module", r.Old.Path, r.New.Version)
		}
	}
	return nil
}

var (
	goRun     = regexp.MustCompile(`go run (\S+)@(v\S+)`)
	toolchain = regexp.MustCompile(`GOTOOLCHAIN\s*[:?]?=\s*(go[0-9]\S*)`)
)

// makefile adds the release and the tools that the Makefile names.
func makefile(dir string, v versions) error {
	text, err := os.ReadFile(filepath.Join(dir, "Makefile"))
	if err != nil {
		return err
	}
	for _, m := range toolchain.FindAllStringSubmatch(string(text), -1) {
		v.add("go", "toolchain", m[1])
	}
	for _, m := range goRun.FindAllStringSubmatch(string(text), -1) {
		v.add("tool", m[1], m[2])
	}
	return nil
}

// npmLock adds the packages that the GUI is built from, nested ones too.
func npmLock(dir string, v versions) error {
	text, err := os.ReadFile(filepath.Join(dir, "web", "package-lock.json"))
	if err != nil {
		return err
	}
	var file struct {
		Packages map[string]struct{ Version string }
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return err
	}
	for path, p := range file.Packages {
		if i := strings.LastIndex(path, "node_modules/"); i >= 0 {
			v.add("npm", path[i+len("node_modules/"):], p.Version)
		}
	}
	return nil
}
