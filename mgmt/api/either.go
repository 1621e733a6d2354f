package api

import (
	"encoding/json"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
	"github.com/sluicelb/sluice/core/farm"
)

// either is an answer that is an A or a B, by the profile of the farm it is
// about.
type either[A, B any] struct {
	a *A
	b *B
}

func first[A, B any](a A) either[A, B]  { return either[A, B]{a: &a} }
func second[A, B any](b B) either[A, B] { return either[A, B]{b: &b} }

// MarshalJSON writes the one there is.
func (e either[A, B]) MarshalJSON() ([]byte, error) {
	if e.b != nil {
		return json.Marshal(e.b)
	}
	return json.Marshal(e.a)
}

// Schema says that the answer is one of the two.
func (either[A, B]) Schema(r huma.Registry) *huma.Schema {
	return &huma.Schema{OneOf: []*huma.Schema{
		r.Schema(reflect.TypeFor[A](), true, ""), r.Schema(reflect.TypeFor[B](), true, "")}}
}

// VirtualPort is the port of a farm as the family writes it: a number of an
// http farm, ports and ranges as a text of an l4xnat farm.
type VirtualPort struct {
	number uint16
	text   string
}

func virtualPort(f *farm.Farm) VirtualPort {
	if f.L4 != nil {
		return VirtualPort{text: f.L4.PortsText()}
	}
	return VirtualPort{number: f.VPort}
}

// MarshalJSON writes the number or the text.
func (p VirtualPort) MarshalJSON() ([]byte, error) {
	if p.text != "" {
		return json.Marshal(p.text)
	}
	return json.Marshal(p.number)
}

// Schema says that both are possible.
func (VirtualPort) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Description: "A number; ports and ranges as a text in l4xnat farms",
		OneOf: []*huma.Schema{{Type: huma.TypeInteger}, {Type: huma.TypeString}}}
}
