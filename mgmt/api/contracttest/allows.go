package contracttest

import (
	"cmp"
	"encoding/json"
	"regexp"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// allows reports whether a body matches its schema. The document describes the plain form of
// values and states that others are accepted. These are digits for a number, a boolean for
// its word, a string for a list of one, and "" or null for an unset value.
func (d *Document) allows(schema *jsonschema.Schema, of map[string]any, body string) bool {
	parsed, err := jsonschema.UnmarshalJSON(strings.NewReader(body))
	if err != nil {
		return false
	}
	if schema.Validate(parsed) == nil {
		return true
	}
	for _, variant := range d.variants(of) {
		plain := map[string]any{}
		for name, v := range object(parsed) {
			of := object(object(variant["properties"])[name])
			if v != nil && v != "" || of["enum"] == nil { // an empty value also resets an enumeration
				plain[name] = d.plain(of, v)
			}
		}
		if len(plain) == 0 || schema.Validate(plain) == nil {
			return true
		}
	}
	return false
}

// plain converts a value to the form in the schema.
func (d *Document) plain(schema map[string]any, v any) any {
	for _, one := range d.alternatives(schema) {
		kinds := kindsOf(one["type"])
		switch v := v.(type) {
		case bool:
			if kinds["string"] {
				return map[bool]string{true: "true", false: "false"}[v]
			}
		case string:
			switch {
			case v == "" && kinds["null"]:
				return nil
			case kinds["integer"] && digits.MatchString(v):
				before, _, _ := strings.Cut(v, ".")
				return json.Number(cmp.Or(strings.TrimLeft(before, "0"), "0"))
			case kinds["array"]:
				return split(v)
			}
		case json.Number:
			switch {
			case kinds["string"]:
				return v.String()
			case kinds["array"]:
				return []any{v.String()}
			}
		}
	}
	return v
}

var digits = regexp.MustCompile(`^[0-9]+(\.0+)?$`)

func split(v string) []any {
	if !strings.Contains(v, ",") {
		return []any{v}
	}
	var out []any
	for one := range strings.SplitSeq(v, ",") {
		out = append(out, strings.TrimSpace(one))
	}
	return out
}

func kindsOf(kind any) map[string]bool {
	out := map[string]bool{text(kind): true}
	for _, one := range list(kind) {
		out[text(one)] = true
	}
	return out
}
