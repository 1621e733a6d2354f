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

// pkg is a package to mutate.
type pkg struct {
	path  string // import path
	name  string // without the module path
	dir   string
	tests []string // folders of the tests that judge it, in order
	fset  *token.FileSet
	info  *types.Info
	files []*source
}

// source is the original file of a package.
type source struct {
	path string // absolute
	name string // relative to the module root, for display
	text []byte
	tree *ast.File
}

// load loads the packages that match patterns, except test helpers: faults in those say
// nothing about the program.
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

// testedBy is the prefix of a line in a test that names the folder of further tests.
const testedBy = "//mutate:tests "

// elsewhere returns the folders that tests of a package name.
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

// forTests reports whether a package contains test helpers, e.g. l7test or cmd/e2e.
func forTests(path string) bool {
	return strings.HasSuffix(path, "test") || strings.HasSuffix(path, "cmd/e2e")
}
