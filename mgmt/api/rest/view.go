package rest

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicelb/sluice/mgmt/validate"
)

// View is an answer about an object: what is known of it besides its
// configuration, which is an H, and the fields of its table.
type View[H tabled] struct {
	About  H
	Fields map[string]any
}

// tabled is told by the type alone: what the answer is called in the document, and
// how its fields are shown.
type tabled interface {
	Table() (name string, fields []validate.Answered)
}

// MarshalJSON writes both as one object.
func (v View[H]) MarshalJSON() ([]byte, error) {
	about, err := json.Marshal(v.About)
	if err != nil {
		return nil, err
	}
	fields, err := json.Marshal(v.Fields)
	if err != nil || len(v.Fields) == 0 {
		return about, err
	}
	if len(about) == len("{}") {
		return fields, nil
	}
	return append(append(about[:len(about)-1], ','), fields[1:]...), nil
}

// Schema describes both as one object.
func (View[H]) Schema(r huma.Registry) *huma.Schema {
	var about H
	name, fields := about.Table()
	if r.Map()[name] == nil {
		s := huma.SchemaFromType(r, reflect.TypeFor[H]())
		for _, f := range fields {
			if s.Properties[f.Name] != nil {
				panic(fmt.Sprintf("api: the answer %s has %s twice", name, f.Name))
			}
			s.Properties[f.Name] = answerSchema(f)
			if !f.Maybe {
				s.Required = append(s.Required, f.Name)
			}
		}
		r.Map()[name] = s
	}
	return &huma.Schema{Ref: "#/components/schemas/" + name}
}

// answerSchema says how answers show one field.
func answerSchema(f validate.Answered) *huma.Schema {
	s := &huma.Schema{Type: f.Type, Description: f.Description, Nullable: f.Null}
	if f.Type == huma.TypeArray {
		s.Items = &huma.Schema{Type: huma.TypeString}
	}
	for _, v := range f.PossibleValues {
		s.Enum = append(s.Enum, v)
	}
	return s
}
