package rest

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// Encode encodes v in Zevenet's style: indented by two blanks, with sorted keys. < > & stay
// escaped, so that a response is harmless if interpreted as HTML.
func Encode(v any) ([]byte, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	p := printer{raw: raw, out: make([]byte, 0, 2*len(raw))}
	p.value(0)
	return p.out, nil
}

// encoded is Encode with a final line feed. It reuses the encoded form of a cached list.
func encoded(v any) ([]byte, error) {
	if l, is := v.(interface{ written() []byte }); is && l.written() != nil {
		return l.written(), nil
	}
	b, err := Encode(v)
	return append(b, '\n'), err
}

// printer indents the output of json.Marshal and sorts its keys in one pass. Decoding it
// into maps, which the library sorts, takes more than six times as long.
type printer struct {
	raw, out []byte
	depth    int
	members  []member // of the open objects
	scratch  []byte
}

// member is a member of an object: its escaped key without quotes, and its position in out.
type member struct {
	key        []byte
	begin, end int
}

// value writes the value that starts at a position and returns its end.
func (p *printer) value(at int) int {
	switch p.raw[at] {
	case '{':
		return p.object(at)
	case '[':
		return p.array(at)
	}
	end := p.scalar(at)
	p.out = append(p.out, p.raw[at:end]...)
	return end
}

// scalar returns the end of a string, number or literal.
func (p *printer) scalar(at int) int {
	if p.raw[at] == '"' {
		return p.text(at)
	}
	for at < len(p.raw) && p.raw[at] != ',' && p.raw[at] != '}' && p.raw[at] != ']' {
		at++
	}
	return at
}

// text returns the end of a string.
func (p *printer) text(at int) int {
	for at++; p.raw[at] != '"'; at++ {
		if p.raw[at] == '\\' {
			at++
		}
	}
	return at + 1
}

const indent = "                                "

func (p *printer) line() {
	p.out = append(p.out, '\n')
	for n := 2 * p.depth; n > 0; n -= len(indent) {
		p.out = append(p.out, indent[:min(n, len(indent))]...)
	}
}

func (p *printer) array(at int) int {
	p.out = append(p.out, '[')
	if p.raw[at+1] == ']' {
		p.out = append(p.out, ']')
		return at + 2
	}
	p.depth++
	for {
		p.line()
		at = p.value(at + 1)
		if p.raw[at] == ']' {
			break
		}
		p.out = append(p.out, ',')
	}
	p.depth--
	p.line()
	p.out = append(p.out, ']')
	return at + 1
}

func (p *printer) object(at int) int {
	p.out = append(p.out, '{')
	if p.raw[at+1] == '}' {
		p.out = append(p.out, '}')
		return at + 2
	}
	first := len(p.members)
	p.depth++
	for {
		begin, from := len(p.out), at+1
		p.line()
		at = p.text(from)
		key := p.raw[from+1 : at-1]
		p.out = append(append(p.out, p.raw[from:at]...), ": "...)
		at = p.value(at + 1)
		p.members = append(p.members, member{key, begin, len(p.out)})
		if p.raw[at] == '}' {
			break
		}
		p.out = append(p.out, ',')
	}
	p.sort(p.members[first:])
	p.members = p.members[:first]
	p.depth--
	p.line()
	p.out = append(p.out, '}')
	return at + 1
}

// sort sorts the members of the object written last.
func (p *printer) sort(members []member) {
	if slices.IsSortedFunc(members, byKey) {
		return
	}
	begin := members[0].begin
	slices.SortStableFunc(members, byKey)
	p.scratch = p.scratch[:0]
	for i, m := range members {
		if i > 0 {
			p.scratch = append(p.scratch, ',')
		}
		p.scratch = append(p.scratch, p.out[m.begin:m.end]...)
	}
	copy(p.out[begin:], p.scratch)
}

// byKey compares keys like the library: unescaped.
func byKey(a, b member) int {
	if !bytes.ContainsRune(a.key, '\\') && !bytes.ContainsRune(b.key, '\\') {
		return bytes.Compare(a.key, b.key)
	}
	var one, other string
	_ = json.Unmarshal(slices.Concat([]byte{'"'}, a.key, []byte{'"'}), &one) // encoded by the library
	_ = json.Unmarshal(slices.Concat([]byte{'"'}, b.key, []byte{'"'}), &other)
	return strings.Compare(one, other)
}
