package main

import (
	"regexp"
	"strings"
)

// paragraph is a block of comment lines, or a paragraph of a document.
type paragraph struct {
	line int // of its first line, from 1
	text string
}

var (
	comment = regexp.MustCompile(`^// ?(.*)$`)
	// directive is read by a tool: its text is no sentence.
	directive = regexp.MustCompile(`^//(?:go:|nolint|export|line)`)
	quoted    = regexp.MustCompile("`[^`]*`")
	end       = regexp.MustCompile("[.!?]\\s+[A-Z\"'`(]")
)

// paragraphs returns the comments of a source file, or the text of a document.
func paragraphs(name, text string) []paragraph {
	words := comments
	if strings.HasSuffix(name, ".md") {
		words = document()
	}
	var out []paragraph
	var open []string
	start := 0
	flush := func() {
		if len(open) > 0 {
			out = append(out, paragraph{start, strings.Join(open, " ")})
			open = nil
		}
	}
	for i, line := range strings.Split(text, "\n") {
		said, ok := words(strings.TrimSpace(line))
		if !ok {
			flush()
			continue
		}
		if len(open) == 0 {
			start = i + 1
		}
		open = append(open, said)
	}
	flush()
	return out
}

// comments returns the text of a line that holds a comment alone. Indented text is
// an example.
func comments(line string) (string, bool) {
	m := comment.FindStringSubmatch(line)
	if m == nil || directive.MatchString(line) || strings.TrimSpace(m[1]) == "" ||
		strings.HasPrefix(m[1], "\t") || strings.HasPrefix(m[1], "    ") {
		return "", false
	}
	return m[1], true
}

// document returns a function for the lines of a Markdown file. Tables, headings and
// code are left out.
func document() func(line string) (string, bool) {
	code := false
	return func(line string) (string, bool) {
		if strings.HasPrefix(line, "```") {
			code = !code
			return "", false
		}
		if code || line == "" || strings.ContainsRune("|#<", rune(line[0])) {
			return "", false
		}
		return quoted.ReplaceAllString(strings.TrimLeft(line, "-*> 0123456789."), "X"), true
	}
}

// sentences splits a paragraph. Pieces of fewer than three words are left out.
func sentences(text string) []string {
	text = strings.Join(strings.Fields(text), " ")
	var out []string
	add := func(s string) {
		if len(strings.Fields(s)) >= 3 {
			out = append(out, s)
		}
	}
	for {
		at := end.FindStringIndex(text)
		if at == nil {
			add(text)
			return out
		}
		add(text[:at[0]+1])
		text = text[at[1]-1:]
	}
}
