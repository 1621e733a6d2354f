package zonefile

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// numbers is the range of $GENERATE: first-last, and the step between them.
type numbers struct{ first, last, step int64 }

func parseNumbers(text string) (n numbers, ok bool) {
	text, step, stepped := strings.Cut(text, "/")
	first, last, ok := strings.Cut(text, "-")
	if !stepped {
		step = "1"
	}
	var errs [3]error
	n.first, errs[0] = strconv.ParseInt(first, 10, 32)
	n.last, errs[1] = strconv.ParseInt(last, 10, 32)
	n.step, errs[2] = strconv.ParseInt(step, 10, 32)
	return n, ok && errs == [3]error{} && n.first >= 0 && n.last >= n.first && n.step > 0
}

// expanded replaces each $ in a line of $GENERATE by a number, in the format given in
// braces after it. $$ and \$ are a dollar sign.
func expanded(line string, number int64) (out string, ok bool) {
	var b strings.Builder
	for i := 0; i < len(line); i++ {
		switch {
		case line[i] == '\\' && i+1 < len(line):
			b.WriteString(line[i : i+2])
			i++
		case line[i] != '$':
			b.WriteByte(line[i])
		case strings.HasPrefix(line[i:], "$$"):
			b.WriteByte('$')
			i++
		case strings.HasPrefix(line[i:], "${"):
			form, _, closed := strings.Cut(line[i+2:], "}")
			text, known := formed(form, number)
			if !closed || !known {
				return "", false
			}
			b.WriteString(text)
			i += 2 + len(form)
		default:
			b.WriteString(strconv.FormatInt(number, 10))
		}
	}
	return b.String(), true
}

// formed returns a number in a format. The format has a number to add, the least width, and
// the base: d, o, x or X, or n or N. With n and N the hexadecimal digits are in reverse
// order with dots between them, which count for the width (ip6.arpa).
func formed(form string, number int64) (text string, ok bool) {
	parts := strings.Split(form, ",")
	if len(parts) > 3 {
		return "", false
	}
	width, base := uint64(0), "d"
	add, err := strconv.ParseInt(parts[0], 10, 32)
	if len(parts) > 1 && err == nil {
		width, err = strconv.ParseUint(parts[1], 10, 8)
	}
	if len(parts) > 2 {
		base = parts[2]
	}
	if number += add; err != nil || number < 0 && base != "d" || number > math.MaxUint32 {
		return "", false
	}
	switch base {
	case "d", "o", "x", "X":
		return fmt.Sprintf("%0*"+base, int(width), number), true
	case "n":
		return nibbles(number, int(width), "0123456789abcdef"), true
	case "N":
		return nibbles(number, int(width), "0123456789ABCDEF"), true
	}
	return "", false
}

// whole returns a generated record with the data in quotes as a whole, as BIND reads it:
// the quotes only keep the words together.
func whole(text string) string {
	at := strings.IndexByte(text, '"')
	if at < 0 {
		return text
	}
	inner, quoted := cutQuote(strings.TrimRight(text[at+1:], " \t"), at > 0 && (text[at-1] == ' ' || text[at-1] == '\t'))
	if !quoted || !isHead(text[:at]) {
		return text
	}
	return text[:at] + unescapedQuotes(inner)
}

// isHead reports whether a text is all of a record before its data.
func isHead(text string) bool {
	h, err := readHead(text)
	return err == nil && h.data == ""
}

// unescapedQuotes removes the backslash of escaped quotes, and keeps other escapes.
func unescapedQuotes(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) {
			if i++; text[i] != '"' {
				b.WriteByte('\\')
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// nibbles returns the digits of a number in reverse order.
func nibbles(number int64, width int, digits string) string {
	var b strings.Builder
	for {
		b.WriteByte(digits[number&15])
		number >>= 4
		if width--; number == 0 && width <= 0 {
			return b.String()
		}
		b.WriteByte('.')
		if width--; number == 0 && width <= 0 {
			return b.String()
		}
	}
}
