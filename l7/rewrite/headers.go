package rewrite

import (
	"fmt"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/route"
)

// Remover removes fields from heads. It is immutable; nil removes nothing.
type Remover struct {
	lines *route.Set
}

// NewRemover compiles rules, or returns nil if there are none.
func NewRemover(rules []farm.HeaderRemove) (*Remover, error) {
	if len(rules) == 0 {
		return nil, nil
	}
	patterns := make([]string, len(rules))
	for i, r := range rules {
		patterns[i] = r.Pattern
	}
	lines, err := route.CompileSet(patterns, true)
	if err != nil {
		return nil, err
	}
	return &Remover{lines}, nil
}

// Remove removes the fields whose line "Name: value" matches a pattern, ignoring case.
func (r *Remover) Remove(h *http1.Head, s *Scratch) {
	for i := range h.NumFields {
		if k := r.Finds(h, i, s); k >= 0 && h.Remove(i) && s.observer != nil {
			s.observer.Removed(h, i, k)
		}
	}
}

// Finds returns the rule that removes field i, or -1.
func (r *Remover) Finds(h *http1.Head, i int, s *Scratch) int {
	if !r.lines.Starts(h.Name(i)[0]) || !h.Visible(i) {
		return -1
	}
	return r.lines.Match(s.lineOf(h, i))
}

// lineOf returns field i as "Name: value", valid until the next call.
func (s *Scratch) lineOf(h *http1.Head, i int) []byte {
	line, grown := h.Line(i, s.line)
	if grown != nil {
		s.line = grown
	}
	return line
}

// Replacer changes field values. It is immutable; nil changes nothing.
type Replacer struct {
	rules []replacement
}

// replacement is one rule.
type replacement struct {
	names *route.Set // one pattern
	match *Pattern
	text  *Template
}

// NewReplacer compiles lists of rules, which are applied in sequence. It returns nil if
// there are no rules.
func NewReplacer(lists ...[]farm.HeaderReplace) (*Replacer, error) {
	r := &Replacer{}
	for _, rules := range lists {
		for _, rule := range rules {
			compiled, err := newReplacement(&rule)
			if err != nil {
				return nil, err
			}
			r.rules = append(r.rules, compiled)
		}
	}
	if len(r.rules) == 0 {
		return nil, nil
	}
	return r, nil
}

func newReplacement(rule *farm.HeaderReplace) (r replacement, err error) {
	if r.names, err = route.CompileSet([]string{rule.Header}, true); err != nil {
		return r, fmt.Errorf("header: %w", err)
	}
	if r.match, err = CompilePattern(rule.Match, false); err != nil {
		return r, fmt.Errorf("match: %w", err)
	}
	if r.text, err = CompileTemplate(rule.Replace, false); err != nil {
		return r, fmt.Errorf("replace: %w", err)
	}
	return r, nil
}

// Replace applies the rules in order, each to every field whose name matches its name
// pattern, ignoring case. The first match of its other pattern in the value is replaced. The
// error http1.ErrHeadTooLong means that a value exceeds the limit of a head. The values are
// valid until s is reset.
func (r *Replacer) Replace(h *http1.Head, s *Scratch) error {
	for k := range r.rules {
		rule := &r.rules[k]
		for i := range h.NumFields {
			name := h.Name(i)
			if !rule.names.Starts(name[0]) || !h.Visible(i) || rule.names.Match(name) < 0 {
				continue
			}
			if err := rule.apply(h, i, s, k); err != nil {
				return err
			}
		}
	}
	return nil
}

// apply applies rule number k to one field.
func (r *replacement) apply(h *http1.Head, i int, s *Scratch, k int) error {
	var g Groups
	v := h.Value(i)
	if !r.match.Find(v, &g, s) {
		return nil
	}
	from := len(s.text)
	s.text = r.text.replace(s.text, v, &g)
	if len(s.text)-from > http1.MaxHead {
		return http1.ErrHeadTooLong
	}
	// All pieces are parts of values, so this cannot fail. If it did, the field would stay
	// unchanged.
	if value, ok := http1.CheckValue(s.text[from:]); ok && h.Edit(i, value) && s.observer != nil {
		s.observer.Replaced(h, i, k, v)
	}
	return nil
}

// replace appends b with the match replaced by the template.
func (t *Template) replace(dst, b []byte, g *Groups) []byte {
	dst = append(dst, b[:g[0]]...)
	dst = t.Append(dst, b, g, nil)
	return append(dst, b[g[1]:]...)
}

// Lines returns the field lines that rules add.
func Lines(rules []farm.HeaderAdd) ([]byte, error) {
	var out []byte
	for _, r := range rules {
		name, value, found := strings.Cut(r.Header, ":")
		v, ok := http1.CheckValue([]byte(strings.Trim(value, " \t")))
		switch {
		case !found:
			return nil, fmt.Errorf("header %q: write it as \"Name: value\"", r.Header)
		case !ok:
			return nil, fmt.Errorf("header %q: the value holds a control byte", r.Header)
		case http1.Fixed([]byte(name)):
			return nil, fmt.Errorf("header %q: %q is no name of a field that rules may add", r.Header, name)
		}
		out = http1.AppendField(out, name, v)
	}
	return out, nil
}

// FindLine returns the first field whose line "Name: value" matches a pattern, and that
// pattern, or -1 and -1.
func (s *Scratch) FindLine(h *http1.Head, patterns *route.Set) (field, pattern int) {
	for i := range h.NumFields {
		if !patterns.Starts(h.Name(i)[0]) || !h.Visible(i) {
			continue
		}
		if k := patterns.Match(s.lineOf(h, i)); k >= 0 {
			return i, k
		}
	}
	return -1, -1
}
