package field

import (
	"fmt"
	"slices"
	"strings"
)

// Condition is the condition under which a field has a meaning, in terms of other fields. It is
// declared once and used by bodies, configurations, warnings, responses, help and schemas.
type Condition struct {
	On             []string   // one of these must be set
	Values         []string   // to one of these values; none: to anything
	In             string     // the containing object that has these fields, e.g. "farm"; "" for the object itself
	While          string     // text of the condition, if the generated one does not fit
	Purpose        string     // purpose of the other field, as a suffix of its name
	Reason         string     // why other values do not suffice; %s is the current one
	Hint           string     // what to send, if not the other field
	Or             *Condition // alternatively, this condition
	And            *Condition // additionally, this condition
	DefaultAllowed bool       // the default value is always accepted
	Shown          bool       // responses always show the field, as clients expect it
	Missing        Outcome    // of a value while the condition is not met
}

// Outcome defines the treatment of a value whose condition is not met.
type Outcome uint8

// Outcomes.
const (
	Reject      Outcome = iota // rejected; cleared when the condition ends
	RejectBoth                 // rejected; the condition cannot end before the value is cleared
	WarnAndDrop                // accepted with a warning; cleared when the condition ends
	Drop                       // like WarnAndDrop, without a warning
	WarnAndKeep                // accepted with a warning; remains when the condition ends
	Keep                       // like WarnAndKeep, without a warning
)

// Rejects reports whether the value is rejected.
func (e Outcome) Rejects() bool { return e == Reject || e == RejectBoth }

// warns reports whether the value is accepted with a warning.
func (e Outcome) warns() bool { return e == WarnAndDrop || e == WarnAndKeep }

// ends reports whether the value is cleared when the condition ends.
func (e Outcome) ends() bool { return e == Reject || e == WarnAndDrop || e == Drop }

// With returns the condition that another field is set.
func With(fields ...string) *Condition { return &Condition{On: fields} }

// WithValue returns the condition that another field has one of the values.
func WithValue[W ~string](field string, values ...W) *Condition {
	return &Condition{On: []string{field}, Values: Texts(values)}
}

// Else sets the treatment of values whose condition is not met.
func (o *Condition) Else(e Outcome) *Condition { o.Missing = e; return o }

// AllowDefault accepts the default value (off) unconditionally.
func (o *Condition) AllowDefault() *Condition { o.DefaultAllowed = true; return o }

// AlwaysShown makes responses always show the field.
func (o *Condition) AlwaysShown() *Condition { o.Shown = true; return o }

// Of makes the condition refer to the object that contains the one with the field.
func (o *Condition) Of(container string) *Condition { o.In = container; return o }

// Because sets the reason of the condition.
func (o *Condition) Because(because string) *Condition { o.Reason = because; return o }

// OrIf adds an alternative condition.
func (o *Condition) OrIf(other *Condition) *Condition { o.Or = other; return o }

// AndIf adds a further condition. The first one that is not met decides the treatment of the
// value.
func (o *Condition) AndIf(other *Condition) *Condition { o.And = other; return o }

// OnlyIf sets the condition of a field.
func OnlyIf[T any](o *Condition, f Field[T]) Field[T] { f.Only = o; return f }

// AllOnlyIf sets the condition of several fields.
func AllOnlyIf[T any](o *Condition, fields []Field[T]) []Field[T] {
	for i := range fields {
		fields[i].Only = o
	}
	return fields
}

// met reports whether the value of the other field meets the condition.
func (o *Condition) met(v Value) bool {
	if o.Values != nil {
		return slices.Contains(o.Values, v.String())
	}
	return !v.IsNothing() && !v.Equal(ZeroValue(v.kind))
}

// words describes the condition ("with retry_on", "while queue is not 0"), and what to
// send; other is the rule of the other field.
func (o *Condition) words(other *Rule) (condition, send string) {
	name := anyOf(o.On)
	switch {
	case len(o.On) > 1:
		return "with " + name, "one of them"
	case o.While != "" && o.Hint != "":
		return "while " + o.While, o.Hint
	case o.While != "":
		return "while " + o.While, name
	case o.Values != nil:
		is := name + " " + anyOf(o.Values)
		return "with " + is, is
	case other.Kind == Bool:
		return "while " + name + " is true", name + " true"
	case other.Kind == Number:
		return "while " + name + " is not 0", name
	}
	if few := slices.DeleteFunc(slices.Clone(other.Values), func(v string) bool { return v == "" }); len(few) > 0 && len(few) < 4 {
		return "with " + name + o.Purpose, name + " " + anyOf(few)
	}
	return "with " + name + o.Purpose, name
}

// anyOf joins alternatives as "a, b or c".
func anyOf(words []string) string {
	if last := len(words) - 1; last > 0 {
		return strings.Join(words[:last], ", ") + " or " + words[last]
	}
	return words[0]
}

// Subject is a field that a condition refers to, with its value.
type Subject struct {
	*Rule
	now  Value
	tell string // explains a derived value
}

// Lookup returns a field of the object that contains the checked one, nil if it has no such
// field. Without a Lookup, conditions about that object count as met.
type Lookup func(name string) *Subject

// Lookup returns the Lookup of an object, for the objects it contains.
func (t *Table[T]) Lookup(of *T) Lookup {
	return func(name string) *Subject { return t.subject(name, of) }
}

// subject returns a field of the object, nil if it has no such field.
func (t *Table[T]) subject(name string, of *T) *Subject {
	f := t.Find(name)
	if f == nil {
		at := slices.IndexFunc(t.Facts, func(f Field[T]) bool { return f.Name == name })
		if at < 0 {
			return nil
		}
		f = &t.Facts[at]
	}
	out := &Subject{Rule: &f.Rule, now: f.Get(of)}
	if f.Explain != nil {
		out.tell = f.Explain(of)
	}
	return out
}

