package rest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicelb/sluice/mgmt/validate/field"
)

// View is the response for an object: live data as an H, and the fields of its table.
type View[H tabled] struct {
	About  H
	Fields map[string]any
}

// tabled is implemented by types alone: the schema name of the response, and the
// representation of its fields.
type tabled interface {
	Table() (name string, fields []field.Answered)
}

var tables sync.Map // fields by type; filters use them for each item

// fieldsOfTable returns the fields of the table of a response.
func fieldsOfTable[H tabled]() []field.Answered {
	t := reflect.TypeFor[H]()
	if known, ok := tables.Load(t); ok {
		return known.([]field.Answered)
	}
	var about H
	_, fields := about.Table()
	tables.Store(t, fields)
	return fields
}

// MarshalJSON encodes both as one object.
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

// viewed is a View of any type.
type viewed interface {
	filters() []filterField
	matches(f filter) bool
}

// filters returns the filter fields of both.
func (View[H]) filters() []filterField {
	out := slices.Clone(fieldsOfStruct(reflect.TypeFor[H]()))
	for _, f := range fieldsOfTable[H]() {
		out = append(out, filterField{name: f.Name, exact: f.Whole || f.Type == huma.TypeInteger || f.Type == huma.TypeNumber || f.Type == huma.TypeBoolean})
	}
	return out
}

func (v View[H]) matches(f filter) bool {
	value, is := v.Fields[f.name]
	if !is {
		return matchesStruct(reflect.ValueOf(v.About), f)
	}
	fields := fieldsOfTable[H]()
	at := slices.IndexFunc(fields, func(known field.Answered) bool { return known.Name == f.name })
	return value != nil && at >= 0 && equal(reflect.ValueOf(value), f.want, fields[at].Whole)
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

// answerSchema describes one field in responses.
func answerSchema(f field.Answered) *huma.Schema {
	s := &huma.Schema{Type: f.Type, Description: f.Description, Nullable: f.Null}
	if f.Plain.Unit != "" {
		s.Extensions = map[string]any{"x-unit": f.Plain.Unit}
	}
	if f.Plain.Example != nil {
		s.Examples = []any{f.Plain.Example}
	}
	if f.Type == huma.TypeArray {
		s.Items = &huma.Schema{Type: huma.TypeString}
	}
	for _, v := range f.PossibleValues {
		s.Enum = append(s.Enum, v)
	}
	return s
}
