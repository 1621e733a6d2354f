package api_test

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/mgmt/probe"
)

// The texts about fields in the GUI's forms come from the appliance, in English. Their
// translations lie beside a list of these texts, so a change of one shows up in this test.
func TestTheGUITranslatesTheTextsOfToday(t *testing.T) {
	const path = "../../web/src/i18n/fields.en.json"
	a := newAppliance(t)
	texts := textsOf(t, a)
	var got bytes.Buffer
	e := json.NewEncoder(&got)
	e.SetIndent("", " ")
	e.SetEscapeHTML(false)
	if err := e.Encode(texts); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(path); err != nil || !bytes.Equal(got.Bytes(), want) {
		t.Errorf("%s is out of date (%v): run go test ./mgmt/api -run GUI -update, and translate new entries of fields.*.json", path, err)
	}
}

// form matches the suffix of a field's description; the GUI reads it as x-format.
var form = regexp.MustCompile(` Form: .+\.$`)

// textsOf returns the titles, descriptions, groups and units of all form fields, in the
// schema and in bodies outside of farms. It also returns the descriptions of the built-in
// checks.
func textsOf(t *testing.T, a *appliance) []string {
	t.Helper()
	found := map[string]bool{}
	note := func(of map[string]any) {
		for _, field := range of {
			f, _ := field.(map[string]any)
			for _, name := range []string{"title", "description", "x-group", "x-unit"} {
				if text, _ := f[name].(string); text != "" {
					found[form.ReplaceAllString(text, "")] = true
				}
			}
		}
	}
	var schema, document map[string]any
	for at, into := range map[string]*map[string]any{"/schema": &schema, "/openapi.json": &document} {
		if err := json.Unmarshal([]byte(a.must(200, "GET", at, "").raw), into); err != nil {
			t.Fatal(err)
		}
	}
	for _, object := range schema["$defs"].(map[string]any) {
		note(object.(map[string]any)["properties"].(map[string]any))
	}
	schemas := document["components"].(map[string]any)["schemas"].(map[string]any)
	for path, operations := range document["paths"].(map[string]any) {
		if strings.HasPrefix(path, "/farms") {
			continue // included in the schema
		}
		for _, o := range operations.(map[string]any) {
			operation, _ := o.(map[string]any)
			body, _ := operation["requestBody"].(map[string]any)
			content, _ := body["content"].(map[string]any)
			media, _ := content["application/json"].(map[string]any)
			of, _ := media["schema"].(map[string]any)
			if ref, _ := of["$ref"].(string); ref != "" {
				of, _ = schemas[strings.TrimPrefix(ref, "#/components/schemas/")].(map[string]any)
			}
			properties, _ := of["properties"].(map[string]any)
			note(properties)
		}
	}
	for _, template := range probe.Templates() {
		found[template.Description] = true
	}
	out := []string{}
	for text := range found {
		out = append(out, text)
	}
	slices.Sort(out)
	return out
}
