package api_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/mgmt/api"
	"github.com/sluicelb/sluice/mgmt/rbac"
)

// doc is the part of an OpenAPI document that the tests use.
type doc struct {
	OpenAPI    string `json:"openapi"`
	Paths      map[string]map[string]operation
	Components struct{ Schemas map[string]any }
}

// body returns the body schema of an operation, with the fields of all variants.
func (d doc) body(o operation) schema {
	s := o.RequestBody.Content["application/json"].Schema
	var several schema
	if known := d.Components.Schemas[strings.TrimPrefix(s.Ref, "#/components/schemas/")]; known != nil {
		_ = json.Unmarshal([]byte(quoteAny(known)), &several) // it was decoded from JSON
	}
	shapes := append(several.AnyOf, s)
	out := schema{Properties: map[string]schema{}, AdditionalProperties: false}
	for _, one := range shapes {
		var named schema
		known := d.Components.Schemas[strings.TrimPrefix(one.Ref, "#/components/schemas/")]
		if known == nil || json.Unmarshal([]byte(quoteAny(known)), &named) != nil || named.Properties == nil {
			continue
		}
		maps.Copy(out.Properties, named.Properties)
		if out.AdditionalProperties = named.AdditionalProperties; out.Required == nil {
			out.Required = named.Required
		}
	}
	return out
}

type operation struct {
	OperationID string `json:"operationId"`
	Summary     string
	Parameters  []struct{ Name, In, Description string }
	RequestBody *struct {
		Content map[string]struct{ Schema schema }
	} `json:"requestBody"`
	Responses map[string]struct {
		Content map[string]struct{ Schema map[string]any }
	}
}

type schema struct {
	Ref                  string `json:"$ref"`
	Type                 any
	Examples             []any
	Properties           map[string]schema
	Required             []string
	AdditionalProperties any
	AnyOf                []schema
	Enum                 []any
	Minimum, Maximum     *float64
}

