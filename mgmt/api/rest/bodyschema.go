package rest

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/example"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
)

// Varied is a body with one variant per profile.
type Varied interface{ Variants() []Variant }

// Variant is the variant for one profile.
type Variant struct {
	Profile farm.Profile
	Of      Fields
}

const schemaRef = "#/components/schemas/"

// fieldsMedia describes a body of fields. Each variant has its own schema name.
func (o *Operation) fieldsMedia(schemas huma.Registry) *huma.MediaType {
	all := []Variant{{Of: o.fields}}
	if many, is := o.fields.(Varied); is {
		all = many.Variants()
	}
	var refs []*huma.Schema
	var example any
	for _, one := range all {
		s := bodySchema(one.Of.Params(), !o.mayBeEmpty)
		if len(all) == 1 {
			one.Profile = ""
		}
		name := o.bodyName(string(one.Profile))
		if p := s.Properties["profile"]; p != nil && one.Profile != "" {
			p.Enum = slices.DeleteFunc(p.Enum, func(word any) bool { return !names(one.Profile, word) })
			p.Examples = p.Enum[:1]
		}
		schemas.Map()[name] = s
		refs = append(refs, &huma.Schema{Ref: schemaRef + name})
		if example == nil {
			example = exampleOf(s)
		}
	}
	schema := refs[0]
	if len(refs) > 1 { // needs a name too: generators turn names into types
		schemas.Map()[o.bodyName("")] = &huma.Schema{AnyOf: refs}
		schema = &huma.Schema{Ref: schemaRef + o.bodyName("")}
	}
	return &huma.MediaType{Schema: schema, Example: example}
}

// names reports whether word is a name of the profile.
func names(p farm.Profile, word any) bool {
	text, is := word.(string)
	return is && profile.Named(farm.Profile(text)).Name() == p
}

// bodyName returns the schema name of the body, e.g. PutFarmsFarm. The profile follows if
// there are several.
func (o *Operation) bodyName(profile string) string {
	var out strings.Builder
	for word := range strings.SplitSeq(o.id()+"-"+profile, "-") {
		if word != "" {
			out.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	return out.String()
}

// bodySchema converts a table of fields into the schema of a body.
func bodySchema(params []field.Param, some bool) *huma.Schema {
	out := &huma.Schema{Type: huma.TypeObject, Properties: map[string]*huma.Schema{}, AdditionalProperties: false}
	if one := 1; some {
		out.MinProperties = &one
	}
	for _, p := range params {
		out.Properties[p.Name] = fieldSchema(p)
		if slices.Contains(p.Options, "required") {
			out.Required = append(out.Required, p.Name)
		}
	}
	return out
}

// exampleOf returns a body with all required fields, or else with one field.
func exampleOf(s *huma.Schema) any {
	names := s.Required
	for _, name := range sortedNames(s.Properties) {
		if len(names) == 0 && len(s.Properties[name].Examples) > 0 {
			names = []string{name}
		}
	}
	out := map[string]any{}
	for _, name := range names {
		if examples := s.Properties[name].Examples; len(examples) > 0 {
			out[name] = examples[0]
		}
	}
	return out
}

func sortedNames(of map[string]*huma.Schema) (out []string) {
	for name := range of {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// fieldSchema describes the values of one field.
func fieldSchema(p field.Param) *huma.Schema {
	about := p.Description
	if p.Format != "" && p.Format != "integer" && p.Format != "object" {
		about += " Form: " + p.Format + "."
	}
	if p.Of != nil {
		return &huma.Schema{Type: huma.TypeArray, Description: about, Items: bodySchema(p.Of, true), Examples: []any{p.Plain.Example}}
	}
	if p.Format == "object" {
		return &huma.Schema{Type: huma.TypeObject, Description: about, AdditionalProperties: words([]any{"true", "false"}), Examples: []any{map[string]any{"show": "true"}}}
	}
	f := p.Plain
	if f.Type == "" {
		f = plainOf(p)
	}
	s := &huma.Schema{Type: f.Type, Nullable: f.Null, Title: f.Label, Description: strings.TrimSpace(about), Default: f.Default, Extensions: map[string]any{}}
	if f.Example != nil {
		s.Examples = []any{f.Example}
	}
	if f.Unit != "" {
		s.Extensions["x-unit"] = f.Unit
	}
	if f.Cost != "" {
		s.Extensions["x-cost"], s.Extensions["x-advanced"] = f.Cost, f.IsAdvanced
	}
	item := s
	if f.Type == huma.TypeArray {
		item = &huma.Schema{Type: huma.TypeString}
		if p.Format == "integer" {
			item.Type = huma.TypeInteger
		}
		s.Items, s.MaxItems = item, positive(f.MaxItems)
	}
	item.Enum, item.Pattern, item.MinLength, item.MaxLength = f.Enum, f.Pattern, positive(f.MinLength), positive(f.MaxLength)
	s.Minimum, s.Maximum = float(f.Min), float(f.Max)
	return s
}

func positive(n int) *int {
	if n <= 0 {
		return nil
	}
	return &n
}

func float(n *int64) *float64 {
	if n == nil {
		return nil
	}
	f := float64(*n)
	return &f
}

// plainOf derives the plain form of a field outside of tables from its description.
func plainOf(p field.Param) field.Plain {
	has := func(option string) bool { return slices.Contains(p.Options, option) }
	out := field.Plain{Type: huma.TypeString, Null: !has("non_blank") || has("null"), Example: example.Of(p.Name)}
	for _, word := range p.PossibleValues {
		out.Enum = append(out.Enum, word)
	}
	low, high, _ := strings.Cut(p.Interval, ",")
	switch {
	case has("list"):
		out.Type, out.MinLength = huma.TypeArray, 1
		if text, is := out.Example.(string); is {
			out.Example = []string{text}
		}
	case p.Format == "integer" || p.Interval != "":
		out.Type, out.Min, out.Max = huma.TypeInteger, bound(low), bound(high)
	case out.Enum == nil && has("non_blank"):
		out.MinLength = 1
	}
	if out.Enum != nil && out.Type != huma.TypeArray {
		out.Null = false // consistent with table fields
	}
	if n, number := out.Example.(int); number && out.Type == huma.TypeString {
		out.Example = strconv.Itoa(n) // a text that may be a number
	}
	if len(out.Enum) > 0 && out.Type == huma.TypeString && !slices.Contains(out.Enum, out.Example) {
		out.Example = nil // the example belongs to another field of that name
	}
	if out.Example == nil && len(out.Enum) > 0 {
		out.Example = out.Enum[0]
		if out.Type == huma.TypeArray {
			out.Example = out.Enum[:1]
		}
	}
	if out.Example == nil && out.Min != nil {
		out.Example = cmp.Or(*out.Min, 1)
	}
	return out
}

func words(values []any) *huma.Schema { return &huma.Schema{Type: huma.TypeString, Enum: values} }

func bound(text string) *int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n == math.MaxInt64 {
		return nil
	}
	return &n
}
