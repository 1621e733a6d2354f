package validate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
)

// only says with which other field a field means something. It is said here and
// nowhere else; bodies, whole configurations, warnings, answers, help and schemas
// ask it.
type only struct {
	fields  []string // one of these must be set
	values  []string // to one of these values; none: to anything
	of      owner    // whose fields they are
	while   string   // the condition where the words its kind has would not say it
	why     string   // what the other field is for, behind its name
	because string   // why other values of it do not do; %s stands for the one it has
	send    string   // what to send where that is not the other field
	or      *only    // or this is met
	and     *only    // this must be met too
	rest    bool     // the value of a field that was never set may be sent in any case
	still   bool     // answers show the field all the same: clients expect it
	early   early
}

// owner is the object whose fields a condition asks.
type owner uint8

const (
	itself    owner = iota
	ofTheFarm       // the farm the object belongs to
)

// early says what happens to a value that comes without the field it needs.
type early uint8

const (
	refused early = iota // it is not taken, and goes when that field goes
	held                 // it is not taken, and that field cannot go before it
	waiting              // it is kept, with a warning, and goes when that field goes
	kept                 // the same without a warning
	idle                 // it is kept, with a warning, and stays when that field goes
	silent               // the same without a warning
)

// with makes a field one that needs another one to be set.
func with(fields ...string) *only { return &only{fields: fields} }

// being makes a field one that needs another one to have one of the values.
func being[W ~string](field string, values ...W) *only {
	return &only{fields: []string{field}, values: texts(values)}
}

// as is the same condition, with another fate of values that come too early.
func (o *only) as(e early) *only { o.early = e; return o }

// resting is the same condition, for a switch: off needs nothing.
func (o *only) resting() *only { o.rest = true; return o }

// shown is the same condition for a field answers have always shown beside others.
func (o *only) shown() *only { o.still = true; return o }

// ofFarm is the same condition about the farm the object belongs to.
func (o *only) ofFarm() *only { o.of = ofTheFarm; return o }

// since is the same condition with its reason.
func (o *only) since(because string) *only { o.because = because; return o }

// orIf is met by either condition.
func (o *only) orIf(other *only) *only { o.or = other; return o }

// also is met by both conditions; the first that is not decides what happens to
// the value.
func (o *only) also(other *only) *only { o.and = other; return o }

// under gives a field a condition.
func under[T any](o *only, f field[T]) field[T] { f.only = o; return f }

func allUnder[T any](o *only, fields []field[T]) []field[T] {
	for i := range fields {
		fields[i].only = o
	}
	return fields
}

// met reports whether the other field has what it takes.
func (o *only) met(v Value) bool {
	if o.values != nil {
		return slices.Contains(o.values, v.String())
	}
	return !v.isNothing() && !v.equal(zeroValue(v.kind))
}

// words say what it takes ("with retry_on", "while queue is not 0"), and what to
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

// anyOf writes alternatives as "a, b or c".
func anyOf(words []string) string {
	if last := len(words) - 1; last > 0 {
		return strings.Join(words[:last], ", ") + " or " + words[last]
	}
	return words[0]
}

// asked is a field a condition asks for, and what it is.
type asked struct {
	*rule
	now  Value
	tell string // why it is that, where it follows from others
}

// ask looks the field of a name up in the object, nil for a field the object
// cannot have.
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

// lack is a condition that is not met: whose it is, what there is instead, and
// what happens to the value because of it.
type lack struct {
	field *rule
	only  *only
	other *asked
	fate  early
}

// direct reports whether the field lacks it itself, not one that it needs.
func (l *lack) direct(f *rule) bool { return l != nil && l.field == f }

// lacks is the condition because of which a field means nothing in the object:
// its own, or that of a field it needs; nil when it means something. Conditions
// about the farm the object belongs to hold where that is not known.
func (t *Table[T]) lacks(f *field[T], in *T, of *farm.Farm) *lack {
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
func (t *Table[T]) misses(f *field[T], o *only, in *T, of *farm.Farm) *lack {
	if o.of == ofTheFarm && of == nil {
		return nil
	}
	out := &lack{field: &f.rule, only: o}
	for _, name := range o.fields {
		other := t.other(o, name, in, of)
		if other == nil {
			continue // this kind of body does not have it
		}
		if needs := t.find(name); o.of == itself && needs != nil && needs.only.goes() { // what stays is there
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

// other is the field of a name that a condition asks for.
func (t *Table[T]) other(o *only, name string, in *T, of *farm.Farm) *asked {
	if o.of == ofTheFarm {
		return ProfileOf(of).Farm().Document.ask(name, of)
	}
	return t.ask(name, in)
}

// words are those of one condition.
func (t *Table[T]) words(o *only) (condition, send string) {
	if o.values != nil || o.while != "" {
		return o.words(nil)
	}
	return o.words(&t.find(o.fields[0]).rule)
}

// conditions are all that a field needs, in words.
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

// tooEarly says why a value cannot be taken and what to send with it.
func (t *Table[T]) tooEarly(l *lack) string {
	condition, send := t.words(l.only)
	return fmt.Sprintf("is allowed only %s; send %s with it", condition, send)
}

// misplaced says why an object cannot have the value it has, and what would do.
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

// reason says why the other field does not do as it is; "" where nothing is to
// be said beside that.
func (l *lack) reason() string {
	if l.only.because == "" {
		return l.other.tell
	}
	return strings.ReplaceAll(l.only.because, "%s", l.other.now.String())
}

// resting is what sets a field back, in words.
func (r *rule) resting() string {
	if v := r.initial(); !v.isNothing() && r.sendable(v) {
		return v.words()
	}
	return "null"
}

// leave takes away what meant something only beside the field of that name as it
// was.
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

// goesWith reports whether what meant something only beside a field goes with it.
func (o *only) goesWith(name string) bool {
	for ; o != nil; o = o.and {
		if slices.Contains(o.fields, name) && o.of == itself {
			return o.goes()
		}
	}
	return false
}

func (o *only) goes() bool {
	return o != nil && (o.early == refused || o.early == waiting || o.early == kept)
}

// idleWarnings adds the values that have no effect as the object is: clients send
// fields one by one, in any order, and what carries a farm may change.
func (t *Table[T]) idleWarnings(of *T, in *farm.Farm, add func(field, text string)) {
	for i := range t.fields {
		f := &t.fields[i]
		if f.only == nil || f.get(of).equal(f.initial()) {
			continue
		}
		if l := t.lacks(f, of, in); l != nil && (l.fate == waiting || l.fate == idle) {
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
