package rewrite

import (
	"fmt"
	"strings"

	"github.com/sluicelb/sluice/l7/http1"
)

// hostVariable stands for the requested host.
const hostVariable = "${VHOST}"

// Template is the replacement of a match: $1 to $9 stand for its groups, and every other $
// for itself. It is immutable.
type Template struct {
	parts []part
}

// part is a literal, a group, or the host.
type part struct {
	text  string
	group int // 1 … 9; 0 means none
	host  bool
}

// CompileTemplate compiles a text, which must be valid in a field value. With host, ${VHOST}
// stands for the requested host.
func CompileTemplate(text string, host bool) (*Template, error) {
	if _, ok := http1.CheckValue([]byte(text)); !ok {
		return nil, fmt.Errorf("%q holds a control byte", text)
	}
	t := &Template{}
	for text != "" {
		var p part
		p, text = cutPart(text, host)
		t.parts = append(t.parts, p)
	}
	return t, nil
}

// cutPart splits off the first part of a text.
func cutPart(text string, host bool) (p part, rest string) {
	switch {
	case host && strings.HasPrefix(text, hostVariable):
		return part{host: true}, text[len(hostVariable):]
	case len(text) > 1 && text[0] == '$' && text[1] >= '1' && text[1] <= '9':
		return part{group: int(text[1] - '0')}, text[2:]
	}
	end := strings.IndexByte(text[1:], '$') + 1
	if end == 0 {
		end = len(text)
	}
	return part{text: text[:end]}, text[end:]
}

// Grouped reports whether the template uses a group.
func (t *Template) Grouped() bool {
	for i := range t.parts {
		if t.parts[i].group > 0 {
			return true
		}
	}
	return false
}

// Append appends the text for a match in b. host is used if CompileTemplate was called with
// host. Groups that did not participate are empty.
func (t *Template) Append(dst, b []byte, g *Groups, host []byte) []byte {
	for i := range t.parts {
		switch p := &t.parts[i]; {
		case p.host:
			dst = append(dst, host...)
		case p.group == 0:
			dst = append(dst, p.text...)
		case g[2*p.group] >= 0 && g[2*p.group+1] >= 0:
			dst = append(dst, b[g[2*p.group]:g[2*p.group+1]]...)
		}
	}
	return dst
}
