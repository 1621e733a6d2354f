package field

import (
	"iter"
	"maps"
	"slices"

	"github.com/sluicelb/sluice/mgmt/validate/suggest"
)

// Param is one entry of the family's help response (api-reference, body shapes).
type Param struct {
	Name           string   `json:"name"`
	Format         string   `json:"format,omitempty"`
	PossibleValues []string `json:"possible_values,omitempty"`
	// Interval is e.g. "1,9" for 1 to 9, "0," without an upper bound.
	Interval string `json:"interval,omitempty"`
	// Options holds the applicable ones of "non_blank", "null" (resets a non-blank field),
	// "required" and "list" (of Format).
	Options     []string `json:"options,omitempty"`
	Description string   `json:"description,omitempty"`
	// Plain describes the preferred notation.
	Plain Plain `json:"-"`
	// Of holds the fields of the objects in a list. Plain has an example of such a list.
	Of []Param `json:"-"`
}

// Field combines a rule with the location of its value in a T. If set is nil, the caller of
// Decode acts on the value (e.g. an action or a position).
type Field[T any] struct {
	Rule
	Get func(*T) Value
	Set func(*T, Value)
	// Effective returns the effective value if it is neither the set value nor the rule's
	// default; null: none. nil: it is one of these.
	Effective func(*T) Value
	// Needs explains why the value is impossible, given the earlier fields, and what to
	// send; "" if it is possible. sent is the whole body. nil: always possible.
	Needs func(sent Values[T], to *T) string
	// Explain explains a derived value.
	Explain func(*T) string
}

// Table lists the fields of one kind of body about a T, in the order of checking, setting
// and writing. Immutable.
type Table[T any] struct {
	Fields []Field[T]
	// Facts are derived from the fields. Conditions refer to them, but nobody sends them.
	Facts []Field[T]
}

// Decode checks the body of a change: required fields, unknown names, each value, then servers
// that must be reachable. It returns the first failure as *Error with the given Path. The values
// have the types of encoding/json (with or without UseNumber). An empty body is rejected only
// if a field is required; the API responds to it with Params.
func (t *Table[T]) Decode(path string, body map[string]any) (Values[T], error) {
	out, broken := t.DecodeAll(path, body)
	if len(broken) > 0 {
		return out, broken[0]
	}
	return out, out.reachable()
}

