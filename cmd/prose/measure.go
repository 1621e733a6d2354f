package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"strings"
	"unicode/utf8"
)

// match is one text that could be better.
type match struct {
	file    string
	line    int
	pattern string
	text    string
}

func (m match) String() string {
	return fmt.Sprintf("%s:%d [%s] %s", m.file, m.line, m.pattern, m.text)
}

// files returns the sources and documents git knows below a folder.
func files(dir string) ([]string, error) {
	out, err := exec.Command("git", "ls-files", "--", dir).Output()
	if err != nil {
		return nil, fmt.Errorf("git ls-files %s: %w", dir, err)
	}
	var names []string
	for name := range strings.Lines(string(out)) {
		name = strings.TrimSpace(name)
		if hasSuffix(name, ".go", ".ts", ".tsx", ".md") && !strings.Contains(name, "/testdata/") {
			if _, err := os.Stat(name); err == nil { // it may be deleted and not committed
				names = append(names, name)
			}
		}
	}
	return names, nil
}

func hasSuffix(s string, of ...string) bool {
	for _, o := range of {
		if strings.HasSuffix(s, o) {
			return true
		}
	}
	return false
}

// measure counts the texts below a folder; found is called for each match.
func measure(dir string, found func(match)) (map[string]counts, error) {
	names, err := files(dir)
	if err != nil {
		return nil, err
	}
	all := map[string]counts{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		c := all[folder(name)]
		if err := c.add(name, string(text), found); err != nil {
			return nil, err
		}
		all[folder(name)] = c
	}
	return all, nil
}

func (c *counts) add(name, text string, found func(match)) error {
	for _, p := range paragraphs(name, text) {
		for _, s := range sentences(p.text) {
			c.sentences++
			switch why := judge(s); why {
			case "":
			case long:
				c.long++
				found(match{name, p.line, why, s})
			default:
				c.hits++
				found(match{name, p.line, why, s})
			}
		}
	}
	if !strings.HasSuffix(name, ".go") {
		return nil
	}
	for i, line := range strings.Split(text, "\n") {
		if utf8.RuneCountInString(line) > wide && !strings.ContainsAny(line, "\"`") { // a string need not be split
			c.lines++
			found(match{name, i + 1, "wide line", strings.TrimSpace(line)})
		}
	}
	if strings.HasSuffix(name, "_test.go") {
		c.addTests(name, text, found)
		return nil
	}
	return c.addNames(name, text, found)
}

// addTests counts tests whose name begins with "What" or "Who" instead of a subject.
func (c *counts) addTests(name, text string, found func(match)) {
	for i, line := range strings.Split(text, "\n") {
		if m := noSubject.FindStringSubmatch(line); m != nil {
			c.tests++
			found(match{name, i + 1, "name of a test without a subject", m[1]})
		}
	}
}

// addNames counts doc comments that do not begin with the name they describe. A
// comment of a group, or one that begins with an article, is right as well.
func (c *counts) addNames(name, text string, found func(match)) error {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	check := func(of string, doc *ast.CommentGroup) {
		if doc == nil {
			return
		}
		words := strings.Fields(doc.Text())
		if len(words) == 0 || strings.EqualFold(words[0], "deprecated:") {
			return
		}
		first := strings.TrimRight(words[0], ",.:;'s")
		if first == strings.TrimRight(of, "s") || len(words) > 1 && (words[0] == "A" || words[0] == "An" || words[0] == "The") && words[1] == of {
			return
		}
		c.names++
		found(match{name, fset.Position(doc.Pos()).Line, "doc comment of " + of, strings.Join(words, " ")})
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			check(d.Name.Name, d.Doc)
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if s, ok := s.(*ast.TypeSpec); ok {
					doc := s.Doc
					if !d.Lparen.IsValid() {
						doc = d.Doc
					}
					check(s.Name.Name, doc)
				}
			}
		}
	}
	return nil
}
