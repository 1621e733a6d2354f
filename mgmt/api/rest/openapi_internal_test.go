package rest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/mgmt/validate"
)

func TestAFieldIsDocumentedByWhatItTakes(t *testing.T) {
	for want, p := range map[string]validate.Param{
		`{"items":{"enum":["a","b"],"type":"string"},"type":"array"} {"enum":["a","b"],"type":"string"}`: {PossibleValues: []string{"a", "b"}, Options: []string{"list"}},
		`{"maximum":9,"minimum":1,"type":"integer"} {"pattern":"^-?[0-9]+$","type":"string"}`:            {Format: "integer", Interval: "1,9"},
		`{"minimum":0,"type":"integer"} {"pattern":"^-?[0-9]+$","type":"string"}`:                        {Interval: "0,"},
		`{"type":"integer"} {"pattern":"^-?[0-9]+$","type":"string"}`:                                    {Format: "integer"},
		`{"maximum":9,"minimum":1,"type":"integer"} {"type":"string"}`:                                   {Format: "port", Interval: "1,9"},
		`{"type":"boolean"} {"enum":["true","false"],"type":"string"}`:                                   {PossibleValues: []string{"true", "false"}},
		`{"enum":["off","301"],"type":"string"} {"type":"integer"}`:                                      {PossibleValues: []string{"off", "301"}},
		`{"enum":["auto","true"],"type":"string"} {"type":"boolean"}`:                                    {PossibleValues: []string{"auto", "true"}},
		`{"enum":["a","b"],"type":"string"}`:                                                             {PossibleValues: []string{"a", "b"}},
		`{"type":"string"}`:                                                                              {},
		`{"type":"string"} {"type":"null"}`:                                                              {Format: "ip", Options: []string{"null"}},
	} {
		p.Options = append(p.Options, "non_blank")
		var got []string
		for _, one := range fieldSchema(p).AnyOf {
			b, err := json.Marshal(one)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, string(b))
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%+v:\ngot  %s\nwant %s", p, text, want)
		}
	}
	blank := fieldSchema(validate.Param{Description: "About.", Format: "ip"})
	if n := len(blank.AnyOf); n != 3 || blank.Description != "About. Form: ip." {
		t.Errorf("%d alternatives, %q", n, blank.Description)
	}
	if number := fieldSchema(validate.Param{Description: "About.", Format: "integer"}); number.Description != "About." {
		t.Errorf("%q", number.Description)
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
			got = append(got, p.Name)
			if p.Required != (p.In == "path") {
				t.Errorf("%s in %s is required: %t", p.Name, p.In, p.Required)
			}
		}
		if !slices.Equal(got, strings.Fields(c.want)) {
			t.Errorf("%s %s takes %v", c.o.Method, c.o.Path, got)
		}
	}
}
