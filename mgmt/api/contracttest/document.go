package contracttest

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Document is the OpenAPI document of an appliance.
type Document struct {
	Operations []*Operation
	root       map[string]any
	compiler   *jsonschema.Compiler
	turn       int // position in the hostile values
	mu         sync.Mutex
	schemas    map[string]*jsonschema.Schema
}

// Operation is one operation of a document.
type Operation struct {
	Method, Path string
	place        string // JSON pointer to node
	node         map[string]any
	shared       []map[string]any // its parameters, with references resolved
}

func (o *Operation) String() string { return o.Method + " " + o.Path }

const documentURL = "openapi.json"

// Read parses a document and reports violations of OpenAPI.
func Read(t testing.TB, raw []byte) *Document {
	t.Helper()
	loaded, err := openapi3.NewLoader().LoadFromData(raw)
	if err != nil {
		t.Fatalf("the document is no OpenAPI: %v", err)
	}
	if err := loaded.Validate(context.Background()); err != nil {
		t.Errorf("the document is no right OpenAPI: %v", err)
	}
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	d := &Document{root: object(parsed), compiler: jsonschema.NewCompiler(), schemas: map[string]*jsonschema.Schema{}}
	d.compiler.AssertFormat()
	if err := d.compiler.AddResource(documentURL, parsed); err != nil {
		t.Fatal(err)
	}
	paths := object(d.root["paths"])
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		verbs := object(paths[path])
		for _, verb := range slices.Sorted(maps.Keys(verbs)) {
			o := &Operation{Method: strings.ToUpper(verb), Path: path, place: "/paths/" + escaped(path) + "/" + verb, node: object(verbs[verb])}
			for _, p := range list(o.node["parameters"]) {
				o.shared = append(o.shared, d.resolved(object(p)))
			}
			d.Operations = append(d.Operations, o)
		}
	}
	return d
}

// object returns v as an object, or an empty one if it is none.
func object(v any) map[string]any { m, _ := v.(map[string]any); return m }

func list(v any) []any { l, _ := v.([]any); return l }

func text(v any) string { s, _ := v.(string); return s }

// escaped escapes a step of a JSON pointer (RFC 6901).
func escaped(step string) string {
	return strings.ReplaceAll(strings.ReplaceAll(step, "~", "~0"), "/", "~1")
}

// schema compiles the schema at a JSON pointer.
func (d *Document) schema(pointer string) (*jsonschema.Schema, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s := d.schemas[pointer]; s != nil {
		return s, nil
	}
	s, err := d.compiler.Compile(documentURL + "#" + pointer)
	if err != nil {
		return nil, fmt.Errorf("the schema at %s: %w", pointer, err)
	}
	d.schemas[pointer] = s
	return s, nil
}

// resolved follows references.
func (d *Document) resolved(node map[string]any) map[string]any {
	for range 16 {
		ref := text(node["$ref"])
		if ref == "" {
			break
		}
		var at any = d.root
		for _, step := range strings.Split(strings.TrimPrefix(ref, "#/"), "/") {
			at = object(at)[strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")]
		}
		node = object(at)
	}
	return node
}

// changes reports whether the operation changes something, i.e. accepts the headers of
// changes.
func (o *Operation) changes() bool { return o.header("If-Match") }

func (o *Operation) header(name string) bool { return o.takes("header", name) }

// query reports whether the operation has that query parameter.
func (o *Operation) query(name string) bool { return o.takes("query", name) }

func (o *Operation) takes(in, name string) bool {
	return slices.ContainsFunc(o.parameters(in), func(p map[string]any) bool { return p["name"] == name })
}

func (o *Operation) parameters(in string) (out []map[string]any) {
	for _, p := range o.shared {
		if p["in"] == in {
			out = append(out, p)
		}
	}
	return out
}

// content returns the bodies by content type.
func (o *Operation) content() map[string]any {
	return object(object(o.node["requestBody"])["content"])
}

// jsonBody returns the schema of the body's fields and its JSON pointer, or nil if there
// are no fields.
func (d *Document) jsonBody(o *Operation) (map[string]any, string) {
	media := object(o.content()["application/json"])
	schema := d.resolved(object(media["schema"]))
	if len(d.variants(schema)) == 0 {
		return nil, ""
	}
	return schema, o.place + "/requestBody/content/application~1json/schema"
}

// variants returns the objects with fields that a schema allows.
func (d *Document) variants(schema map[string]any) (out []map[string]any) {
	schema = d.resolved(schema)
	if len(object(schema["properties"])) > 0 {
		return []map[string]any{schema}
	}
	for _, kind := range []string{"oneOf", "anyOf"} {
		for _, one := range list(schema[kind]) {
			out = append(out, d.variants(object(one))...)
		}
	}
	return out
}

func (o *Operation) responses() map[string]any { return object(o.node["responses"]) }

// streams reports whether the response is endless.
func (o *Operation) streams() bool {
	return object(object(o.responses()["200"])["content"])["text/event-stream"] != nil
}