// unmet is an unmet condition: its field, the other field's value, and the treatment of the
// value.
type unmet struct {
	field     *Rule
	condition *Condition
	other     *Subject
	outcome   Outcome
}

// direct reports whether the unmet condition is the field's own, not one of a field it
// needs.
func (l *unmet) direct(f *Rule) bool { return l != nil && l.field == f }

// unmet returns the unmet condition that makes a field meaningless in the object: its own,
// or that of a field it needs. It returns nil if the field has a meaning. Conditions about
// the containing object count as met if it is unknown.
func (t *Table[T]) unmet(f *Field[T], in *T, of Lookup) *unmet {
	for o := f.Only; o != nil; o = o.And {
		missing := t.unmetBy(f, o, in, of)
		if missing == nil || o.Or != nil && t.unmetBy(f, o.Or, in, of) == nil {
			continue
		}
		missing.outcome = o.Missing
		return missing
	}
	return nil
}

// unmetBy is unmet for one condition.
func (t *Table[T]) unmetBy(f *Field[T], o *Condition, in *T, of Lookup) *unmet {
	if o.In != "" && of == nil {
		return nil
	}
	out := &unmet{field: &f.Rule, condition: o}
	for _, name := range o.On {
		other := t.subjectOf(o, name, in, of)
		if other == nil {
			continue // this kind of body lacks the field
		}
		if needs := t.Find(name); o.In == "" && needs != nil && needs.Only.goes() { // a field that stays counts as present
			if far := t.unmet(needs, in, of); far != nil {
				return far
			}
		}
		if o.met(other.now) {
			return nil
		}
		if out.other == nil {
			out.other = other
		}
	}
	return out
}

// subjectOf returns the field that a condition refers to.
func (t *Table[T]) subjectOf(o *Condition, name string, in *T, of Lookup) *Subject {
	if o.In != "" {
		return of(name)
	}
	return t.subject(name, in)
}

// words describes one condition.
func (t *Table[T]) words(o *Condition) (condition, send string) {
	if o.Values != nil || o.While != "" {
		return o.words(nil)
	}
	return o.words(&t.Find(o.On[0]).Rule)
}

// conditions describes all conditions of a field.
func (t *Table[T]) conditions(o *Condition) string {
	out, _ := t.words(o)
	if o.Or != nil {
		out += " or " + t.conditions(o.Or)
	}
	if o.And != nil {
		out += " and " + t.conditions(o.And)
	}
	return out
}

// tooEarly explains why a value is rejected and what to send with it.
func (t *Table[T]) tooEarly(l *unmet) string {
	condition, send := t.words(l.condition)
	return fmt.Sprintf("is allowed only %s; send %s with it", condition, send)
}

// misplaced explains why an object cannot have its value, and what would be valid.
func (t *Table[T]) misplaced(l *unmet) string {
	condition, send := t.words(l.condition)
	if l.outcome == Reject {
		return "is allowed only " + condition
	}
	out := "is allowed only " + condition
	if l.condition.Values != nil {
		out += ", got " + l.other.now.String()
	}
	if because := l.reason(); because != "" {
		out += ": " + because
	}
	return out + fmt.Sprintf("; set it %s, or %s", l.field.Reset(), send)
}

// reason explains why the other field's value does not suffice; "" if the message is complete
// without a reason.
func (l *unmet) reason() string {
	if l.condition.Reason == "" {
		return l.other.tell
	}
	return strings.ReplaceAll(l.condition.Reason, "%s", l.other.now.String())
}

// Reset returns the text of the value that resets a field.
func (r *Rule) Reset() string {
	if v := r.Initial(); !v.IsNothing() && r.sendable(v) {
		return v.words()
	}
	return "null"
}

// leave clears the fields whose conditions ended with the change of the named field.
func (t *Table[T]) leave(name string, to *T) {
	for i := range t.Fields {
		f := &t.Fields[i]
		if f.Get == nil || !f.Only.goesWith(name) || f.Get(to).Equal(f.Initial()) || t.unmet(f, to, nil) == nil {
			continue
		}
		f.Set(to, Value{})
		t.leave(f.Name, to)
	}
}

// goesWith reports whether a value is cleared when the named field no longer meets the
// condition.
func (o *Condition) goesWith(name string) bool {
	for ; o != nil; o = o.And {
		if slices.Contains(o.On, name) && o.In == "" {
			return o.goes()
		}
	}
	return false
}

func (o *Condition) goes() bool { return o != nil && o.Missing.ends() }

// IdleWarnings adds warnings about values without effect. Clients send fields one by one in
// any order, and the carrier of a farm may change.
func (t *Table[T]) IdleWarnings(of *T, in Lookup, add func(field, text string)) {
	for i := range t.Fields {
		f := &t.Fields[i]
		if f.Only == nil || f.Get(of).Equal(f.Initial()) {
			continue
		}
		if l := t.unmet(f, of, in); l != nil && l.outcome.warns() {
			add(f.Name, f.Name+" has no effect"+t.whyIdle(l))
		}
	}
}

func (t *Table[T]) whyIdle(l *unmet) string {
	_, send := t.words(l.condition)
	switch because := l.reason(); {
	case because != "":
		return ": " + because
	case l.other.now.IsNothing() || len(l.condition.Values) == 0: // e.g. a switch that is off
		return fmt.Sprintf(" without %s; set %s", l.other.Name, send)
	}
	return fmt.Sprintf(" while %s is %s, only with %s", l.other.Name, l.other.now, strings.Replace(anyOf(l.condition.Values), " or ", " and ", 1))
}
