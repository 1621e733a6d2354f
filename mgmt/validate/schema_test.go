package validate_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/mgmt/validate"
	"github.com/sluicelb/sluice/mgmt/validate/httpfarm"
)

// definition is the part of an object's schema that the tests use.
type definition struct {
	Title                string
	Type                 string
	Properties           map[string]property
	Required             []string
	AdditionalProperties *bool
}

type property struct {
	Title, Description string
	Type               any
	Enum               []any
	Default            any
	Minimum, Maximum   *float64
	ReadOnly           bool
	Group              string     `json:"x-group"`
	Unit               string     `json:"x-unit"`
	Advanced           *bool      `json:"x-advanced"`
	Cost               string     `json:"x-cost"`
	Only               *condition `json:"x-only"`
	Values             []string   `json:"x-values"`
	When               string     `json:"x-when"`
	Order              *int       `json:"x-order"`
}

type condition struct {
	Fields, Values []string
	Of, Text       string
	Refused        bool
	Or, And        *condition
}

func (c *condition) all() []*condition {
	if c == nil {
		return nil
	}
	return slices.Concat([]*condition{c}, c.Or.all(), c.And.all())
}

// kinds returns the types of a property.
func (p property) kinds() []string {
	if list, many := p.Type.([]any); many {
		var out []string
		for _, one := range list {
			out = append(out, one.(string))
		}
		return out
	}
	return []string{p.Type.(string)}
}

func readSchema(t *testing.T) map[string]definition {
	t.Helper()
	raw, err := json.Marshal(validate.Schema())
	if err != nil {
		t.Fatal(err)
	}
	var out struct {
		Schema string                `json:"$schema"`
		Defs   map[string]definition `json:"$defs"`
	}
	if err := json.Unmarshal(raw, &out); err != nil || out.Schema != "https://json-schema.org/draft/2020-12/schema" {
		t.Fatalf("%v %s", err, out.Schema)
	}
	return out.Defs
}

// The schema alone suffices to build a form for every object.
func TestTheSchemaHoldsWhatFormsNeed(t *testing.T) {
	all := readSchema(t)
	for name, object := range all {
		if object.Type != "object" || object.Title == "" || object.AdditionalProperties == nil || *object.AdditionalProperties || len(object.Properties) == 0 {
			t.Errorf("%s: %+v", name, object)
		}
		for _, required := range object.Required {
			if _, there := object.Properties[required]; !there {
				t.Errorf("%s requires %s, which it does not have", name, required)
			}
		}
		var orders []int
		for field, p := range object.Properties {
			if p.Title == "" || p.Description == "" || p.Group == "" || p.Advanced == nil || !slices.Contains([]string{"none", "connections", "restart"}, p.Cost) {
				t.Errorf("%s.%s: %+v", name, field, p)
			}
			p.checkDefault(t, name+"."+field)
			if !p.ReadOnly {
				orders = append(orders, *p.Order)
			}
			for _, only := range p.Only.all() {
				in := object
				if only.Of == "farm" {
					in = all[strings.TrimSuffix(name, "_backend")+"_farm"]
				}
				for _, other := range only.Fields {
					if _, there := in.Properties[other]; !there {
						t.Errorf("%s.%s needs %s, which is no property", name, field, other)
					}
				}
			}
		}
		if slices.Sort(orders); len(slices.Compact(orders)) != len(orders) {
			t.Errorf("%s: two fields have one place: %v", name, orders)
		}
	}
}

func (p property) checkDefault(t *testing.T, at string) {
	t.Helper()
	kind := map[bool]string{true: "boolean"}[p.Default == true || p.Default == false]
	switch v := p.Default.(type) {
	case nil:
		return
	case float64:
		kind = "integer"
		if p.Minimum != nil && v < *p.Minimum || p.Maximum != nil && v > *p.Maximum {
			t.Errorf("%s: the default %v is out of its bounds", at, v)
		}
	case string:
		kind = "string"
	case []any:
		kind = "array"
	}
	if !slices.Contains(p.kinds(), kind) || p.Enum != nil && !slices.Contains(p.Enum, p.Default) {
		t.Errorf("%s: the default %v is none of %v %v", at, p.Default, p.kinds(), p.Enum)
	}
}

func TestTheSchemaSaysWhatTheRulesSay(t *testing.T) {
	defs := readSchema(t)
	wait := defs["service"].Properties["queue_timeout"]
	if wait.Unit != "s" || wait.Default != 5.0 || *wait.Minimum != 1 || *wait.Maximum != httpfarm.MaxQueueTimeout || wait.Only.Fields[0] != "queue" ||
		wait.Only.Text != "while queue is not 0" || !wait.Only.Refused || !slices.Equal(wait.kinds(), []string{"integer", "null"}) {
		t.Errorf("queue_timeout %+v", wait)
	}
	if id := defs["service"].Properties["sessionid"]; id.Only.Refused || !slices.Equal(id.Only.Values, []string{"URL", "COOKIE", "HEADER"}) {
		t.Errorf("sessionid %+v", id.Only)
	}
	if code := defs["service"].Properties["redirect_code"]; code.Default != 302.0 || !slices.Contains(code.Enum, any(301.0)) {
		t.Errorf("redirect_code %+v", code)
	}
	l4 := defs["l4xnat_farm"].Properties
	if in := l4["proxyprotocol_in"].Only; !in.Refused || in.Fields[0] != "protocol" || !slices.Equal(in.Values, []string{"tcp"}) || in.And.Fields[0] != "trusted" ||
		in.Text != "with protocol tcp and with trusted, the addresses that may send such headers" {
		t.Errorf("proxyprotocol_in %+v", in)
	}
	if wait := l4["idle_timeout"].Only; wait.Refused || wait.Fields[0] != "carrier" || !slices.Equal(wait.Or.Values, []string{"dsr", "stateless_dnat"}) ||
		wait.Text != "while the farm runs in userspace or with nattype dsr or stateless_dnat" {
		t.Errorf("idle_timeout %+v", wait)
	}
	if carrier := l4["carrier"]; !carrier.ReadOnly || len(carrier.Enum) != 2 {
		t.Errorf("carrier %+v", carrier)
	}
	if limit := defs["l4xnat_backend"].Properties["max_conns"].Only; limit.Of != "farm" || limit.Fields[0] != "nattype" {
		t.Errorf("max_conns %+v", limit)
	}
	if host := defs["http_farm"]; host.Properties["vip"].Cost != "restart" || !slices.Contains(host.Required, "vip") || host.Properties["newfarmname"].Title == "" {
		t.Errorf("vip %+v of %v", host.Properties["vip"], host.Required)
	}
	if host := defs["http_farm"].Properties; host["copy_from"].When != "create" || host["newfarmname"].When != "update" || host["vip"].When != "" ||
		!slices.Equal(host["ignore_100_continue"].Values, []string{"pass", "ignore", "silent", "not-allow"}) || host["httpverb"].Values != nil {
		t.Errorf("fields of each request: %+v", host)
	}
	if abort := defs["service"].Properties["abortonclose"]; abort.Default != true {
		t.Errorf("abortonclose %+v", abort)
	}
	if split := defs["service"].Properties["split"]; split.Default != nil {
		t.Errorf("split, which has no value until it is set: %+v", split.Default)
	}
}
