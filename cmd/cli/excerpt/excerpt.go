// Package excerpt shows what a change makes of a document: it applies the difference the
// appliance answers with to the document in force, and cuts out the objects that change,
// each with the lines that lead to it.
package excerpt

import (
	"errors"
	"regexp"
	"strings"
)

// ErrOther says that the difference is not one of this document.
var ErrOther = errors.New("the configuration was changed by someone else meanwhile: try again")

// After returns the objects of a YAML document that a unified difference changes, as they
// are afterwards; "" when they are in it no more, or nothing changes. Of an object in a
// list (a farm, a service, a backend) it is all; secrets are as the difference has them.
func After(document, diff string) (string, error) {
	lines, err := merge(strings.Split(strings.TrimSuffix(document, "\n"), "\n"), diff)
	if err != nil {
		return "", err
	}
	lines.markObjects()
	var out strings.Builder
	for _, l := range lines {
		if l.kept && l.state != removed {
			out.WriteString(l.text + "\n")
		}
	}
	return out.String(), nil
}

// What became of a line.
const (
	same = iota
	added
	removed
)

type line struct {
	text  string
	state int
	kept  bool
}

// whole is the lines before and after a change, in one list.
type whole []line

// hunk is the head of a group of changes, "@@ -12,7 +12,8 @@ farm shop".
var hunk = regexp.MustCompile(`^@@ -(\d+),\d+ \+\d+,\d+ @@`)

// merge makes one list of the lines of a document and what is added to and removed from it.
func merge(document []string, diff string) (out whole, err error) {
	at := 0
	take := func(until, state int) error {
		if until < at || until > len(document) {
			return ErrOther
		}
		for ; at < until; at++ {
			out = append(out, line{text: document[at], state: state})
		}
		return nil
	}
	for text := range strings.Lines(diff) {
		text = strings.TrimSuffix(text, "\n")
		switch {
		case hunk.MatchString(text):
			err = take(number(hunk.FindStringSubmatch(text)[1])-1, same)
		case text == "":
		case text[0] == '+':
			out = append(out, line{text: text[1:], state: added})
		case at >= len(document) || !alike(document[at], text[1:]):
			err = ErrOther
		case text[0] == '-':
			err = take(at+1, removed)
		default:
			err = take(at+1, same)
		}
		if err != nil {
			return nil, err
		}
	}
	return out, take(len(document), same)
}

func number(digits string) (n int) {
	for _, d := range digits {
		n = n*10 + int(d-'0')
	}
	return n
}

// alike compares a line of a document with one of a difference, which does not show secrets.
func alike(document, shown string) bool {
	before, _, masked := strings.Cut(shown, "***")
	return document == shown || masked && strings.HasPrefix(document, before[:strings.IndexByte(before+":", ':')])
}

// item begins an object in a list.
var item = regexp.MustCompile(`^ *- [A-Za-z_][\w-]*:`)

func indent(text string) int { return len(text) - len(strings.TrimLeft(text, " ")) }

// above is the line that line i belongs to, -1 for one at the top.
func (w whole) above(i int) int {
	of := indent(w[i].text)
	for i--; i >= 0; i-- {
		if indent(w[i].text) < of {
			return i
		}
	}
	return -1
}

// object is the line where the object begins that line i is part of and that is there
// afterwards: that of a list, or the part of the settings below the top. -1: there is none.
func (w whole) object(i int) int {
	section := -1
	for ; i >= 0; i = w.above(i) {
		if w[i].state == removed {
			continue
		}
		if item.MatchString(w[i].text) {
			return i
		}
		if w.above(i) >= 0 {
			section = i
		}
	}
	return section
}

// markObjects marks what changed, and what leads to it, as kept.
func (w whole) markObjects() {
	last := -1
	for i := range w {
		if w[i].state == same {
			continue
		}
		begin := w.object(i)
		if begin == last || begin < 0 {
			continue
		}
		last, w[begin].kept = begin, true
		for j := begin + 1; j < len(w) && indent(w[j].text) > indent(w[begin].text); j++ {
			w[j].kept = true
		}
		for j := w.above(begin); j >= 0; j = w.above(j) {
			w[j].kept = true
		}
	}
}