func readDoc(t *testing.T, a *appliance) doc {
	t.Helper()
	var d doc
	r := a.must(200, "GET", "/openapi.json", "")
	if err := json.Unmarshal([]byte(r.raw), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDocumentIsOpenAPI31AndWhole(t *testing.T) {
	a := newAppliance(t)
	d := readDoc(t, a)
	if d.OpenAPI != "3.1.0" {
		t.Errorf("version %q", d.OpenAPI)
	}
	if r := a.must(200, "GET", "/openapi.yaml", ""); !strings.Contains(r.raw, "openapi: 3.1.0") {
		t.Error("no YAML document")
	}
	seen := map[string]bool{}
	ref := regexp.MustCompile(`#/components/schemas/([^"]+)`)
	for path, verbs := range d.Paths {
		for verb, o := range verbs {
			if seen[o.OperationID] || o.OperationID == "" {
				t.Errorf("%s %s: operation id %q is not unique", verb, path, o.OperationID)
			}
			seen[o.OperationID] = true
			for _, status := range []string{"400", "401", "403", "429", "500", "503"} {
				if _, ok := o.Responses[status]; !ok {
					t.Errorf("%s %s: no answer %s documented", verb, path, status)
				}
			}
		}
	}
	for _, path := range []string{"/farms", "/history/rollback"} { // copy_from and revision may name a missing object
		if _, ok := d.Paths[path]["post"].Responses["404"]; !ok {
			t.Errorf("post %s: no answer 404 documented", path)
		}
	}
	for _, m := range ref.FindAllStringSubmatch(a.must(200, "GET", "/openapi.json", "").raw, -1) {
		if d.Components.Schemas[m[1]] == nil {
			t.Errorf("schema %s is referred to and missing", m[1])
		}
	}
}

// Every operation is documented and needs a key and a permission. The document contains no
// others.
func TestEveryRouteIsDocumentedAndClosed(t *testing.T) {
	a := newAppliance(t)
	a.shop(1)
	a.rules()
	a.dns(1)
	a.gslb()
	a.must(201, "POST", "/keys", "")
	d := readDoc(t, a)
	routes := a.server.Routes()
	for _, route := range routes {
		if !rbac.Permission(route.Needs).Known() {
			t.Errorf("%s %s is closed to everybody: it needs %q", route.Method, route.Path, route.Needs)
		}
		if _, ok := d.Paths[route.Path][strings.ToLower(route.Method)]; !ok {
			t.Errorf("%s %s is not in the document", route.Method, route.Path)
		}
		path := filled(route.Path)
		if rbac.Permission(route.Needs) == rbac.Public {
			continue // see TestWhatStrangersMay
		}
		for _, base := range []string{api.Base, api.FamilyBase} {
			if r := a.send(route.Method, base+path, `{}`); route.Path == "/session" {
				if r.status != 400 && r.status != 401 {
					t.Errorf("%s %s without a credential: %d", route.Method, path, r.status)
				}
				continue // has its own credentials
			} else {
				r.refused(t, 401)
			}
			if endless(route.Path) {
				continue
			}
			if r := a.send(route.Method, base+path, `{"nonsense":1}`, "ZAPI_KEY", a.key); r.status == 401 || r.status == 405 || r.status >= 500 {
				t.Errorf("%s %s with the key: %d\n%s", route.Method, path, r.status, r.raw)
			} else {
				wantHeaders(t, route.Method+" "+path, r.header)
			}
		}
		if route.Method == "DELETE" {
			a = newAppliance(t)
			a.shop(1)
			a.rules()
			a.dns(1)
			a.gslb()
			a.must(201, "POST", "/keys", "")
		}
	}
	documented := 0
	for _, verbs := range d.Paths {
		documented += len(verbs)
	}
	if documented != len(routes) {
		t.Errorf("%d operations documented, %d exist", documented, len(routes))
	}
}

// filled returns a path with existing names. Backends and sessions belong to a service or to
// an l4xnat farm.
func filled(path string) string {
	name := "shop"
	if strings.HasPrefix(path, "/farms/{farm}/backends") || strings.HasPrefix(path, "/farms/{farm}/sessions") || strings.HasPrefix(path, "/farms/{farm}/fg") {
		name = "dns"
	}
	if strings.HasPrefix(path, "/farms/{farm}/zones") {
		name = "names"
	}
	return strings.NewReplacer("{zone}", "example.com", "{resource}", "0", "{farm}", name, "{service}", "web", "{backend}", "0", "{rule}", "0", "{revision}", "1", "{tag}", "one", "{key}", "2",
		"{certificate}", "shop.pem", "{authority}", "clients", "{alert}", "backends", "{webhook}", "ops",
		"{session}", "192.0.2.1", "{user}", "ann", "{group}", "team", "{role}", "ops",
		"{log}", "sluice-audit.log", "{backup}", "monday", "{lines}", "1", "{address}", "10.0.0.1", "{interface}", "eth0", "{graph}", "cpu", "{check}", "check_tcp", "{disk}", "root", "{frequency}", "daily",
		"{start}", "01-01-2026-00:00", "{end}", "01-02-2026-00:00").Replace(path)
}

// sample returns a body with every required field and one more.
func sample(s schema, extra string) string {
	body := map[string]any{}
	for _, name := range append(slices.Clone(s.Required), extra) {
		body[name] = value(s.Properties[name])
	}
	return quoteAny(body)
}

func value(s schema) any {
	if len(s.Examples) > 0 {
		return s.Examples[0]
	}
	for _, one := range s.AnyOf {
		switch {
		case one.Type == "integer" && one.Minimum != nil:
			return *one.Minimum
		case len(one.Enum) > 0:
			return one.Enum[0]
		}
	}
	return "a"
}

func TestErrorsAreDocumentedInTheShapeTheyHave(t *testing.T) {
	a := newAppliance(t)
	body, ok := readDoc(t, a).Components.Schemas["ErrorBody"].(map[string]any)
	if !ok {
		t.Fatal("no schema ErrorBody")
	}
	properties := body["properties"].(map[string]any)
	for name := range a.do("GET", "/farms/none", "").body {
		if properties[name] == nil {
			t.Errorf("%s is not documented", name)
		}
	}
	if got := fmt.Sprint(body["required"]); !strings.Contains(got, "message") {
		t.Errorf("required: %s", got)
	}
}

// The document has a description and an example for each request field, and a description
// for each response field. Examples of table fields are in mgmt/validate/examples.go,
// meanings of response names in mgmt/api/rest/answerwords.go.
func TestEveryFieldIsDescribedAndHasAnExample(t *testing.T) {
	for name, s := range readDoc(t, newAppliance(t)).Components.Schemas {
		sent := strings.HasPrefix(name, "Post") || strings.HasPrefix(name, "Put")
		properties, _ := s.(map[string]any)["properties"].(map[string]any)
		for field, p := range properties {
			p := p.(map[string]any)
			if p["$ref"] == nil && p["description"] == nil {
				t.Errorf("%s: %s has no description", name, field)
			}
			if sent && p["examples"] == nil {
				t.Errorf("%s: %s has no example", name, field)
			}
		}
	}
}
