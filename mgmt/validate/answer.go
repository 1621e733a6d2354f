package validate

import (
	"slices"

	"github.com/sluicelb/sluice/core/farm"
)

// bare says what answers show of a field that was never set.
type bare uint8

const (
	asDefault bare = iota // what it acts as
	asNull                // null
	leftOut               // nothing
)

// Answered is how answers show one field.
type Answered struct {
	Param
	Type  string // of JSON: string, integer or array, of strings
	Null  bool   // it may be null
	Maybe bool   // it may be left out
	Whole bool   // filters compare it whole: it is a word, from a list or of its kind
}

// The tables of what answers show of an object besides what was not configured:
// names, states, lists with operations of their own.
var (
	FarmAnswer      = Table[farm.Farm]{fields: slices.Concat(noteFields, httpFields)}
	L4FarmAnswer    = Table[farm.Farm]{slices.Concat(noteFields, l4Fields, l4LogFields), l4Facts}
	ServiceAnswer   = ServiceUpdate
	BackendAnswer   = Table[farm.Backend]{fields: without(backendFields, backendResolve.name)}
	L4BackendAnswer = Table[farm.Backend]{fields: without(l4BackendFields, backendResolve.name)}
)

// Answer returns the fields as answers have them: as what they act as where they
// were never set, secrets as they may be shown, without those that mean nothing
// in the object, so that what was read can be sent back.
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

// hides reports whether answers leave out what means nothing.
func (e early) hides() bool { return e == refused || e == kept }

func (o *only) hides() bool { return o != nil && (o.early.hides() || o.and.hides()) }

// answer is a value as answers write it.
func (r *rule) answer(v Value) any {
	if spelling, differs := r.answered[v.text]; differs && v.IsText() {
		return spelling
	}
	return r.hidden(v, false).Any()
}

// Answers says how answers show the fields.
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
			if len(f.answered) > 0 || f.words || f.others != nil { // other spellings than those that are sent
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

// without is fields but that of a name.
func without[T any](fields []field[T], name string) []field[T] {
	return slices.DeleteFunc(slices.Clone(fields), func(f field[T]) bool { return f.name == name })
}

// unsetAsNull are fields that answers show as null as long as they were not set.
func unsetAsNull[T any](fields ...field[T]) []field[T] {
	for i := range fields {
		fields[i].bare = asNull
	}
	return fields
}
