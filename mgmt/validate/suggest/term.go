package suggest

import (
	"iter"
	"maps"
	"slices"
	"strings"
)

// Term is a term of HAProxy, nginx or another load balancer.
type Term struct {
	// Fields lists the equivalent fields, the best one first. An object has none, some or
	// all of them.
	Fields []string
	// Command describes the equivalent if no field of the object applies.
	Command string
}

// spelled returns a name in lower case with underscores.
func spelled(word string) string {
	return strings.NewReplacer("-", "_", " ", "_", ".", "_").Replace(strings.ToLower(word))
}

// Foreign returns the equivalent of a term of another load balancer.
func Foreign(word string) (Term, bool) {
	t, is := foreign[spelled(word)]
	return t, is
}

// meant explains a term of another load balancer for an object with the known fields; else
// it returns "".
func meant(word string, known []string) string {
	t, is := Foreign(word)
	if same := here(t.Fields, known); len(same) > 0 {
		if best := t.Fields[0]; best != same[0] {
			return strings.TrimSuffix(didYouMean(same), ")") + " " + strings.TrimPrefix(elsewhere(t.Fields[:1]), " (")
		}
		return didYouMean(same)
	}
	if is && t.Command != "" {
		return " (" + t.Command + ")"
	}
	return elsewhere(t.Fields)
}

// Terms returns all terms.
func Terms() iter.Seq2[string, Term] { return maps.All(foreign) }

// here returns the fields that are known.
func here(fields, known []string) (out []string) {
	for _, name := range fields {
		if slices.Contains(known, name) {
			out = append(out, name)
		}
	}
	return out
}

// elsewhere names the kind of object that has one of these fields, or returns "".
func elsewhere(fields []string) string {
	for _, o := range Objects() {
		for _, field := range fields {
			if !slices.Contains(o.Fields, field) {
				continue
			}
			if slices.Contains(o.Settings, field) {
				return " (" + field + " is a setting of " + o.Plural + ": sluice " + o.Command + " set)"
			}
			return " (" + field + " belongs to " + o.Plural + ")"
		}
	}
	return ""
}

// misplaced names the kind of object that has a field of this name, or of one that differs
// by a letter; else it returns "".
func misplaced(word string) string {
	word = spelled(word)
	if text := elsewhere([]string{word}); text != "" {
		return text
	}
	for _, o := range Objects() {
		if near := Nearest(word, o.Fields); len(near) > 0 && editDistance(word, near[0]) <= 1 {
			return elsewhere(near[:1])
		}
	}
	return ""
}

// Object is a kind of object with its fields. Settings are those that its command sets.
type Object struct {
	Plural, Command  string
	Fields, Settings []string
}

// Objects returns the objects of a configuration, the most common first. The package that has
// their tables sets it.
var Objects = func() []Object { return nil }
