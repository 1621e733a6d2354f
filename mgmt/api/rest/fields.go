package rest

import (
	"net/http"
	"slices"
	"strings"

	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/suggest"
)

// ReadObject reads the body as one JSON object.
func (c *Call) ReadObject() (map[string]any, error) {
	raw, err := ReadBody(c.Request, maxBody, jsonTypes)
	if err != nil {
		return nil, err
	}
	return DecodeObject(raw)
}

// Decode decodes the body with the table of its fields. An empty body is rejected with a
// list of the possible fields.
func Decode[T any](c *Call, table *field.Table[T]) (field.Values[T], error) {
	body, err := c.ReadObject()
	if err != nil {
		return field.Values[T]{}, err
	}
	if len(body) == 0 {
		return field.Values[T]{}, Help(table)
	}
	return table.Decode("", body)
}

// Help returns the response to an empty body, which lists the possible fields.
func Help(f Fields) error {
	return &Rejection{Status: http.StatusBadRequest, Message: "No parameter has been sent. Please, try with:", help: f.Params()}
}

// fieldNamed returns the field of the body that a rejection is about, "" for none. Messages
// about a field begin with its name.
func (o *Operation) fieldNamed(r *Rejection) string {
	end := strings.IndexAny(r.Message, ": ")
	if o.fields == nil || r.Status != http.StatusBadRequest || end < 0 {
		return ""
	}
	name := r.Message[:end]
	all := []Variant{{Of: o.fields}}
	if many, is := o.fields.(Varied); is {
		all = many.Variants()
	}
	for _, one := range all {
		if slices.ContainsFunc(one.Of.Params(), func(p field.Param) bool { return p.Name == name }) {
			return name
		}
	}
	return ""
}

// Object reads a small body outside of tables. All listed fields are accepted, and required
// ones must be present.
func (c *Call) Object(f Fields) (map[string]any, error) {
	body, err := c.ReadObject()
	if err != nil {
		return nil, err
	}
	if len(body) == 0 {
		return nil, Help(f)
	}
	return body, checkNames(f, body)
}

// Fields is Object for a body that may be empty.
func (c *Call) Fields(f Fields) (map[string]any, error) {
	body, err := c.ReadObject()
	if err != nil {
		return nil, err
	}
	return body, checkNames(f, body)
}

func checkNames(f Fields, body map[string]any) error {
	var names []string
	for _, p := range f.Params() {
		names = append(names, p.Name)
		if _, sent := body[p.Name]; !sent && slices.Contains(p.Options, "required") {
			return BadRequest("%s is required", p.Name)
		}
	}
	for name := range body {
		if !slices.Contains(names, name) {
			return BadRequest("unknown field %s%s", Quote(name), suggest.Field(name, names))
		}
	}
	return nil
}
