package validate

import (
	"fmt"
	"slices"
	"strings"
)

// only says beside which other field of the same object a field means something.
// It is said here and nowhere else; bodies, whole configurations, warnings,
// answers, help and schemas ask it.
type only struct {
	fields []string // one of these must be set
	values []string // to one of these values; none: to anything
	while  string   // the condition where the words its kind has would not say it
	why    string   // what the other field is for, behind its name
	rest   bool     // the value of a field that was never set may be sent in any case
	still  bool     // answers show the field all the same: clients expect it
	early  early
}

// early says what becomes of a value that comes without the field it needs.
type early uint8

const (
	refused early = iota // it is not taken, and goes when that field goes
	held                 // it is not taken, and that field cannot go before it
	waiting              // it is kept, with a warning, and goes when that field goes
	kept                 // the same without a warning
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
	name := strings.Join(o.fields, " or ")
	switch {
	case len(o.fields) > 1:
		return "with " + name, "one of them"
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

// lacks is the field whose condition keeps f from meaning something in the
// object: f itself, or one that it needs. nil when nothing does.
func (t *Table[T]) lacks(f *field[T], in *T) *field[T] {
	if f.only == nil {
		return nil
	}
	for _, name := range f.only.fields {
		other := t.find(name)
		if other == nil {
			continue // this kind of body does not have it
		}
		if far := t.lacks(other, in); far != nil {
			return far
		}
		if f.only.met(other.get(in)) {
			return nil
		}
	}
	return f
}

// tooEarly says why a value cannot be taken and what to send with it; "" when it
// can. lacking is what lacks told.
func (t *Table[T]) tooEarly(lacking *field[T]) string {
	condition, send := t.words(lacking)
	return fmt.Sprintf("is allowed only %s; send %s with it", condition, send)
}

func (t *Table[T]) words(f *field[T]) (condition, send string) {
	return f.only.words(&t.find(f.only.fields[0]).rule)
}

// leave takes away what meant something only beside the field of that name as it
// was.
func (t *Table[T]) leave(name string, to *T) {
	for i := range t.fields {
		f := &t.fields[i]
		if f.only == nil || f.only.early == held || f.get == nil || !slices.Contains(f.only.fields, name) ||
			f.get(to).equal(f.initial()) || t.lacks(f, to) == nil {
			continue
		}
		f.set(to, Value{})
		t.leave(f.name, to)
	}
}

// waitingWarnings adds the values that have no effect yet, because clients send
// fields one by one, in any order.
func (t *Table[T]) waitingWarnings(of *T, add func(field, text string)) {
	for i := range t.fields {
		f := &t.fields[i]
		if f.only == nil || f.only.early != waiting || f.get(of).equal(f.initial()) || t.lacks(f, of) == nil {
			continue
		}
		other := t.find(f.only.fields[0])
		_, send := t.words(f)
		if now := other.get(of); now.isNothing() {
			add(f.name, fmt.Sprintf("%s has no effect without %s; set %s", f.name, other.name, send))
		} else {
			add(f.name, fmt.Sprintf("%s has no effect while %s is %s, only with %s", f.name, other.name, now, strings.Replace(anyOf(f.only.values), " or ", " and ", 1)))
		}
	}
}
