package field

import (
	"iter"
	"slices"
)

// Values holds the checked values of one body, by field name.
type Values[T any] struct {
	table  *Table[T]
	path   string
	values map[string]Value
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
		for i := range v.table.Fields {
			f := &v.table.Fields[i]
			value, ok := v.values[f.Name]
			if !ok || f.Set == nil {
				continue
			}
			problem, skip := v.problem(f, to, value)
			if problem != "" && !yield(f.errorf(v.path, "%s", problem)) {
				return
			}
			if problem == "" && !skip {
				f.Set(to, value)
				v.table.leave(f.Name, to)
			}
		}
	}
}

// problem explains why the object cannot have the value. If skip is true, the value is empty
// and ignored, because the field is ineffective in the object.
func (v Values[T]) problem(f *Field[T], to *T, value Value) (problem string, skip bool) {
	if l := v.table.unmet(f, to, nil); l != nil && l.outcome.Rejects() {
		if value.IsNothing() || l.direct(&f.Rule) && l.condition.DefaultAllowed && value.Equal(f.Initial()) {
			return "", l.outcome != RejectBoth // a held field may be set, to disable it
		}
		return v.table.tooEarly(l), false
	}
	if f.Needs == nil || value.IsNothing() {
		return "", false
	}
	return f.Needs(v, to), false
}

// Sent returns the values of the body in normal form for the response's params, with
// secrets masked.
func (v Values[T]) Sent() map[string]any {
	out := make(map[string]any, len(v.values))
	for name, value := range v.values {
		r := &v.table.Find(name).Rule
		out[name] = r.hidden(value, false).Any()
		if spelling, differs := r.ShownAs[value.text]; differs && value.IsText() {
			out[name] = spelling
		}
	}
	return out
}
