package validate

import (
	"iter"
	"maps"
	"slices"
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

// field combines a rule with the location of its value in a T. If set is nil, the caller of
// Decode acts on the value (e.g. an action or a position).
type field[T any] struct {
	rule
	get func(*T) Value
	set func(*T, Value)
	// force returns the effective value if it is neither the set value nor the rule's
	// default; null: none. nil: it is one of these.
	force func(*T) Value
	// needs explains why the value is impossible, given the earlier fields, and what to
	// send; "" if it is possible. sent is the whole body. nil: always possible.
	needs func(sent Values[T], to *T) string
	// tell explains a derived value.
	tell func(*T) string
}

// Table lists the fields of one kind of body about a T, in the order of checking, setting
// and writing. Immutable.
type Table[T any] struct {
	fields []field[T]
	// facts are derived from the fields. Conditions refer to them, but nobody sends them.
	facts []field[T]
}

// Values holds the checked values of one body, by field name.
type Values[T any] struct {
	table  *Table[T]
	path   string
	values map[string]Value
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
	for i := range t.fields { // other errors of an object that cannot exist yet help nobody
		r := &t.fields[i].rule
		if err := r.later(path, body[r.name]); err != nil {
			return out, []*Error{err}
		}
	}
	for i := range t.fields {
		r := &t.fields[i].rule
		if _, sent := body[r.name]; r.required && !sent && (r.waived == nil || !r.waived(body)) {
			broken = append(broken, r.errorf(path, "is required: it must be %s", r.allowed()))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(body)) {
		if t.find(name) == nil {
			broken = append(broken, Unknown(path, name, t.Names()))
		}
	}
	for i := range t.fields {
		r := &t.fields[i].rule
		raw, sent := body[r.name]
		if !sent {
			continue
		}
		if v, err := r.parse(path, raw); err != nil {
			broken = append(broken, err)
		} else {
			out.values[r.name] = v
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
	out := Table[T]{slices.Clone(t.fields), t.facts}
	for i := range out.fields {
		out.fields[i].required = false
	}
	return out
}

// Unknown returns the error for an unknown field.
func Unknown(path, name string, known []string) *Error {
	return &Error{Path: path, Field: name, Message: "unknown field " + show(name) + FieldSuggestion(name, known)}
}

// Params returns the fields for help responses.
func (t *Table[T]) Params() []Param {
	out := make([]Param, len(t.fields))
	for i := range t.fields {
		f := &t.fields[i]
		out[i] = f.param()
		out[i].Description = t.description(f)
		out[i].Plain = f.plainForm()
	}
	return out
}

// description returns the purpose of a field, its default and its condition.
func (t *Table[T]) description(f *field[T]) string {
	out := f.about
	if v := f.byDefault(); f.sendable(v) && !v.isNothing() && !v.equal(zeroValue(v.kind)) && (v.kind != kindList || len(v.list) == 1) {
		out += " Default: " + v.words() + "."
	}
	if f.only != nil {
		out += " Only " + t.conditions(f.only) + "."
	}
	return out
}

// sendable reports whether a default is a valid value, not one that merely means unset.
func (r *rule) sendable(v Value) bool {
	return !r.required && (v.kind != kindNumber || v.number >= r.min)
}

// Names returns the field names in table order.
func (t *Table[T]) Names() []string {
	out := make([]string, len(t.fields))
	for i := range t.fields {
		out[i] = t.fields[i].name
	}
	return out
}

// Given yields what from sets, in table order: every required field and each one that
// differs from a new object.
func (t *Table[T]) Given(from *T) iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		for i := range t.fields {
			f := &t.fields[i]
			if f.get == nil {
				continue
			}
			if v := f.get(from); (f.required && f.waived == nil || !v.equal(f.initial())) && !yield(f.name, v) {
				return
			}
		}
	}
}

// Shown is Given with masked secrets; different ones look different.
func (t *Table[T]) Shown(from *T) iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		for name, v := range t.Given(from) {
			if !yield(name, t.find(name).rule.hidden(v, true)) {
				return
			}
		}
	}
}

