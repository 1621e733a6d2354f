package rdata

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// mostRepeats is the maximum count of a repetition (POSIX RE_DUP_MAX).
const mostRepeats = 255

// classes are the character classes of extended regular expressions (POSIX §9.3.5).
var classes = []string{"alnum", "alpha", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper", "xdigit"}

// expression parses a POSIX extended regular expression (IEEE 1003.1 §9.4). It accepts
// what BIND accepts. Go's regexp package has additional syntax and accepts empty
// alternatives.
type expression struct {
	text   string
	at     int
	groups int
	// atom is true after something that can be repeated, repeated after a repetition.
	atom, repeated bool
}

// groupsOf returns the number of groups of an expression.
func groupsOf(text []byte) (int, error) {
	e := expression{text: string(text)}
	if err := e.alternatives(0); err != nil {
		return 0, fmt.Errorf("%q %w", text, err)
	}
	return e.groups, nil
}

var (
	errNothing  = errors.New("has an empty alternative, or repeats nothing")
	errRepeated = errors.New("repeats a repetition")
	errOpen     = errors.New("has a group, a bracket or an escape that does not end")
	errRange    = errors.New("has a range, a class or a number of repetitions that is not possible")
)

// alternatives parses up to the end of the text or of a group.
func (e *expression) alternatives(depth int) error {
	begin, empty := e.at, true
	e.atom, e.repeated = false, false
	for ; e.at < len(e.text); empty = false {
		c := e.text[e.at]
		e.at++
		var err error
		switch {
		case c == '(':
			e.groups++
			if err = e.alternatives(depth + 1); err == nil {
				e.atom, e.repeated = true, false
			}
		case c == ')' && depth > 0:
			if !e.atom && !(empty && e.at-1 == begin) {
				return errNothing
			}
			return nil
		case c == '|':
			if !e.atom {
				return errNothing
			}
			e.atom, e.repeated = false, false
		default:
			err = e.piece(c)
		}
		if err != nil {
			return err
		}
	}
	switch {
	case depth > 0:
		return errOpen
	case !e.atom:
		return errNothing
	}
	return nil
}

// piece parses anything except groups.
func (e *expression) piece(c byte) error {
	switch {
	case c == '*' || c == '+' || c == '?':
		return e.repeat()
	case c == '{' && e.at < len(e.text) && isDigit(e.text[e.at]):
		if err := e.bounds(); err != nil {
			return err
		}
		return e.repeat()
	case c == '^' || c == '$':
		e.atom, e.repeated = true, true // an anchor cannot be repeated
		return nil
	case c == '[':
		if err := e.bracket(); err != nil {
			return err
		}
	case c == '\\':
		if e.at == len(e.text) {
			return errOpen
		}
		if d := e.text[e.at]; isDigit(d) && d != '0' && int(d-'0') > e.groups {
			return errors.New("refers to a group that does not exist")
		}
		e.at++
	}
	e.atom, e.repeated = true, false
	return nil
}

func (e *expression) repeat() error {
	switch {
	case e.repeated:
		return errRepeated
	case !e.atom:
		return errNothing
	}
	e.repeated = true
	return nil
}

// bounds parses the numbers of {2}, {2,} or {2,3}.
func (e *expression) bounds() error {
	text, rest, closed := strings.Cut(e.text[e.at:], "}")
	if !closed {
		return errOpen
	}
	e.at = len(e.text) - len(rest)
	low, high, both := strings.Cut(text, ",")
	least, ok := smallNumber(low)
	most := least
	if both && high != "" && ok {
		most, ok = smallNumber(high)
	}
	if !ok || least > most {
		return errRange
	}
	return nil
}

func smallNumber(text string) (n int, ok bool) {
	for _, c := range []byte(text) {
		if n = 10*n + int(c-'0'); !isDigit(c) || n > mostRepeats {
			return 0, false
		}
	}
	return n, text != ""
}

// bracket parses a list of characters, ranges and classes.
func (e *expression) bracket() error {
	if strings.HasPrefix(e.text[e.at:], "^") {
		e.at++
	}
	ranged := false // the previous item was a range
	for first := true; ; first = false {
		c, ok := e.member()
		switch {
		case !ok:
			return errOpen
		case c == "]" && !first:
			return nil
		case c == "-" && ranged && !strings.HasPrefix(e.text[e.at:], "]"):
			return errRange
		case len(c) > 1 && c[0] == ':' && !slices.Contains(classes, c[1:]):
			return errRange
		}
		rest := e.text[e.at:]
		if ranged = len(rest) > 1 && rest[0] == '-' && rest[1] != ']'; !ranged {
			continue
		}
		e.at++
		last, ok := e.member()
		if !ok {
			return errOpen
		}
		if len(c) > 1 && c[0] != '.' || len(last) > 1 && last[0] != '.' || len(c) == 1 && len(last) == 1 && last[0] < c[0] {
			return errRange
		}
	}
}

// member parses a character of a bracket, or [:class:], [=a=] or [.a.], which it
// returns without delimiters.
func (e *expression) member() (text string, ok bool) {
	if e.at == len(e.text) {
		return "", false
	}
	c := e.text[e.at]
	e.at++
	if c != '[' || e.at == len(e.text) || strings.IndexByte(":=.", e.text[e.at]) < 0 {
		return string(c), true
	}
	kind := e.text[e.at]
	inner, rest, closed := strings.Cut(e.text[e.at+1:], string(kind)+"]")
	if !closed || inner == "" {
		return "", false
	}
	e.at = len(e.text) - len(rest)
	return string(kind) + inner, true
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
