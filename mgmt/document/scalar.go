package document

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"unicode"
)

// isPlain reports whether a text needs no quotes: it starts with a letter or slash and has no
// special YAML characters. A colon ends a key only at the end of the text or before a blank.
// The function is fast because a large zone has millions of such texts.
func isPlain(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c|0x20 && c|0x20 <= 'z', c == '/':
		case i == 0:
			return false
		case '0' <= c && c <= '9', strings.IndexByte("_.%+~-", c) >= 0:
		case c == ':' && s[i-1] != ':' && i < len(s)-1:
		default:
			return false
		}
	}
	return s != ""
}

// words are not read as text by some YAML version.
var words = []string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"}

// yamlText returns a text in a form that is read back byte for byte. It is plain if that is
// safe, a literal block for several printable lines, else quoted. indent starts the lines of a
// block.
func yamlText(s, indent string) string {
	if isPlain(s) && !slices.Contains(words, strings.ToLower(s)) {
		return s
	}
	if addr, err := netip.ParseAddr(s); err == nil && addr.Is4() {
		return s
	}
	if isBlock(s) {
		return yamlBlock(s, indent)
	}
	return yamlQuoted(s)
}

// isBlock reports whether a literal block can hold s: several printable lines, none blank or
// with blanks at its ends, and at most one newline at the end.
func isBlock(s string) bool {
	body := strings.TrimSuffix(s, "\n")
	if !strings.Contains(body, "\n") {
		return false
	}
	for line := range strings.SplitSeq(body, "\n") {
		if line == "" || strings.TrimSpace(line) != line || !isPrintable(line) {
			return false
		}
	}
	return true
}

func yamlBlock(s, indent string) string {
	head := "|-"
	if strings.HasSuffix(s, "\n") {
		head, s = "|", s[:len(s)-1]
	}
	return head + "\n" + indent + strings.ReplaceAll(s, "\n", "\n"+indent)
}

func isPrintable(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}

// yamlQuoted returns a double-quoted scalar (YAML 1.2, 5.7).
func yamlQuoted(s string) string {
	var out strings.Builder
	out.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			out.WriteByte('\\')
			out.WriteRune(r)
		case r == '\n':
			out.WriteString(`\n`)
		case r == '\t':
			out.WriteString(`\t`)
		case r == '\r':
			out.WriteString(`\r`)
		case unicode.IsPrint(r):
			out.WriteRune(r)
		case r <= 0xff:
			fmt.Fprintf(&out, `\x%02x`, r)
		case r <= 0xffff:
			fmt.Fprintf(&out, `\u%04x`, r)
		default:
			fmt.Fprintf(&out, `\U%08x`, r)
		}
	}
	out.WriteByte('"')
	return out.String()
}
