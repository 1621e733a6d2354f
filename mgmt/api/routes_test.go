package api_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// All operations with their permission, name, parameters and possible statuses.
func TestEveryOperationIsDescribed(t *testing.T) {
	a := newAppliance(t)
	d := readDoc(t, a)
	var all strings.Builder
	for _, route := range a.server.Routes() {
		o := d.Paths[route.Path][strings.ToLower(route.Method)]
		fmt.Fprintf(&all, "%s %s: %s, for %s (%s)\n", route.Method, route.Path, o.Summary, route.Needs, o.OperationID)
		for _, p := range o.Parameters {
			if p.In != "path" && p.Name != "" { // those common to all changes are references
				fmt.Fprintf(&all, "  %s %s: %s\n", p.In, p.Name, p.Description)
			}
		}
		if o.RequestBody != nil {
			fmt.Fprintf(&all, "  takes %s\n", strings.Join(slices.Sorted(maps.Keys(o.RequestBody.Content)), ", "))
		}
		var answers []string
		for _, status := range slices.Sorted(maps.Keys(o.Responses)) {
			said := status
			for _, kind := range slices.Sorted(maps.Keys(o.Responses[status].Content)) {
				if shape, _ := o.Responses[status].Content[kind].Schema["$ref"].(string); kind != "application/json" || !strings.HasSuffix(shape, "/ErrorBody") {
					said += strings.TrimRight(" "+kind+" "+strings.TrimPrefix(shape, "#/components/schemas/"), " ")
				}
			}
			answers = append(answers, said)
		}
		fmt.Fprintf(&all, "  answers %s\n", strings.Join(answers, ", "))
	}
	golden(t, "operations", all.String())
}

// The shapes of responses, without the fields of configurable objects.
func TestEveryShapeOfAnAnswerIsDescribed(t *testing.T) {
	schemas := readDoc(t, newAppliance(t)).Components.Schemas
	var all strings.Builder
	for _, name := range slices.Sorted(maps.Keys(schemas)) {
		if strings.HasPrefix(name, "Post") || strings.HasPrefix(name, "Put") {
			continue // used in request bodies
		}
		s, _ := schemas[name].(map[string]any)
		fmt.Fprintf(&all, "%s %v required %v\n", name, s["type"], slices.DeleteFunc(list(s["required"]), isOther))
		properties, _ := s["properties"].(map[string]any)
		for _, field := range slices.Sorted(maps.Keys(properties)) {
			if !isOther(field) {
				fmt.Fprintf(&all, "  %s: %s\n", field, quoteAny(properties[field]))
			}
		}
	}
	golden(t, "shapes", all.String())
}

func list(v any) (out []string) {
	items, _ := v.([]any)
	for _, item := range items {
		out = append(out, fmt.Sprint(item))
	}
	return out
}

func isOther(field string) bool { return slices.Contains(otherFields, field) }

// All operations report client errors in the same way: missing objects, unknown parameters
// and fields, broken bodies, and changes based on an outdated configuration.
func TestEveryOperationRefusesWhatIsWrong(t *testing.T) {
	a := newAppliance(t)
	a.shop(1)
	a.rules()
	a.dns(1)
	a.certificate("shop", "shop.example")
	a.authorities("clients")
	a.must(201, "POST", "/keys", "")
	_, before := a.applier.Current()
	missing := strings.NewReplacer("{farm}", "none", "{service}", "none", "{backend}", "9", "{rule}", "9", "{revision}", "99", "{key}", "99", "{certificate}", "none.pem", "{authority}", "none", "{alert}", "none", "{webhook}", "none", "{session}", "none", "{tag}", "none", "{backup}", "none", "{check}", "none")
	strange := strings.NewReplacer("{farm}", "shop", "{service}", "web", "{backend}", "x", "{rule}", "-1", "{revision}", "x", "{key}", "x", "{certificate}", "0", "{authority}", "0", "{alert}", "0", "{webhook}", "0", "{session}", "x", "{tag}", "x", "{backup}", "0", "{check}", "0")
	var all strings.Builder
	say := func(method, path, body string, headers ...string) {
		r := a.do(method, path, body, headers...)
		if r.status < 400 {
			if method != "GET" {
				t.Errorf("%s %s %s %v: %d %s", method, path, body, headers, r.status, r.raw)
			}
			return
		}
		said := fmt.Sprint(r.body["message"])
		if _, help := r.body["params"]; help || r.body["error"] != "true" {
			said = r.line(t)
		}
		asked := strings.TrimSpace(strings.Join(append([]string{method, path, body}, headers...), " "))
		fmt.Fprintf(&all, "%s\n  %d %s: %s\n", asked, r.status, r.body["description"], allowed.ReplaceAllString(said, "$1…"))
	}
	for _, route := range a.server.Routes() {
		say(route.Method, filled(route.Path)+"?nonsense=1", "")
		changes := route.Method == "POST" || route.Method == "PUT"
		if route.Path != missing.Replace(route.Path) {
			say(route.Method, missing.Replace(route.Path), "")
			if at := strange.Replace(route.Path); at != filled(route.Path) {
				say(route.Method, at, `{"nonsense":1}`)
			}
			if other := strings.Replace(filled(route.Path), "/farms/shop", "/farms/dns", 1); changes && other != filled(route.Path) {
				say(route.Method, other, `{"nonsense":1}`)
			}
		}
		if route.Method == "DELETE" && !strings.Contains(route.Path, "/sessions") && route.Path != "/keys/{key}" || strings.HasSuffix(route.Path, "/clean") {
			say(route.Method, filled(route.Path), "", "If-Match", `"99"`)
		}
		if changes && !strings.HasSuffix(route.Path, "/reload") && !strings.HasSuffix(route.Path, "/clean") {
			say(route.Method, filled(route.Path), `{"nonsense":1}`)
			say(route.Method, filled(route.Path), "x", "Content-Type", "image/png")
			say(route.Method, filled(route.Path), `{"nonsense":1}`, "If-Match", "abc")
		}
	}
	for _, body := range []string{"{", "[]", "7", `{"a":1}{}`, "{\n\"a\": x}", `{"file":["a"}`} {
		say("POST", "/farms/shop/certificates", body)
	}
	say("GET", "/farms?%zz", "")
	say("GET", "/farms?a=1&a=2", "")
	for _, path := range []string{"/history?limit=0", "/history?limit=501", "/history?before=x", "/farms/shop/services/web/sessions?limit=1001", "/connections?limit=0", "/connections?backend=0", "/connections?farm=dns&backend=x",
		"/config?format=xml", "/config?format=yaml&format=json", "/stats/farms?status=x", "/stats/farms?profile=x", "/history/1/diff?from=x", "/history/1/diff?from=99", "/farms/shop/services/web/sessions?session="} {
		say("GET", path, "")
	}
	say("PUT", "/config?dry_run=maybe", "farms: []\n", "Content-Type", "application/yaml")
	say("PUT", "/config?comment="+strings.Repeat("x", 1025), "farms: []\n", "Content-Type", "application/yaml")
	say("PUT", "/config?comment=a%07b", "farms: []\n", "Content-Type", "application/yaml")
	if _, after := a.applier.Current(); after.Number != before.Number {
		t.Errorf("a revision was written: %d after %d", after.Number, before.Number)
	}
	golden(t, "refused", all.String())
}
