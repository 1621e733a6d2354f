package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sort"

	"github.com/sluicelb/sluice/mgmt/validate/field"
)

// jsonReader reads a JSON document into nodes. JSON is nearly YAML, but its files may be
// indented with tabs, and its errors should have their position.
type jsonReader struct {
	in    *json.Decoder
	text  []byte
	lines []int // offset of each line's first byte
}

func parseJSON(b []byte) (*node, error) {
	r := &jsonReader{in: json.NewDecoder(bytes.NewReader(b)), text: b, lines: []int{0}}
	r.in.UseNumber()
	for i, c := range b {
		if c == '\n' {
			r.lines = append(r.lines, i+1)
		}
	}
	root, err := r.value(0)
	if err != nil {
		return nil, err
	}
	end := int(r.in.InputOffset())
	if rest := bytes.TrimLeft(b[end:], " \t\r\n"); len(rest) > 0 {
		return nil, r.errorAt(len(b)-len(rest), "something follows the document")
	}
	return root, nil
}

func (r *jsonReader) value(depth int) (*node, error) {
	t, err := r.in.Token()
	if err != nil {
		return nil, r.unreadable(err)
	}
	if depth > maxDepth {
		return nil, r.errorf("the document nests deeper than %d levels", maxDepth)
	}
	n := r.here()
	switch v := t.(type) {
	case json.Delim:
		if v == '{' {
			return n, r.object(n, depth)
		}
		return n, r.array(n, depth)
	case string:
		n.kind, n.text = scalar, v
	case json.Number:
		n.kind, n.text = scalar, field.Whole(v)
	case bool:
		n.kind, n.text = scalar, fmt.Sprint(v)
	}
	return n, nil
}

func (r *jsonReader) object(n *node, depth int) error {
	n.kind = mapping
	for r.in.More() {
		key, err := r.value(depth + 1) // the decoder accepts only strings here
		if err != nil {
			return err
		}
		value, err := r.value(depth + 1)
		if err != nil {
			return err
		}
		n.entries = append(n.entries, entry{key: key.text, at: key, value: value})
	}
	return r.end()
}

func (r *jsonReader) array(n *node, depth int) error {
	n.kind = list
	for r.in.More() {
		item, err := r.value(depth + 1)
		if err != nil {
			return err
		}
		n.items = append(n.items, item)
	}
	return r.end()
}

func (r *jsonReader) end() error {
	if _, err := r.in.Token(); err != nil {
		return r.unreadable(err)
	}
	return nil
}

// unreadable returns the error of a token that cannot be read. It has its own text and position
// for an early end, because these differ between releases of Go.
func (r *jsonReader) unreadable(err error) error {
	syntax, ok := errors.AsType[*json.SyntaxError](err)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || ok && syntax.Error() == "unexpected end of JSON input" {
		return r.errorAt(len(r.text)-1, "the JSON ends too early")
	}
	return r.errorf("the JSON cannot be read: %v", err)
}

// here returns the position of the last byte of the last token.
func (r *jsonReader) here() *node {
	return r.at(int(r.in.InputOffset()) - 1)
}

// at returns the position of the byte at an offset.
func (r *jsonReader) at(offset int) *node {
	offset = max(0, offset)
	line := sort.SearchInts(r.lines, offset+1) - 1
	return &node{line: line + 1, column: offset - r.lines[line] + 1}
}

func (r *jsonReader) errorf(format string, args ...any) error {
	return r.errorAt(int(r.in.InputOffset())-1, format, args...)
}

func (r *jsonReader) errorAt(offset int, format string, args ...any) error {
	n := r.at(offset)
	return &Error{Line: n.line, Column: n.column, Err: fmt.Errorf(format, args...)}
}
