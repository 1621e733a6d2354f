package main

import (
	"fmt"
	"go/scanner"
	"go/token"
	"os/exec"
	"regexp"
	"strings"
)

// meant is a comment that a compiler or a test reads.
var meant = regexp.MustCompile(`^//(?:go:|line |export |nolint| ?(?:Unordered o|O)utput:| \+build)`)

// onlyComments returns one line for each file that commits changed otherwise than in
// its comments. Documents are comments as a whole.
func onlyComments(commits string) ([]string, error) {
	from, to, ok := strings.Cut(commits, "..")
	if !ok {
		return nil, fmt.Errorf("%q is no range of commits: A..B", commits)
	}
	out, err := exec.Command("git", "diff", "--no-renames", "--name-status", from, to).Output()
	if err != nil {
		return nil, fmt.Errorf("git diff %s %s: %w", from, to, err)
	}
	var faults []string
	for line := range strings.Lines(string(out)) {
		status, name, _ := strings.Cut(strings.TrimSpace(line), "\t")
		switch {
		case strings.HasSuffix(name, ".md") || name == ".ci/prose":
		case status != "M" || !strings.HasSuffix(name, ".go"):
			faults = append(faults, name+": not a Go file before and after")
		default:
			before, err := exec.Command("git", "show", from+":"+name).Output()
			if err != nil {
				return nil, fmt.Errorf("git show %s:%s: %w", from, name, err)
			}
			after, err := exec.Command("git", "show", to+":"+name).Output()
			if err != nil {
				return nil, fmt.Errorf("git show %s:%s: %w", to, name, err)
			}
			if why := differ(before, after); why != "" {
				faults = append(faults, name+": "+why)
			}
		}
	}
	return faults, nil
}

// differ returns the first difference of two Go files that is not in a comment. Both
// have the same syntax tree if their tokens are equal.
func differ(before, after []byte) string {
	a, b := tokens(before), tokens(after)
	for i := range max(len(a), len(b)) {
		switch {
		case i >= len(a):
			return fmt.Sprintf("%q was added at the end", b[i])
		case i >= len(b):
			return fmt.Sprintf("%q was removed at the end", a[i])
		case a[i] != b[i]:
			return fmt.Sprintf("%q became %q", a[i], b[i])
		}
	}
	return ""
}

// tokens returns the tokens of a Go file. Semicolons are left out where the scanner
// inserts them, because a comment may move the end of a line.
func tokens(source []byte) []string {
	var s scanner.Scanner
	fset := token.NewFileSet()
	s.Init(fset.AddFile("", -1, len(source)), source, nil, scanner.ScanComments)
	var out []string
	for {
		_, tok, text := s.Scan()
		switch {
		case tok == token.EOF:
			return out
		case tok == token.COMMENT && !meant.MatchString(text):
		case tok == token.SEMICOLON && text == "\n":
			out = append(out, "end of line")
		case text != "":
			out = append(out, text)
		default:
			out = append(out, tok.String())
		}
	}
}
