package contracttest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// Examples validates every example of a document against its schema.
func Examples(t testing.TB, d *Document) {
	t.Helper()
	seen := 0
	eachExample(d.root, "", func(at string, example any) {
		seen++
		s, err := d.schema(at)
		if err == nil {
			err = s.Validate(example)
		}
		if err != nil {
			t.Errorf("%s: the example %v: %v", at, example, err)
		}
	})
	if seen == 0 {
		t.Error("the document has no example")
	}
}

// schemaWords are keywords. Every schema contains at least one of them.
var schemaWords = []string{"type", "$ref", "oneOf", "anyOf", "allOf", "enum"}

// eachExample calls do with each example and the pointer to its schema.
func eachExample(v any, at string, do func(at string, example any)) {
	for i, inner := range list(v) {
		eachExample(inner, fmt.Sprintf("%s/%d", at, i), do)
	}
	node, schema := object(v), at
	is := !strings.HasSuffix(at, "/properties") && slices.ContainsFunc(schemaWords, func(word string) bool { return node[word] != nil })
	if node["schema"] != nil { // a parameter, header or body
		is, schema = true, at+"/schema"
	}
	if example, has := node["example"]; has && is {
		do(schema, example)
	}
	if is {
		for _, example := range list(node["examples"]) {
			do(schema, example)
		}
		for _, example := range object(node["examples"]) {
			do(schema, object(example)["value"])
		}
	}
	for _, key := range slices.Sorted(maps.Keys(node)) {
		if !is || key != "example" && key != "examples" {
			eachExample(node[key], at+"/"+escaped(key), do)
		}
	}
}
