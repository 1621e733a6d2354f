package validate

import (
	"iter"
	"maps"
	"slices"

	"github.com/sluicelb/sluice/core/farm"
)

// Param is one line of the family's help body (api-reference, body shapes).
type Param struct {
	Name           string   `json:"name"`
	Format         string   `json:"format,omitempty"`
	PossibleValues []string `json:"possible_values,omitempty"`
	// Interval is "1,9" for 1 to 9, "0," without an upper bound.
	Interval string `json:"interval,omitempty"`
	// Options holds, where they apply, "non_blank", "null" (which resets what
	// must not be blank), "required" and "list" (of what Format says).
	Options     []string `json:"options,omitempty"`
	Description string   `json:"description,omitempty"`
	// Plain is the field in the one form clients best send it in.
	Plain Plain `json:"-"`
	// Of are the fields of the objects a list is of. Plain has an example of such a list.
	Of []Param `json:"-"`
}

// field joins a rule with the place in a T its value lives in. A field without
// set is for the caller of Decode to act on (an action, a position).
type field[T any] struct {
	rule
	get func(*T) Value
	set func(*T, Value)
	// force is the value in force where it is neither the one that was set nor what
	// the rule knows as default; null: none is. nil: it is one of these.
	force func(*T) Value
	// needs says why an object that is as the fields before this one made it
	// cannot have a value here, and what to send; "" when it can. sent is the
	// whole body. nil: it always can.
	needs func(sent Values[T], to *T) string
	// tell says why a fact is what it is.
	tell func(*T) string
}

// Table lists the fields one kind of body about a T may have, in the order in
// which they are checked, set and written. Immutable.
type Table[T any] struct {
	fields []field[T]
	// facts follow from the fields: conditions ask for them, nobody sends them.
	facts []field[T]
}

// Values are the checked values of one body, by field name.
type Values[T any] struct {
	table  *Table[T]
	path   string
	values map[string]Value
}

// Decode checks a body: required fields first, then unknown names, then each
// value; the first failure is returned as *Error whose Path is path. The
// values are what encoding/json gives (with or without UseNumber). An empty
// body is refused only when something is required; the API answers it with
// Params instead.
func (t *Table[T]) Decode(path string, body map[string]any) (Values[T], error) {
	out, broken := t.DecodeAll(path, body)
	if len(broken) > 0 {
		return out, broken[0]
	}
	return out, nil
}

// DecodeAll is Decode with every failure, beside the values that are right.
func (t *Table[T]) DecodeAll(path string, body map[string]any) (out Values[T], broken []*Error) {
	out = Values[T]{table: t, path: path, values: make(map[string]Value, len(body))}
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

// Optional returns the table for a change: nothing is required.
func (t *Table[T]) Optional() Table[T] {
	out := Table[T]{slices.Clone(t.fields), t.facts}
	for i := range out.fields {
		out.fields[i].required = false
	}
	return out
}

// Unknown is the error for a field that is none of known.
func Unknown(path, name string, known []string) *Error {
	return &Error{Path: path, Field: name, Message: "unknown field " + show(name) + Instead(name, known)}
}

// Params returns the fields for the help body.
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

// description is what a field is for, what it acts as while it is unset, and
// with what it means something.
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

// sendable reports whether a default is a value that could be sent: it is none that
// only means unset.
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

// Given yields what from sets itself, in table order: every required field and
// each one that differs from what a new object has.
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

// Shown is Given with secrets as they may be shown; different ones look
// different.
func (t *Table[T]) Shown(from *T) iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		for name, v := range t.Given(from) {
			if !yield(name, t.find(name).rule.hidden(v, true)) {
				return
			}
		}
	}
}

// hidden is a value as it may be shown.
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

// verify checks the values an object already has, unset ones excepted. in is the
// farm it belongs to, where its conditions ask for that.
func (t *Table[T]) verify(path string, of *T, in *farm.Farm, yield func(Error) bool) bool {
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
		if l := t.lacks(f, of, in); l.direct(&f.rule) && l.fate <= held && !yield(*f.errorf(path, "%s", t.misplaced(l))) {
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

// byDefault is what a field acts as that was never set.
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

// Len is the number of fields the body held.
func (v Values[T]) Len() int { return len(v.values) }

// Has reports whether the body held the field.
func (v Values[T]) Has(name string) bool { _, ok := v.values[name]; return ok }

// Get returns the value of a field; null when the body did not hold it.
func (v Values[T]) Get(name string) Value { return v.values[name] }

// Apply sets every value the body held in to, in table order, so that a
// field whose rule depends on another one wins over what that one implies. It
// stops, with to half changed, at a value that means nothing in to as it is
// then (*Error: which field, why, and what to send with it).
func (v Values[T]) Apply(to *T) error {
	for err := range v.apply(to) {
		return err
	}
	return nil
}

// ApplyAll is Apply that goes on behind what it cannot set, and returns why.
func (v Values[T]) ApplyAll(to *T) []*Error { return slices.Collect(v.apply(to)) }

// apply yields why a value was not set.
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

// problem says why the object cannot have the value; skip, that there is nothing
// to set, because the field means nothing in it and the value says nothing.
func (v Values[T]) problem(f *field[T], to *T, value Value) (problem string, skip bool) {
	if l := v.table.lacks(f, to, nil); l != nil && l.fate <= held {
		if value.isNothing() || l.direct(&f.rule) && l.only.rest && value.equal(f.initial()) {
			return "", l.fate != held // there it may be set, to be switched off
		}
		return v.table.tooEarly(l), false
	}
	if f.needs == nil || value.isNothing() {
		return "", false
	}
	return f.needs(v, to), false
}

// Sent returns what the body held in its normal form, for the answer's params.
// Secrets are shown as they always are.
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
