package probe

import (
	"errors"
	"fmt"
	"strings"
)

// Limits of a command, in bytes and words.
const (
	maxCommand = 4 << 10
	maxWords   = 128
)

// CommandWords is Words for the command of a check. The two shell command lines of the
// product family are read as the checks they stand for.
func CommandWords(command string) ([]string, error) { return Words(plain(command)) }

// Words splits a command into words as a shell would: at blanks, with '…', "…" and
// backslashes. Syntax that needs a shell is an error: nothing is ever expanded.
func Words(command string) ([]string, error) {
	s, err := split(command)
	return s.words, err
}

func split(command string) (splitter, error) {
	if len(command) > maxCommand {
		return splitter{}, fmt.Errorf("the command is %d bytes long, %d at most are allowed", len(command), maxCommand)
	}
	for i := range len(command) {
		if c := command[i]; c < ' ' && c != '\t' || c == 0x7f {
			return splitter{}, fmt.Errorf("the command has a control character at byte %d", i+1)
		}
	}
	s := splitter{rest: command}
	for s.next() {
		if len(s.words) > maxWords {
			return splitter{}, fmt.Errorf("the command has more than %d words", maxWords)
		}
	}
	return s, s.err
}

// splitter splits off one word after the other.
type splitter struct {
	rest  string
	words []string
	raw   []string // each word as written, with its quotes
	err   error
}

var errQuote = errors.New("a quote is not closed: write ' as \"'\" and \" as '\"'")

func (s *splitter) next() bool {
	s.rest = strings.TrimLeft(s.rest, " \t")
	if s.rest == "" {
		return false
	}
	var word strings.Builder
	from := s.rest
	for s.rest != "" && s.rest[0] != ' ' && s.rest[0] != '\t' && s.err == nil {
		s.piece(&word)
	}
	if s.err == nil {
		s.words = append(s.words, word.String())
		s.raw = append(s.raw, from[:len(from)-len(s.rest)])
	}
	return s.err == nil
}

// piece reads one character, or the text between two quotes.
func (s *splitter) piece(word *strings.Builder) {
	c := s.rest[0]
	switch {
	case c == '\'':
		inside, after, closed := strings.Cut(s.rest[1:], "'")
		if !closed {
			s.err = errQuote
			return
		}
		word.WriteString(inside)
		s.rest = after
	case c == '"':
		s.rest = s.rest[1:]
		s.quoted(word)
	case c == '\\':
		if len(s.rest) == 1 {
			s.err = errors.New("the command ends with a backslash")
			return
		}
		word.WriteByte(s.rest[1])
		s.rest = s.rest[2:]
	case strings.IndexByte("|&;<>()`", c) >= 0 || expands(s.rest):
		s.err = fmt.Errorf("%q is for a shell, and checks run without one: put the word into single quotes if it is meant as it stands", c)
	default:
		word.WriteByte(c)
		s.rest = s.rest[1:]
	}
}

// quoted reads the text up to the next double quote.
func (s *splitter) quoted(word *strings.Builder) {
	for s.rest != "" {
		c := s.rest[0]
		switch {
		case c == '"':
			s.rest = s.rest[1:]
			return
		case c == '`' || expands(s.rest):
			s.err = fmt.Errorf("%q in double quotes is for a shell, and checks run without one: use single quotes", c)
			return
		case c == '\\' && len(s.rest) > 1 && strings.IndexByte("\"\\$`", s.rest[1]) >= 0:
			c = s.rest[1]
			s.rest = s.rest[1:]
		}
		word.WriteByte(c)
		s.rest = s.rest[1:]
	}
	s.err = errQuote
}

// expands reports whether a shell would expand the $.
func expands(rest string) bool {
	if len(rest) < 2 || rest[0] != '$' {
		return false
	}
	c := rest[1]
	return c == '{' || c == '(' || c == '$' || c == '_' || 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9'
}
