package field

import (
	"maps"
	"slices"
	"strconv"
)

// Schema returns the schema of an object: the fields for creation, and the fields that only
// changes accept.
func Schema[T any](title string, tables ...Table[T]) map[string]any {
	properties, required := map[string]any{}, []string{}
	for i := range tables {
		t := &tables[i]
		for at := range t.Fields {
			f := &t.Fields[at]
			if properties[f.Name] != nil {
				continue
			}
			one := t.schema(f)
			one["x-order"] = len(properties)
			if other := 1 - i; len(tables) == 2 && tables[other].Find(f.Name) == nil {
				one["x-when"] = [...]string{"create", "update"}[i]
			}
			properties[f.Name] = one
			if f.Required && f.Waived == nil {
				required = append(required, f.Name)
			}
		}
		for at := range t.Facts {
			fact := t.schema(&t.Facts[at])
			fact["readOnly"] = true
			properties[t.Facts[at].Name] = fact
		}
	}
	return map[string]any{"title": title, "type": "object", "properties": properties, "required": required, "additionalProperties": false}
}

// schema returns the schema of one field.
func (t *Table[T]) schema(f *Field[T]) map[string]any {
	out := f.schema()
	out["title"], out["description"] = f.Label, t.description(f)
	out["x-group"], out["x-advanced"], out["x-cost"] = string(f.Section), f.Advanced, f.Cost
	if f.Unit != "" {
		out["x-unit"] = f.Unit
	}
	if v := f.ByDefault(); f.sendable(v) && (f.Kind == Bool || !v.IsNothing()) {
		out["default"] = f.plain(v)
	}
	if f.Only != nil {
		out["x-only"] = f.Only.schema(t.conditions(f.Only))
	}
	return out
}

// schema returns the condition for forms: one of the fields of the object (or its farm) has
// one of the values, or is set. "or" holds an alternative, "and" a further condition.
func (o *Condition) schema(text string) map[string]any {
	out := map[string]any{"fields": o.On, "refused": o.Missing.Rejects()}
	if text != "" {
		out["text"] = text
	}
	if o.In != "" {
		out["of"] = o.In
	}
	if o.Values != nil {
		out["values"] = o.Values
	}
	if o.Or != nil {
		out["or"] = o.Or.schema("")
	}
	if o.And != nil {
		out["and"] = o.And.schema("")
	}
	return out
}

// schema returns the schema of a rule in its plain form. Digits for numbers, words for
// booleans and a text for a list are accepted too.
func (r *Rule) schema() map[string]any {
	out := map[string]any{}
	switch r.Kind {
	case Number:
		out["type"] = "integer"
		if r.Values == nil {
			out["minimum"] = r.Min
			if r.Max != Unbounded {
				out["maximum"] = r.Max
			}
		}
	case Bool:
		out["type"], out["enum"] = []string{"boolean", "string"}, []any{true, false, "true", "false"}
		return out
	case List:
		item := map[string]any{"type": "string", "maxLength": r.Longest()}
		if r.Values != nil {
			item["enum"] = r.Values
		}
		out["type"], out["items"], out["maxItems"], out["uniqueItems"] = "array", item, r.Max, true
	default:
		out["type"] = "string"
		if r.Max != 0 { // may also be sent as a number
			out["type"] = []string{"string", "integer"}
		}
		out["maxLength"] = r.Longest()
	}
	if r.Format != "" {
		out["x-format"] = r.Format
	}
	if r.Values != nil && r.Kind != List {
		if r.Other == nil {
			out["enum"] = r.enumerated()
		}
		if len(r.Normalize) > 0 || r.Other != nil {
			out["x-values"] = r.Values
		}
	}
	if r.Null || r.Blank {
		out["type"] = append(typesOf(out["type"]), "null")
	}
	return out
}

func typesOf(kind any) []string {
	if one, is := kind.(string); is {
		return []string{one}
	}
	return kind.([]string)
}

// enumerated returns the valid values and their alternative spellings.
func (r *Rule) enumerated() (out []any) {
	words := slices.Clone(r.Values)
	for _, word := range slices.Sorted(maps.Keys(r.Normalize)) {
		if !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	for _, word := range words {
		if n, err := strconv.ParseInt(word, 10, 64); err == nil && r.Kind == Number {
			out = append(out, n)
		} else {
			out = append(out, word)
		}
	}
	if r.Null || r.Blank {
		out = append(out, nil)
	}
	return out
}

// plain returns a value in schema notation.
func (r *Rule) plain(v Value) any {
	if v.kind == Bool {
		return v.truth
	}
	return v.Any()
}
