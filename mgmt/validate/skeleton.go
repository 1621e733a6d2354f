package validate

import (
	"errors"
	"net/netip"

	"github.com/sluicelb/sluice/core/farm"
)

// Value is one checked value of a body.
type Value struct {
	kind   byte
	text   string
	number int64
	truth  bool
}

// Null reports whether the body held null.
func (v Value) Null() bool { return v.kind == 0 }

// Text returns a text value.
func (v Value) Text() string { return v.text }

// Number returns a number.
func (v Value) Number() int64 { return v.number }

// Bool returns a truth value.
func (v Value) Bool() bool { return v.truth }

// Param is one line of the family's help body.
type Param struct {
	Name           string   `json:"name"`
	Format         string   `json:"format,omitempty"`
	PossibleValues []string `json:"possible_values,omitempty"`
	Interval       string   `json:"interval,omitempty"`
	Options        []string `json:"options,omitempty"`
	Description    string   `json:"description,omitempty"`
}

// Table is the list of fields a body about a T may have.
type Table[T any] struct{}

// Decode checks a body against the table: required fields, unknown names, then each value.
func (t Table[T]) Decode(path string, body map[string]any) (Values[T], error) {
	return Values[T]{}, errors.New("not there yet")
}

// Params returns the fields for the help body.
func (t Table[T]) Params() []Param { return nil }

// Names returns the field names in table order.
func (t Table[T]) Names() []string { return nil }

// Values are the checked values of one body.
type Values[T any] struct{}

// Has reports whether the body held the field.
func (v Values[T]) Has(name string) bool { return false }

// Get returns the value of a field; the zero Value when the body did not hold it.
func (v Values[T]) Get(name string) Value { return Value{} }

// Apply sets every value the body held in to.
func (v Values[T]) Apply(to *T) {}

// Sent returns what was sent in its normal form, for the API's answer.
func (v Values[T]) Sent() map[string]any { return nil }

// The tables, one for each body. Farm names are "farmname" and "newfarmname",
// a service's name is "id" in the API; the document says "name".
var (
	FarmCreate      Table[farm.Farm]    // farmname profile vip vport copy_from
	FarmUpdate      Table[farm.Farm]    // newfarmname vip vport and every directive
	FarmAction      Table[farm.Farm]    // action
	FarmDocument    Table[farm.Farm]    // name profile vip vport stopped and every directive
	ServiceCreate   Table[farm.Service] // id
	ServiceUpdate   Table[farm.Service] // vhost urlp redirect …
	ServiceMove     Table[farm.Service] // position
	ServiceDocument Table[farm.Service]
	BackendCreate   Table[farm.Backend] // ip port weight priority timeout connection_limit alias
	BackendUpdate   Table[farm.Backend] // the same, all optional
	BackendDocument Table[farm.Backend]
	Maintenance     Table[farm.Backend] // action mode; Apply sets Backend.Maintenance
)

// Rules checks whole configurations. The zero value knows no local network.
type Rules struct {
	// Prefixes returns the addresses of this machine with their prefix length,
	// host bits kept (192.0.2.7/24); nil means none.
	Prefixes func() []netip.Prefix
}

// SystemPrefixes returns the addresses of this machine as Rules wants them.
func SystemPrefixes() []netip.Prefix { return nil }

// Config returns the first broken rule as *Error, nil when there is none.
func (r Rules) Config(cfg *farm.Config) error { return nil }

// All returns every broken rule.
func (r Rules) All(cfg *farm.Config) []Error { return nil }

// Config is Rules{}.Config.
func Config(cfg *farm.Config) error { return Rules{}.Config(cfg) }

// All is Rules{}.All.
func All(cfg *farm.Config) []Error { return Rules{}.All(cfg) }

// Warnings returns what is allowed but cannot work: priorities never reached.
func Warnings(cfg *farm.Config) []Error { return nil }

// PriorityWarning returns a text when backend i of s can never be used, "" otherwise.
func PriorityWarning(s *farm.Service, i int) string { return "" }

// AddBackend says whether a backend may be added to s; not while s has a redirect.
func AddBackend(path string, s *farm.Service) error { return nil }

// LocalVIP says whether addr may be a VIP of a machine with these addresses.
func LocalVIP(addr netip.Addr, local []netip.Addr) error { return nil }
