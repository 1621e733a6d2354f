package shell

import (
	"errors"
	"fmt"
	"strings"
)

// errOpen means that a line continues: a quote is open, or it ends with a backslash.
var errOpen = errors.New("a quote is not closed")

// word is an unquoted word of a line with its position.
type word struct {
	text  string
	begin int
}

// notPlain are characters with a meaning in sh that is unsupported here. They must be
// quoted, so that a line works the same in sh.
const notPlain = "|&;<>()"

// split splits a line into words like sh: blanks separate, quotes and backslashes join, and
// # begins a comment. Nothing is expanded: $, ` and * are literal. ends means that the line
// ends within its last word.
func split(line string) (words []word, ends bool, err error) {
	var text strings.Builder
	begin, quote := -1, byte(0)
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case quote == '\'':
			if c == quote {
				quote = 0
			} else {
				text.WriteByte(c)
			}
		case quote == '"':
			switch {
			case c == quote:
				quote = 0
			case c == '\\' && i+1 < len(line) && strings.IndexByte("$`\"\\\n", line[i+1]) >= 0:
				if i++; line[i] != '\n' {
					text.WriteByte(line[i])
				}
			default:
				text.WriteByte(c)
			}
		case c == ' ' || c == '\t' || c == '\n':
			if begin >= 0 {
				words, begin = append(words, word{text.String(), begin}), -1
				text.Reset()
			}
		case c == '#' && begin < 0:
			for i+1 < len(line) && line[i+1] != '\n' {
				i++
			}
		case strings.IndexByte(notPlain, c) >= 0 && err == nil:
			err = fmt.Errorf("%q has no meaning here: there are no pipes, files and lists of commands; write it in quotes if it is part of a word", c)
		default:
			if begin < 0 {
				begin = i
			}
			switch {
			case c == '\'' || c == '"':
				quote = c
			case c == '\\' && i+1 == len(line):
				err = errOpen
			case c == '\\':
				if i++; line[i] != '\n' {
					text.WriteByte(line[i])
				} else if text.Len() == 0 {
					begin = -1 // a line that goes on
				}
			default:
				text.WriteByte(c)
			}
		}
	}
	if begin >= 0 {
		words = append(words, word{text.String(), begin})
	}
	if quote != 0 {
		err = errOpen
	}
	return words, begin >= 0, err
}

// texts are the words alone.
func texts(words []word) []string {
	out := make([]string, len(words))
	for i := range words {
		out[i] = words[i].text
	}
	return out
}

// Quote returns a word in the form that split, and sh, read back unchanged.
func Quote(text string) string {
	if text != "" && strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,@%+^") == "" {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
