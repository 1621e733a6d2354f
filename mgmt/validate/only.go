package validate

import (
	"fmt"
	"slices"
	"strings"
)

// only is the condition under which a field has a meaning, in terms of other fields. It is
// declared once and used by bodies, configurations, warnings, responses, help and schemas.
type only struct {
	fields  []string // one of these must be set
	values  []string // to one of these values; none: to anything
	in      string   // the containing object that has these fields, e.g. "farm"; "" for the object itself
	while   string   // text of the condition, if the generated one does not fit
	why     string   // purpose of the other field, as a suffix of its name
	because string   // why other values do not suffice; %s is the current one
	send    string   // what to send, if not the other field
	or      *only    // alternatively, this condition
	and     *only    // additionally, this condition
	rest    bool     // the default value is always accepted
	still   bool     // responses always show the field, as clients expect it
	early   early
}

// early defines the treatment of a value whose condition is not met.
type early uint8

const (
	refused early = iota // rejected; cleared when the condition ends
	held                 // rejected; the condition cannot end before the value is cleared
	waiting              // accepted with a warning; cleared when the condition ends
	kept                 // like waiting, without a warning
	idle                 // accepted with a warning; remains when the condition ends
	silent               // like idle, without a warning
)

// rejects reports whether the value is rejected.
func (e early) rejects() bool { return e == refused || e == held }

// warns reports whether the value is accepted with a warning.
func (e early) warns() bool { return e == waiting || e == idle }

// ends reports whether the value is cleared when the condition ends.
func (e early) ends() bool { return e == refused || e == waiting || e == kept }

// with returns the condition that another field is set.
func with(fields ...string) *only { return &only{fields: fields} }

// being returns the condition that another field has one of the values.
func being[W ~string](field string, values ...W) *only {
	return &only{fields: []string{field}, values: texts(values)}
}

// as sets the treatment of values whose condition is not met.
func (o *only) as(e early) *only { o.early = e; return o }

// resting accepts the default value (off) unconditionally.
func (o *only) resting() *only { o.rest = true; return o }

// shown makes responses always show the field.
func (o *only) shown() *only { o.still = true; return o }

// of makes the condition refer to the object that contains the one with the field.
func (o *only) of(container string) *only { o.in = container; return o }

// since sets the reason of the condition.
func (o *only) since(because string) *only { o.because = because; return o }

// orIf adds an alternative condition.
func (o *only) orIf(other *only) *only { o.or = other; return o }

// also adds a further condition. The first one that is not met decides the treatment of the
// value.
func (o *only) also(other *only) *only { o.and = other; return o }

// under sets the condition of a field.
func under[T any](o *only, f field[T]) field[T] { f.only = o; return f }

func allUnder[T any](o *only, fields []field[T]) []field[T] {
	for i := range fields {
		fields[i].only = o
	}
	return fields
}

// met reports whether the value of the other field meets the condition.
func (o *only) met(v Value) bool {
	if o.values != nil {
		return slices.Contains(o.values, v.String())
	}
	return !v.isNothing() && !v.equal(zeroValue(v.kind))
}

// words describes the condition ("with retry_on", "while queue is not 0"), and what to
// send; other is the rule of the other field.
func (o *only) words(other *rule) (condition, send string) {
	name := anyOf(o.fields)
	switch {
	case len(o.fields) > 1:
		return "with " + name, "one of them"
	case o.while != "" && o.send != "":
		return "while " + o.while, o.send
	case o.while != "":
		return "while " + o.while, name
	case o.values != nil:
		is := name + " " + anyOf(o.values)
		return "with " + is, is
	case other.kind == kindBool:
		return "while " + name + " is true", name + " true"
	case other.kind == kindNumber:
		return "while " + name + " is not 0", name
	}
	if few := slices.DeleteFunc(slices.Clone(other.values), func(v string) bool { return v == "" }); len(few) > 0 && len(few) < 4 {
		return "with " + name + o.why, name + " " + anyOf(few)
	}
	return "with " + name + o.why, name
}

// anyOf joins alternatives as "a, b or c".
func anyOf(words []string) string {
	if last := len(words) - 1; last > 0 {
		return strings.Join(words[:last], ", ") + " or " + words[last]
	}
	return words[0]
}

// asked is a field that a condition refers to, with its value.
type asked struct {
	*rule
	now  Value
	tell string // explains a derived value
}

// Lookup returns a field of the object that contains the checked one, nil if it has no such
// field. Without a Lookup, conditions about that object count as met.
type Lookup func(name string) *asked

// Lookup returns the Lookup of an object, for the objects it contains.
func (t *Table[T]) Lookup(of *T) Lookup { return func(name string) *asked { return t.ask(name, of) } }

// ask returns a field of the object, nil if it has no such field.
func (t *Table[T]) ask(name string, of *T) *asked {
	f := t.find(name)
	if f == nil {
		at := slices.IndexFunc(t.facts, func(f field[T]) bool { return f.name == name })
		if at < 0 {
			return nil
		}
		f = &t.facts[at]
	}
	out := &asked{rule: &f.rule, now: f.get(of)}
	if f.tell != nil {
		out.tell = f.tell(of)
	}
	return out
}

