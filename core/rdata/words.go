package rdata

import (
	"strconv"
	"strings"
)

// Word cuts the first word from master file text: up to a blank that is neither escaped
// nor quoted. Quotes and escapes are kept.
func Word(text string) (word, rest string) {
	text = strings.TrimLeft(text, " \t")
	quoted := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case (c == ' ' || c == '\t') && !quoted:
			return text[:i], text[i+1:]
		}
	}
	return text, ""
}

// words returns all words of a text without enclosing parentheses, which have no
// meaning within one line.
func words(text string) (out []string) {
	for word, rest := Word(text); word != ""; word, rest = Word(rest) {
		if word = strings.TrimLeft(word, "()"); word != "" {
			out = append(out, word[:groupEnd(word)])
		}
	}
	return out
}

// groupEnd returns the offset at which the parentheses at the end of a word begin. Escaped
// ones belong to the word.
func groupEnd(word string) int {
	end := len(strings.TrimRight(word, "()"))
	escapes := end - len(strings.TrimRight(word[:end], `\`))
	if escapes%2 == 1 && end < len(word) {
		end++
	}
	return end
}

// wordsOfTexts returns all words of data that contain texts. A parenthesis next to other
// characters is part of a text, unless the parentheses enclose all words.
func wordsOfTexts(text string) (out []string) {
	text = strings.Trim(text, " \t")
	if end := groupEnd(text); strings.HasPrefix(text, "(") && len(text)-end == 1 && text[end] == ')' {
		text = text[1:end]
	}
	for word, rest := Word(text); word != ""; word, rest = Word(rest) {
		if strings.Trim(word, "()") != "" {
			out = append(out, word)
		}
	}
	return out
}

// hasLooseParenthesis reports whether a word has a parenthesis next to other characters that
// is neither quoted nor escaped. Zone files give it no place in a text.
func hasLooseParenthesis(text string) bool {
	quoted := false
	for word, rest := Word(text); word != ""; word, rest = Word(rest) {
		grouping := strings.Trim(word, "()") == ""
		for i := 0; i < len(word); i++ {
			switch c := word[i]; {
			case c == '\\':
				i++
			case c == '"':
				quoted = !quoted
			case (c == '(' || c == ')') && !quoted && !grouping:
				return true
			}
		}
	}
	return false
}

// unquoted returns the bytes of a word, with quotes and escapes decoded (RFC 1035
// §5.1).
func unquoted(word string) []byte {
	out := make([]byte, 0, len(word))
	for i := 0; i < len(word); i++ {
		c := word[i]
		if c == '"' {
			continue
		}
		if c == '\\' && i+1 < len(word) {
			i++
			c = word[i]
			if i+2 < len(word) {
				if n, err := strconv.ParseUint(word[i:i+3], 10, 8); err == nil {
					c, i = byte(n), i+2
				}
			}
		}
		out = append(out, c)
	}
	return out
}

// escaped returns quoted text from which unquoted restores the bytes.
func escaped(data []byte) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range data {
		switch {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c > '~':
			b.WriteByte('\\')
			b.WriteString(strconv.Itoa(1000 + int(c))[1:])
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// badEscape reports whether a text has an invalid numeric escape. It must have three
// digits, up to 255 (RFC 1035 §5.1).
func badEscape(text string) bool {
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		if i++; i == len(text) || !isDigit(text[i]) {
			continue
		}
		if i+2 >= len(text) || !isDigit(text[i+1]) || !isDigit(text[i+2]) || text[i:i+3] > "255" {
			return true
		}
		i += 2
	}
	return false
}
