package field

import (
	"regexp"
	"slices"
	"strconv"

	"github.com/sluicelb/sluice/mgmt/validate/example"
)

// Plain describes the preferred notation of a field in terms of JSON Schema. Code
// generators need one type per field. Other notations are accepted too: digits for a
// number, a boolean for its word, a text for a list of one, and null to reset a word.
type Plain struct {
	Type       string // string, integer or array (of strings); "" if unknown
	Null       bool   // null resets it; not set for words
	Enum       []any
	Min, Max   *int64
	MinLength  int // of a text or of list items
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

// plainForm returns the Plain of the field.
func (r *Rule) plainForm() Plain {
	out := Plain{Null: r.Null || r.Blank, Unit: r.Unit, Label: r.Label, Cost: r.Cost, IsAdvanced: r.Advanced}
	switch r.Kind {
	case Number:
		out.Type = "integer"
		if r.Values != nil {
			out.Enum = r.enumerated()
			break
		}
		out.Min = &r.Min
		if r.Max != Unbounded {
			out.Max = &r.Max
		}
	case Bool:
		out.Type, out.Enum = "string", []any{"true", "false"}
	case List:
		out.Type, out.MaxItems, out.MinLength, out.MaxLength = "array", int(r.Max), 1, r.Longest()
		for _, word := range r.Values {
			out.Enum = append(out.Enum, word)
		}
		out.Pattern = source(r.Pattern, false)
	default:
		out.Type, out.MaxLength = "string", r.Longest()
		if !r.Blank && !slices.Contains(r.Values, "") {
			out.MinLength = 1
		}
		if r.Values != nil && !r.Words && r.Other == nil {
			out.Enum, out.MaxLength, out.MinLength = textsOf(r.enumerated()), 0, 0
		}
		out.Pattern = source(r.Pattern, r.Blank)
	}
	if v := r.ByDefault(); r.sendable(v) && (r.Kind == Bool || !v.IsNothing()) {
		out.Default = v.Any()
	}
	if out.Enum != nil && out.Type != "array" { // generators cannot combine an enumeration with null
		out.Null = false
		out.Enum = slices.DeleteFunc(out.Enum, func(v any) bool { return v == nil })
	}
	out.Example = r.example(out)
	return out
}

// textsOf converts the values of a text; numbers become digits.
func textsOf(values []any) []any {
	for i, v := range values {
		if n, is := v.(int64); is {
			values[i] = strconv.FormatInt(n, 10)
		}
	}
	return values
}

// source returns a pattern for JSON Schema.
func source(p *regexp.Regexp, blank bool) string {
	switch {
	case p == nil:
		return ""
	case blank:
		return "^$|" + p.String()
	}
	return p.String()
}

// example returns a plausible value.
func (r *Rule) example(p Plain) any {
	if r.Sample != nil {
		return r.Sample
	}
	if known := example.Of(r.Name); known != nil {
		if n, number := known.(int); number && p.Type == "string" {
			return strconv.Itoa(n) // a text that is often a number
		}
		return known
	}
	switch {
	case len(p.Enum) > 0 && p.Type == "array":
		return []string{p.Enum[0].(string)}
	case len(p.Enum) > 1 && p.Enum[0] == p.Default: // a value other than the default is more informative
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
