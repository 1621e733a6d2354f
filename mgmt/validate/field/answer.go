package field

import (
	"slices"
)

// Unset defines how responses show an unset field.
type Unset uint8

// Ways to show an unset field.
const (
	ShowDefault Unset = iota // its default
	ShowNull                 // null
	Omit                     // omitted
)

// Answered describes one field in responses.
type Answered struct {
	Param
	Type  string // JSON type: string, integer, or array (of strings)
	Null  bool   // may be null
	Maybe bool   // may be omitted
	Whole bool   // filters match it exactly: an enumeration or another single word
}

// Answer returns the fields for responses: defaults for unset ones, masked secrets, and no
// fields that are meaningless in the object. The result can be sent back unchanged.
func (t *Table[T]) Answer(of *T) map[string]any {
	out := make(map[string]any, len(t.Fields))
	for i := range t.Fields {
		f := &t.Fields[i]
		if f.Get == nil {
			continue
		}
		if l := t.unmet(f, of, nil); l != nil && l.outcome.hides() && !(l.condition.Shown && l.direct(&f.Rule)) {
			continue
		}
		v := f.Get(of)
		unset := v.Equal(f.Initial()) || v.kind == Number && v.number == 0 && f.Values == nil && f.Min > 0
		switch {
		case f.Effective != nil:
			v = f.Effective(of)
		case unset && f.IfUnset == Omit:
			continue
		case unset && f.IfUnset == ShowNull:
			v = Value{}
		case unset:
			v = f.ByDefault()
		}
		out[f.Name] = f.answer(v)
	}
	return out
}

// hides reports whether responses omit a meaningless field.
func (e Outcome) hides() bool { return e == Reject || e == Drop }

func (o *Condition) hides() bool { return o != nil && (o.Missing.hides() || o.And.hides()) }

// answer returns a value in response notation.
func (r *Rule) answer(v Value) any {
	if spelling, differs := r.ShownAs[v.text]; differs && v.IsText() {
		return spelling
	}
	return r.hidden(v, false).Any()
}

// Answers describes the fields in responses.
func (t *Table[T]) Answers() []Answered {
	var out []Answered
	for i, p := range t.Params() {
		f := &t.Fields[i]
		if f.Get == nil {
			continue
		}
		a := Answered{Param: p, Type: "string", Null: f.IfUnset == ShowNull, Maybe: f.IfUnset == Omit || f.Only.hides()}
		switch f.Kind {
		case Number:
			a.Type, a.PossibleValues = "integer", nil
		case List:
			a.Type, a.PossibleValues = "array", nil
		case Text:
			if len(f.ShownAs) > 0 || f.Words || f.Other != nil { // responses use other spellings than requests
				a.PossibleValues = nil
			} else if a.PossibleValues != nil {
				a.PossibleValues = slices.Clone(f.Values)
			}
		}
		a.Whole = a.PossibleValues != nil || f.Other != nil
		out = append(out, a)
	}
	return out
}
