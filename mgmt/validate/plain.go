package validate

import (
	"regexp"
	"slices"
	"strconv"
)

// Plain is a field in the one form clients best send it in, in words of JSON Schema:
// programs are generated from it, which want one type for a field. Others are read
// too: digits for a number, a truth value for its word, a text for a list of one, and
// null instead of a word that is set back.
type Plain struct {
	Type       string // string, integer or array, of strings; "" when nothing is known
	Null       bool   // null sets it back; not said of words
	Enum       []any
	Min, Max   *int64
	MinLength  int // of a text, or of the items of a list
	MaxLength  int
	MaxItems   int
	Pattern    string
	Default    any
	Example    any
	Unit       string
	Label      string
	Cost       Cost
	IsAdvanced bool
}

// plainForm is the field as Plain has it.
func (r *rule) plainForm() Plain {
	out := Plain{Null: r.null || r.blank, Unit: r.unit, Label: r.label, Cost: r.cost, IsAdvanced: r.advanced}
	switch r.kind {
	case kindNumber:
		out.Type = "integer"
		if r.values != nil {
			out.Enum = r.enumerated()
			break
		}
		out.Min = &r.min
		if r.max != maxUnbounded {
			out.Max = &r.max
		}
	case kindBool:
		out.Type, out.Enum = "string", []any{"true", "false"}
	case kindList:
		out.Type, out.MaxItems, out.MinLength, out.MaxLength = "array", int(r.max), 1, r.longest()
		for _, word := range r.values {
			out.Enum = append(out.Enum, word)
		}
		out.Pattern = source(r.pattern, false)
	default:
		out.Type, out.MaxLength = "string", r.longest()
		if !r.blank && !slices.Contains(r.values, "") {
			out.MinLength = 1
		}
		if r.values != nil && !r.words && r.others == nil {
			out.Enum, out.MaxLength, out.MinLength = textsOf(r.enumerated()), 0, 0
		}
		out.Pattern = source(r.pattern, r.blank)
	}
	if v := r.byDefault(); r.sendable(v) && (r.kind == kindBool || !v.isNothing()) {
		out.Default = v.Any()
	}
	if out.Enum != nil && out.Type != "array" { // generators cannot tell a word from null
		out.Null = false
		out.Enum = slices.DeleteFunc(out.Enum, func(v any) bool { return v == nil })
	}
	out.Example = r.example(out)
	return out
}

// textsOf are values of a text: those that are numbers are sent as digits.
func textsOf(values []any) []any {
	for i, v := range values {
		if n, is := v.(int64); is {
			values[i] = strconv.FormatInt(n, 10)
		}
	}
	return values
}

// source is a pattern as JSON Schema has it.
func source(p *regexp.Regexp, blank bool) string {
	switch {
	case p == nil:
		return ""
	case blank:
		return "^$|" + p.String()
	}
	return p.String()
}

// example is a value the field may well have.
func (r *rule) example(p Plain) any {
	if r.sample != nil {
		return r.sample
	}
	if known, is := examples()[r.name]; is {
		if n, number := known.(int); number && p.Type == "string" {
			return strconv.Itoa(n) // a text that is often a number
		}
		return known
	}
	switch {
	case len(p.Enum) > 0 && p.Type == "array":
		return []string{p.Enum[0].(string)}
	case len(p.Enum) > 1 && p.Enum[0] == p.Default: // one that is no default tells more
		return p.Enum[1]
	case len(p.Enum) > 0:
		return p.Enum[0]
	case p.Default != nil:
		return p.Default
	case p.Min != nil:
		return max(*p.Min, 10)
	}
	return nil
}

// Example is a value of a field that is of no table, by its name; nil when none is
// known.
func Example(name string) any { return examples()[name] }
