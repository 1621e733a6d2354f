package zonefile

import (
	"bytes"
	"strings"
)

// entry is a record or a directive of a file, in one line: without comments, parentheses
// and the line ends between them.
type entry struct {
	line    int // first line, from 1
	text    []byte
	blank   bool // it begins with a blank, so it has no name
	comment string
	problem string // why it cannot be read
}

const (
	// mostOpenLines and mostOpenBytes limit an entry with an open parenthesis: the
	// following lines are read again as separate entries.
	mostOpenLines = 200
	mostOpenBytes = 32 << 10
)

// lineEnds converts the line ends of other systems, CR LF and CR, to LF.
func lineEnds(file []byte) []byte {
	if bytes.IndexByte(file, '\r') < 0 {
		return file
	}
	return bytes.ReplaceAll(bytes.ReplaceAll(file, []byte("\r\n"), []byte("\n")), []byte("\r"), []byte("\n"))
}

// entries splits a file into entries (RFC 1035 §5.1).
type entries struct {
	left []byte
	line int // number of lines read
	open bool
	text []byte // of the entry, until the next one
}

// next returns the next entry, false at the end of the file.
func (e *entries) next() (out entry, ok bool) {
	if len(e.left) == 0 {
		return entry{}, false
	}
	out.line, out.blank = e.line+1, e.left[0] == ' ' || e.left[0] == '\t'
	left, end := e.left, 0
	if end = e.cut(&out); end >= 0 {
		e.left = e.left[end:]
		return out, true
	}
	e.open, e.line = true, out.line
	out.problem, out.text, e.left = `a parenthesis is open at its end`, nil, nil
	if at := bytes.IndexByte(left, '\n'); at >= 0 {
		e.left = left[at+1:]
	}
	return out, true
}

// cut reads an entry and returns its end, -1 if a parenthesis is never closed.
func (e *entries) cut(out *entry) (end int) {
	e.text = e.text[:0]
	depth, quoted := 0, false
	for i := 0; i < len(e.left); i++ {
		switch c := e.left[i]; {
		case c == '\n':
			e.line++
			if quoted {
				out.problem = "a quote is open at its end"
			}
			if depth == 0 || quoted {
				out.text = e.text
				return i + 1
			}
			if e.open && (e.line-out.line >= mostOpenLines || i >= mostOpenBytes) {
				return -1
			}
			e.text = append(e.text, ' ')
		case c == '\\' && i+1 < len(e.left) && e.left[i+1] != '\n':
			e.text = append(e.text, c, e.left[i+1])
			i++
		case c == '"':
			quoted = !quoted
			e.text = append(e.text, c)
		case quoted:
			e.text = append(e.text, c)
		case c == ';':
			i += out.takeComment(e.left[i:]) - 1
		case c == '(', c == ')':
			if depth++; c == ')' {
				depth -= 2
			}
			if depth < 0 {
				out.problem, depth = "a parenthesis is closed that was not open", 0
			}
			e.text = append(e.text, ' ')
		default:
			e.text = append(e.text, c)
		}
	}
	if depth > 0 {
		return -1
	}
	if quoted {
		out.problem = "a quote is open at its end"
	}
	e.line++
	out.text = e.text
	return len(e.left)
}

// takeComment adds the comment at the beginning of text, and returns its length.
func (out *entry) takeComment(text []byte) int {
	n := bytes.IndexByte(text, '\n')
	if n < 0 {
		n = len(text)
	}
	if len(out.comment) < mostComment {
		words := strings.TrimSpace(strings.TrimLeft(string(text[:min(n, 2*mostComment)]), "; "))
		out.comment = strings.TrimSpace(out.comment + " " + words)
	}
	return n
}