// DecodeAll is Decode with all failures, for documents. Unreachable servers are not among
// them; Warnings names these. It also returns the valid values.
func (t *Table[T]) DecodeAll(path string, body map[string]any) (out Values[T], broken []*Error) {
	out = t.Checked(path, make(map[string]Value, len(body)))
	for i := range t.Fields { // other errors of an object that cannot exist yet help nobody
		r := &t.Fields[i].Rule
		if err := r.later(path, body[r.Name]); err != nil {
			return out, []*Error{err}
		}
	}
	for i := range t.Fields {
		r := &t.Fields[i].Rule
		if _, sent := body[r.Name]; r.Required && !sent && (r.Waived == nil || !r.Waived(body)) {
			broken = append(broken, r.errorf(path, "is required: it must be %s", r.Allowed()))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(body)) {
		if t.Find(name) == nil {
			broken = append(broken, Unknown(path, name, t.Names()))
		}
	}
	for i := range t.Fields {
		r := &t.Fields[i].Rule
		raw, sent := body[r.Name]
		if !sent {
			continue
		}
		if v, err := r.Parse(path, raw); err != nil {
			broken = append(broken, err)
		} else {
			out.values[r.Name] = v
		}
	}
	return out, broken
}

// Checked returns a body of values that are known to be valid.
func (t *Table[T]) Checked(path string, values map[string]Value) Values[T] {
	return Values[T]{table: t, path: path, values: values}
}

// Optional returns the table for a change, without required fields.
func (t *Table[T]) Optional() Table[T] {
	out := Table[T]{slices.Clone(t.Fields), t.Facts}
	for i := range out.Fields {
		out.Fields[i].Required = false
	}
	return out
}

// Unknown returns the error for an unknown field.
func Unknown(path, name string, known []string) *Error {
	return &Error{Path: path, Field: name, Message: "unknown field " + Show(name) + suggest.Field(name, known)}
}

// Params returns the fields for help responses.
func (t *Table[T]) Params() []Param {
	out := make([]Param, len(t.Fields))
	for i := range t.Fields {
		f := &t.Fields[i]
		out[i] = f.param()
		out[i].Description = t.description(f)
		out[i].Plain = f.plainForm()
	}
	return out
}

// description returns the purpose of a field, its default and its condition.
func (t *Table[T]) description(f *Field[T]) string {
	out := f.About
	if v := f.ByDefault(); f.sendable(v) && !v.IsNothing() && !v.Equal(ZeroValue(v.kind)) && (v.kind != List ||
		len(v.list) == 1) {
		out += " Default: " + v.words() + "."
	}
	if f.Only != nil {
		out += " Only " + t.conditions(f.Only) + "."
	}
	return out
}

// sendable reports whether a default is a valid value, not one that merely means unset.
func (r *Rule) sendable(v Value) bool {
	return !r.Required && (v.kind != Number || v.number >= r.Min)
}

// Names returns the field names in table order.
func (t *Table[T]) Names() []string {
	out := make([]string, len(t.Fields))
	for i := range t.Fields {
		out[i] = t.Fields[i].Name
	}
	return out
}

// Given yields what from sets, in table order: every required field and each one that
// differs from a new object.
func (t *Table[T]) Given(from *T) iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		for i := range t.Fields {
			f := &t.Fields[i]
			if f.Get == nil {
				continue
			}
			if v := f.Get(from); (f.Required && f.Waived == nil || !v.Equal(f.Initial())) && !yield(f.Name, v) {
				return
			}
		}
	}
}

// Shown is Given with masked secrets; different ones look different.
func (t *Table[T]) Shown(from *T) iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		for name, v := range t.Given(from) {
			if !yield(name, t.Find(name).Rule.hidden(v, true)) {
				return
			}
		}
	}
}

// hidden returns a value with secrets masked.
func (r *Rule) hidden(v Value, exact bool) Value {
	if r.Hide == nil {
		return v
	}
	if v.kind == Text && v.text != "" {
		v.text = r.Hide(v.text, exact)
	}
	v.list = slices.Clone(v.list)
	for i, item := range v.list {
		v.list[i] = r.Hide(item, exact)
	}
	return v
}

// Verify checks the set values of an object. in looks up fields of the containing object, for
// conditions about it.
func (t *Table[T]) Verify(path string, of *T, in Lookup, yield func(Error) bool) bool {
	for i := range t.Fields {
		f := &t.Fields[i]
		if f.Get == nil {
			continue
		}
		v := f.Get(of)
		if (!f.Required || f.Waived != nil) && v.Equal(f.Initial()) {
			continue
		}
		if err := f.Rule.Verify(path, v); err != nil && !yield(*err) {
			return false
		}
		if l := t.unmet(f, of, in); l.direct(&f.Rule) && l.outcome.Rejects() && !yield(*f.errorf(path, "%s", t.misplaced(l))) {
			return false
		}
	}
	return true
}

func (r *Rule) Initial() Value {
	if r.Unset.kind == Null {
		return ZeroValue(r.Kind)
	}
	return r.Unset
}

// ByDefault returns the default of an unset field.
func (r *Rule) ByDefault() Value {
	if r.Default.kind != Null {
		return r.Default
	}
	return r.Initial()
}

func (t *Table[T]) Find(name string) *Field[T] {
	for i := range t.Fields {
		if t.Fields[i].Name == name {
			return &t.Fields[i]
		}
	}
	return nil
}
