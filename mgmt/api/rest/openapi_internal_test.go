package rest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicelb/sluice/mgmt/validate/field"
)

func TestAFieldOfNoTableIsDocumentedByWhatItsLineTells(t *testing.T) {
	for want, p := range map[string]field.Param{
		`{"type":"array","examples":[["a"]],"items":{"type":"string","enum":["a","b"],"minLength":1}}`:                    {PossibleValues: []string{"a", "b"}, Options: []string{"list", "non_blank"}},
		`{"type":"integer","examples":[1],"minimum":1,"maximum":9}`:                                                       {Format: "integer", Interval: "1,9", Options: []string{"non_blank"}},
		`{"type":["integer","null"],"examples":[1],"minimum":0}`:                                                          {Interval: "0,"},
		`{"type":"string","examples":["true"],"enum":["true","false"]}`:                                                   {PossibleValues: []string{"true", "false"}, Options: []string{"non_blank"}},
		`{"type":"string","examples":["a"],"enum":["a","b"]}`:                                                             {PossibleValues: []string{"a", "b"}},
		`{"type":"string","description":"About. Form: ip.","minLength":1}`:                                                {Description: "About.", Format: "ip", Options: []string{"non_blank"}},
		`{"type":["string","null"]}`:                                                                                      {},
		`{"type":["string","null"],"minLength":1}`:                                                                        {Options: []string{"non_blank", "null"}},
		`{"type":"object","examples":[{"show":"true"}],"additionalProperties":{"type":"string","enum":["true","false"]}}`: {Format: "object"},
	} {
		if got := written(t, fieldSchema(p)); got != normal(t, want) {
			t.Errorf("%+v:\ngot  %s\nwant %s", p, got, want)
		}
	}
}

// written returns a schema as it appears in the document.
func written(t *testing.T, s *huma.Schema) string {
	t.Helper()
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return normal(t, string(b))
}

func normal(t *testing.T, text string) string {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A table field is documented in its plain form, with its unit and the cost of changing it.
func TestAFieldOfATableIsDocumentedInItsPlainForm(t *testing.T) {
	low, high := int64(1), int64(9)
	for want, f := range map[string]field.Plain{
		`{"type":"integer","title":"Weight","default":1,"examples":[2],"minimum":1,"maximum":9,"x-unit":"s","x-cost":"none","x-advanced":true}`: {
			Type: "integer", Min: &low, Max: &high, Default: int64(1), Example: int64(2), Unit: "s", Cost: field.CostNone, IsAdvanced: true, Label: "Weight"},
		`{"type":["array","null"],"items":{"type":"string","pattern":"^a","minLength":1,"maxLength":5},"maxItems":3}`: {
			Type: "array", Null: true, Pattern: "^a", MinLength: 1, MaxLength: 5, MaxItems: 3},
	} {
		if got := written(t, fieldSchema(field.Param{Name: "x", Plain: f})); got != normal(t, want) {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestOnlyChangesTakeTheHeadersOfChanges(t *testing.T) {
	for _, c := range []struct {
		o    Operation
		want string
	}{
		{Operation{Method: http.MethodGet, Path: "/farms/{name}"}, "name"},
		{Operation{Method: http.MethodPost, Path: "/explain", reads: true}, ""},
		{Operation{Method: http.MethodPut, Path: "/farms/{name}"}, "name If-Match Idempotency-Key"},
	} {
		var got []string
		for _, p := range c.o.parameters() {
			if p.Ref != "" {
				got = append(got, strings.TrimPrefix(p.Ref, parameterRef))
				continue
			}
			got = append(got, p.Name)
			if p.Required != (p.In == "path") {
				t.Errorf("%s in %s is required: %t", p.Name, p.In, p.Required)
			}
		}
		if !slices.Equal(got, strings.Fields(c.want)) {
			t.Errorf("%s %s accepts %v", c.o.Method, c.o.Path, got)
		}
	}
}
