// Package excerpt shows the effect of a change on a document. It applies the diff in the
// appliance's response to the current document, and extracts the changed objects, each with
// the lines of its parents.
package excerpt

import (
	"errors"
	"regexp"
	"strings"
)

// ErrOther means that the diff does not belong to this document.
var ErrOther = errors.New("the configuration was changed by someone else meanwhile: try again")

// After returns the objects of a YAML document that a unified diff changes, in their new
// form; "" if the diff is empty or only deletes. An object in a list (a farm, a service, a
// backend) is returned as a whole; secrets are masked as in the diff.
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

// States of a line.
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

// whole holds the lines before and after a change in one list.
type whole []line

// hunk matches a hunk header, "@@ -12,7 +12,8 @@ farm shop".
var hunk = regexp.MustCompile(`^@@ -(\d+),\d+ \+\d+,\d+ @@`)

// merge combines the lines of a document with added and removed ones.
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

// alike compares a line of a document with one of a diff, in which secrets are masked.
func alike(document, shown string) bool {
	before, _, masked := strings.Cut(shown, "***")
	return document == shown || masked && strings.HasPrefix(document, before[:strings.IndexByte(before+":", ':')])
}

// item matches the beginning of an object in a list.
var item = regexp.MustCompile(`^ *- [A-Za-z_][\w-]*:`)

func indent(text string) int { return len(text) - len(strings.TrimLeft(text, " ")) }

// above returns the parent of line i, or -1 at the top level.
func (w whole) above(i int) int {
	of := indent(w[i].text)
	for i--; i >= 0; i-- {
		if indent(w[i].text) < of {
			return i
		}
	}
	return -1
}

// object returns the first line of the remaining object that line i belongs to: an element
// of a list, or a section of settings. It returns -1 if there is none.
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

// markObjects marks changed lines and their parents as kept.
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