// hidden returns a value with secrets masked.
func (r *rule) hidden(v Value, exact bool) Value {
	if r.hide == nil {
		return v
	}
	if v.kind == kindText && v.text != "" {
		v.text = r.hide(v.text, exact)
	}
	v.list = slices.Clone(v.list)
	for i, item := range v.list {
		v.list[i] = r.hide(item, exact)
	}
	return v
}

// verify checks the set values of an object. in looks up fields of the containing object, for
// conditions about it.
func (t *Table[T]) verify(path string, of *T, in Lookup, yield func(Error) bool) bool {
	for i := range t.fields {
		f := &t.fields[i]
		if f.get == nil {
			continue
		}
		v := f.get(of)
		if (!f.required || f.waived != nil) && v.equal(f.initial()) {
			continue
		}
		if err := f.rule.verify(path, v); err != nil && !yield(*err) {
			return false
		}
		if l := t.lacks(f, of, in); l.direct(&f.rule) && l.fate.rejects() && !yield(*f.errorf(path, "%s", t.misplaced(l))) {
			return false
		}
	}
	return true
}

func (r *rule) initial() Value {
	if r.unset.kind == kindNull {
		return zeroValue(r.kind)
	}
	return r.unset
}

// byDefault returns the default of an unset field.
func (r *rule) byDefault() Value {
	if r.acts.kind != kindNull {
		return r.acts
	}
	return r.initial()
}

func (t *Table[T]) find(name string) *field[T] {
	for i := range t.fields {
		if t.fields[i].name == name {
			return &t.fields[i]
		}
	}
	return nil
}

// Len returns the number of fields in the body.
func (v Values[T]) Len() int { return len(v.values) }

// Has reports whether the body has the field.
func (v Values[T]) Has(name string) bool { _, ok := v.values[name]; return ok }

// Get returns the value of a field; null if the body lacks it.
func (v Values[T]) Get(name string) Value { return v.values[name] }

// Apply sets every value of the body in to. It uses table order, so that a field overrides
// values implied by earlier ones. It stops at the first value that has no meaning in the
// current state of to, which is then partially changed. The *Error names the field, the
// reason, and what to send with it.
func (v Values[T]) Apply(to *T) error {
	for err := range v.apply(to) {
		return err
	}
	return nil
}

// ApplyAll is Apply that continues after errors and returns all of them.
func (v Values[T]) ApplyAll(to *T) []*Error { return slices.Collect(v.apply(to)) }

// apply yields an error for each value that was not set.
func (v Values[T]) apply(to *T) iter.Seq[*Error] {
	return func(yield func(*Error) bool) {
		if v.table == nil {
			return
		}
		for i := range v.table.fields {
			f := &v.table.fields[i]
			value, ok := v.values[f.name]
			if !ok || f.set == nil {
				continue
			}
			problem, skip := v.problem(f, to, value)
			if problem != "" && !yield(f.errorf(v.path, "%s", problem)) {
				return
			}
			if problem == "" && !skip {
				f.set(to, value)
				v.table.leave(f.name, to)
			}
		}
	}
}

// problem explains why the object cannot have the value. If skip is true, the value is empty
// and ignored, because the field is ineffective in the object.
func (v Values[T]) problem(f *field[T], to *T, value Value) (problem string, skip bool) {
	if l := v.table.lacks(f, to, nil); l != nil && l.fate.rejects() {
		if value.isNothing() || l.direct(&f.rule) && l.only.rest && value.equal(f.initial()) {
			return "", l.fate != held // a held field may be set, to disable it
		}
		return v.table.tooEarly(l), false
	}
	if f.needs == nil || value.isNothing() {
		return "", false
	}
	return f.needs(v, to), false
}

// Sent returns the values of the body in normal form for the response's params, with
// secrets masked.
func (v Values[T]) Sent() map[string]any {
	out := make(map[string]any, len(v.values))
	for name, value := range v.values {
		r := &v.table.find(name).rule
		out[name] = r.hidden(value, false).Any()
		if spelling, differs := r.answered[value.text]; differs && value.IsText() {
			out[name] = spelling
		}
	}
	return out
}
