package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/tools/go/packages"
)

// pkg is a package faults are made in.
type pkg struct {
	path  string // as imported
	name  string // without the module
	dir   string
	tests []string // the folders of the tests that judge it, one after the other
	fset  *token.FileSet
	info  *types.Info
	files []*source
}

// source is a file of a package, without a fault.
type source struct {
	path string // absolute
	name string // from the root of the module, for people
	text []byte
	tree *ast.File
}

// load reads the packages that patterns name, but those that are there for
// tests alone: faults in them say nothing about the program.
func load(patterns []string) ([]*pkg, error) {
	loaded, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedModule |
			packages.NeedImports | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo | packages.NeedExportFile,
	}, patterns...)
	if err != nil {
		return nil, err
	}
	var all []*pkg
	for _, l := range loaded {
		if len(l.Errors) > 0 {
			return nil, fmt.Errorf("%s: %w", l.PkgPath, l.Errors[0])
		}
		if l.Module == nil || len(l.Syntax) == 0 || forTests(l.PkgPath) {
			continue
		}
		p := &pkg{path: l.PkgPath, dir: l.Dir, fset: l.Fset, info: l.TypesInfo}
		p.name = strings.TrimPrefix(strings.TrimPrefix(p.path, l.Module.Path), "/")
		for _, dir := range append([]string{p.dir, filepath.Dir(p.dir)}, elsewhere(p.dir)...) {
			if len(testFiles(dir)) > 0 {
				p.tests = append(p.tests, dir)
			}
		}
		for _, tree := range l.Syntax {
			if ast.IsGenerated(tree) {
				continue
			}
			s := &source{path: l.Fset.File(tree.FileStart).Name(), tree: tree}
			if s.text, err = os.ReadFile(s.path); err != nil {
				return nil, err
			}
			if s.name, err = filepath.Rel(l.Module.Dir, s.path); err != nil {
				return nil, err
			}
			p.files = append(p.files, s)
		}
		all = append(all, p)
	}
	return all, nil
}

// testedBy begins a line of a test that says where others of its package are.
const testedBy = "//mutate:tests "

// elsewhere are the folders that tests of a package name.
func elsewhere(dir string) (folders []string) {
	for _, name := range testFiles(dir) {
		text, _ := os.ReadFile(name)
		for line := range strings.Lines(string(text)) {
			if folder, is := strings.CutPrefix(line, testedBy); is {
				folders = append(folders, filepath.Join(dir, strings.TrimSpace(folder)))
			}
		}
	}
	return folders
}

func testFiles(dir string) []string {
	names, _ := filepath.Glob(filepath.Join(dir, "*_test.go"))
	return names
}

// forTests reports whether a package is made for tests: l7test, cmd/e2e.
func forTests(path string) bool {
	return strings.HasSuffix(path, "test") || strings.HasSuffix(path, "cmd/e2e")
}
