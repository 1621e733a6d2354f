package validate

import (
	"slices"

	"github.com/sluicelb/sluice/core/farm"
)

// bare defines how responses show an unset field.
type bare uint8

const (
	asDefault bare = iota // its default
	asNull                // null
	leftOut               // omitted
)

// Answered describes one field in responses.
type Answered struct {
	Param
	Type  string // JSON type: string, integer, or array (of strings)
	Null  bool   // may be null
	Maybe bool   // may be omitted
	Whole bool   // filters match it exactly: an enumeration or another single word
}

// Tables of the configurable fields in responses. Names, states, and lists with operations
// of their own are separate.
var (
	FarmAnswer      = Table[farm.Farm]{fields: slices.Concat(noteFields, httpFields)}
	L4FarmAnswer    = Table[farm.Farm]{slices.Concat(noteFields, l4Fields, l4LogFields), l4Facts}
	ServiceAnswer   = ServiceUpdate
	BackendAnswer   = Table[farm.Backend]{fields: without(backendFields, backendResolve.name)}
	L4BackendAnswer = Table[farm.Backend]{fields: without(l4BackendFields, backendResolve.name)}
)

// Answer returns the fields for responses: defaults for unset ones, masked secrets, and no
// fields that are meaningless in the object. The result can be sent back unchanged.
func (t *Table[T]) Answer(of *T) map[string]any {
	out := make(map[string]any, len(t.fields))
	for i := range t.fields {
		f := &t.fields[i]
		if f.get == nil {
			continue
		}
		if l := t.lacks(f, of, nil); l != nil && l.fate.hides() && !(l.only.still && l.direct(&f.rule)) {
			continue
		}
		v := f.get(of)
		unset := v.equal(f.initial()) || v.kind == kindNumber && v.number == 0 && f.values == nil && f.min > 0
		switch {
		case f.force != nil:
			v = f.force(of)
		case unset && f.bare == leftOut:
			continue
		case unset && f.bare == asNull:
			v = Value{}
		case unset:
			v = f.byDefault()
		}
		out[f.name] = f.answer(v)
	}
	return out
}

// hides reports whether responses omit a meaningless field.
func (e early) hides() bool { return e == refused || e == kept }

func (o *only) hides() bool { return o != nil && (o.early.hides() || o.and.hides()) }

// answer returns a value in response notation.
func (r *rule) answer(v Value) any {
	if spelling, differs := r.answered[v.text]; differs && v.IsText() {
		return spelling
	}
	return r.hidden(v, false).Any()
}

// Answers describes the fields in responses.
func (t *Table[T]) Answers() []Answered {
	var out []Answered
	for i, p := range t.Params() {
		f := &t.fields[i]
		if f.get == nil {
			continue
		}
		a := Answered{Param: p, Type: "string", Null: f.bare == asNull, Maybe: f.bare == leftOut || f.only.hides()}
		switch f.kind {
		case kindNumber:
			a.Type, a.PossibleValues = "integer", nil
		case kindList:
			a.Type, a.PossibleValues = "array", nil
		case kindText:
			if len(f.answered) > 0 || f.words || f.others != nil { // responses use other spellings than requests
				a.PossibleValues = nil
			} else if a.PossibleValues != nil {
				a.PossibleValues = slices.Clone(f.values)
			}
		}
		a.Whole = a.PossibleValues != nil || f.others != nil
		out = append(out, a)
	}
	return out
}

// without returns the fields except the named one.
func without[T any](fields []field[T], name string) []field[T] {
	return slices.DeleteFunc(slices.Clone(fields), func(f field[T]) bool { return f.name == name })
}

// unsetAsNull makes responses show unset fields as null.
func unsetAsNull[T any](fields ...field[T]) []field[T] {
	for i := range fields {
		fields[i].bare = asNull
	}
	return fields
}