// lack is an unmet condition: its field, the other field's value, and the treatment of the
// value.
type lack struct {
	field *rule
	only  *only
	other *asked
	fate  early
}

// direct reports whether the unmet condition is the field's own, not one of a field it
// needs.
func (l *lack) direct(f *rule) bool { return l != nil && l.field == f }

// lacks returns the unmet condition that makes a field meaningless in the object: its own,
// or that of a field it needs. It returns nil if the field has a meaning. Conditions about
// the containing object count as met if it is unknown.
func (t *Table[T]) lacks(f *field[T], in *T, of Lookup) *lack {
	for o := f.only; o != nil; o = o.and {
		missing := t.misses(f, o, in, of)
		if missing == nil || o.or != nil && t.misses(f, o.or, in, of) == nil {
			continue
		}
		missing.fate = o.early
		return missing
	}
	return nil
}

// misses is lacks for one condition.
func (t *Table[T]) misses(f *field[T], o *only, in *T, of Lookup) *lack {
	if o.in != "" && of == nil {
		return nil
	}
	out := &lack{field: &f.rule, only: o}
	for _, name := range o.fields {
		other := t.other(o, name, in, of)
		if other == nil {
			continue // this kind of body lacks the field
		}
		if needs := t.find(name); o.in == "" && needs != nil && needs.only.goes() { // a field that stays counts as present
			if far := t.lacks(needs, in, of); far != nil {
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

// other returns the field that a condition refers to.
func (t *Table[T]) other(o *only, name string, in *T, of Lookup) *asked {
	if o.in != "" {
		return of(name)
	}
	return t.ask(name, in)
}

// words describes one condition.
func (t *Table[T]) words(o *only) (condition, send string) {
	if o.values != nil || o.while != "" {
		return o.words(nil)
	}
	return o.words(&t.find(o.fields[0]).rule)
}

// conditions describes all conditions of a field.
func (t *Table[T]) conditions(o *only) string {
	out, _ := t.words(o)
	if o.or != nil {
		out += " or " + t.conditions(o.or)
	}
	if o.and != nil {
		out += " and " + t.conditions(o.and)
	}
	return out
}

// tooEarly explains why a value is rejected and what to send with it.
func (t *Table[T]) tooEarly(l *lack) string {
	condition, send := t.words(l.only)
	return fmt.Sprintf("is allowed only %s; send %s with it", condition, send)
}

// misplaced explains why an object cannot have its value, and what would be valid.
func (t *Table[T]) misplaced(l *lack) string {
	condition, send := t.words(l.only)
	if l.fate == refused {
		return "is allowed only " + condition
	}
	out := "is allowed only " + condition
	if l.only.values != nil {
		out += ", got " + l.other.now.String()
	}
	if because := l.reason(); because != "" {
		out += ": " + because
	}
	return out + fmt.Sprintf("; set it %s, or %s", l.field.resting(), send)
}

// reason explains why the other field's value does not suffice; "" if the message is complete
// without a reason.
func (l *lack) reason() string {
	if l.only.because == "" {
		return l.other.tell
	}
	return strings.ReplaceAll(l.only.because, "%s", l.other.now.String())
}

// resting returns the text of the value that resets a field.
func (r *rule) resting() string {
	if v := r.initial(); !v.isNothing() && r.sendable(v) {
		return v.words()
	}
	return "null"
}

// leave clears the fields whose conditions ended with the change of the named field.
func (t *Table[T]) leave(name string, to *T) {
	for i := range t.fields {
		f := &t.fields[i]
		if f.get == nil || !f.only.goesWith(name) || f.get(to).equal(f.initial()) || t.lacks(f, to, nil) == nil {
			continue
		}
		f.set(to, Value{})
		t.leave(f.name, to)
	}
}

// goesWith reports whether a value is cleared when the named field no longer meets the
// condition.
func (o *only) goesWith(name string) bool {
	for ; o != nil; o = o.and {
		if slices.Contains(o.fields, name) && o.in == "" {
			return o.goes()
		}
	}
	return false
}

func (o *only) goes() bool { return o != nil && o.early.ends() }

// idleWarnings adds warnings about values without effect. Clients send fields one by one in
// any order, and the carrier of a farm may change.
func (t *Table[T]) idleWarnings(of *T, in Lookup, add func(field, text string)) {
	for i := range t.fields {
		f := &t.fields[i]
		if f.only == nil || f.get(of).equal(f.initial()) {
			continue
		}
		if l := t.lacks(f, of, in); l != nil && l.fate.warns() {
			add(f.name, f.name+" has no effect"+t.whyIdle(l))
		}
	}
}

func (t *Table[T]) whyIdle(l *lack) string {
	_, send := t.words(l.only)
	switch because := l.reason(); {
	case because != "":
		return ": " + because
	case l.other.now.isNothing():
		return fmt.Sprintf(" without %s; set %s", l.other.name, send)
	}
	return fmt.Sprintf(" while %s is %s, only with %s", l.other.name, l.other.now, strings.Replace(anyOf(l.only.values), " or ", " and ", 1))
}
