//go:build !race

// The tests share no memory and take half a minute with the race detector.

package document_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/document"
	"github.com/sluicelb/sluice/mgmt/validate"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/httpfarm"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
)

// tried has values of every kind that a rule may require.
var tried = []any{true, false, 7, 1700, "a", "a.pem", "/x", "^/x", "X-A", "10.0.0.9", "a.example", "https://a.example/", []any{"10.0.0.0/8"}, []any{"a.example"}, []any{"text/css"}, nil}

// requiredFields returns the values of other fields that a field requires according to the schema.
func requiredFields(object, name string) map[string]any {
	out := map[string]any{}
	properties := validate.Schema()["$defs"].(map[string]any)[object].(map[string]any)["properties"].(map[string]any)
	only, _ := properties[name].(map[string]any)["x-only"].(map[string]any)
	for ; only != nil; only, _ = only["and"].(map[string]any) {
		other := only["fields"].([]string)[0]
		if values, some := only["values"].([]string); some && only["of"] == nil && properties[other].(map[string]any)["readOnly"] == nil {
			out[other] = values[0]
		}
	}
	return out
}

// variants returns copies of a farm with one field of a table changed to each permitted value,
// together with the fields it requires. Each is a valid configuration. object is the name of
// the table in the schema.
func variants[T any](object string, table *field.Table[T], one farm.Farm, of func(*farm.Farm) *T) (out []*farm.Config) {
	for _, p := range table.Params() {
		values := tried
		for _, word := range p.PossibleValues {
			values = append(slices.Clip(values), word, []any{word})
		}
		with := requiredFields(object, p.Name)
		for _, v := range values {
			sent, err := table.Decode("", map[string]any{p.Name: v})
			if err != nil {
				continue
			}
			cfg := &farm.Config{Farms: []farm.Farm{one.Clone()}}
			f := &cfg.Farms[0]
			if sent.Apply(of(f)) != nil {
				with[p.Name] = v
				if sent, err = table.Decode("", with); err != nil || sent.Apply(of(f)) != nil {
					continue
				}
			}
			if whole, is := any(sent).(field.Values[farm.Farm]); is {
				httpfarm.FollowVersions(whole, f)
			}
			if !reflect.DeepEqual(*f, one) && validate.Config(cfg) == nil {
				out = append(out, cfg)
			}
		}
	}
	return out
}

// smallest returns a farm of a profile that everything lacks, with the fields required at its
// creation and a backend.
func smallest(p farm.Profile) (f farm.Farm) {
	required := map[string]any{"farmname": "small", "profile": string(p), "vip": "10.0.0.6", "vport": "80"}
	if !slices.Contains(profile.Named(p).Farm().Create.Names(), "vport") {
		delete(required, "vport")
	}
	made, err := profile.Named(p).Farm().Create.Decode("", required)
	if err == nil {
		err = made.Apply(&f)
	}
	if err != nil {
		panic(err)
	}
	if !f.HasServices() {
		f.Own().SetBackends([]farm.Backend{{Host: "10.0.0.7", Addr: netip.MustParseAddr("10.0.0.7")}})
	}
	return f
}

// everyValue is everything with each field changed. It is derived from the rules, so that new
// fields are tested automatically.
var everyValue = sync.OnceValue(func() []*farm.Config {
	out := []*farm.Config{everything()}
	farms := everything().Farms
	for _, p := range farm.Profiles() {
		if !slices.ContainsFunc(farms, func(f farm.Farm) bool { return f.Profile == p }) {
			farms = append(farms, smallest(p))
		}
	}
	for _, f := range farms {
		rules := profile.Of(&f)
		name := string(rules.Name())
		out = append(out, variants(name+"_farm", rules.Farm().Update, f, func(f *farm.Farm) *farm.Farm { return f })...)
		for i := range f.Services() {
			out = append(out, variants("service", &httpfarm.ServiceUpdate, f, func(f *farm.Farm) *farm.Service { return &f.Services()[i] })...)
		}
		for i, g := range f.Groups() {
			for k := range g.Backends() {
				out = append(out, variants(name+"_backend", rules.Backend().Update, f, func(f *farm.Farm) *farm.Backend { return &f.Groups()[i].Backends()[k] })...)
			}
		}
	}
	return out
})

// Each field must be set in some configuration, else the tests below would miss it. If the rule
// of a new field permits none of the tried values, add it to everything.
func TestEverythingIsEverything(t *testing.T) {
	missing := map[string]bool{}
	shape(missing, reflect.TypeFor[farm.Farm]())
	shape(missing, reflect.TypeFor[farm.System]())
	shape(missing, reflect.TypeFor[farm.Check]())
	for _, name := range []string{"ID", "Slot", "LastSlot", "Of", "Left", "LastZone", "LastRecord", "Serial", "Zone.Packed", "Zone.Held", "Zone.KeysHeld", "HeldTTL.TTL", "HeldTTL.Until"} { // numbers, the engine's form of records and state from earlier settings are in no document
		for of := range missing {
			if strings.HasSuffix("."+of, "."+name) {
				delete(missing, of)
			}
		}
	}
	delete(missing, "TLS.DisableTLS12") // excludes DisableTLS13: see TestUnsetFieldsAreOmitted
	for _, cfg := range everyValue() {
		strike(missing, reflect.ValueOf(cfg.System))
		strike(missing, reflect.ValueOf(cfg.Checks))
		for i := range cfg.Farms {
			strike(missing, reflect.ValueOf(cfg.Farms[i]))
		}
	}
	for name := range missing {
		t.Errorf("%s is set nowhere", name)
	}
}

// shape records the members of a type of core/farm, e.g. "HTTP.Mark"; strike removes those that
// are set in a value.
func shape(out map[string]bool, t reflect.Type) {
	for t.Kind() == reflect.Slice || t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if !ofFarm(t) {
		return
	}
	for i := range t.NumField() {
		if !t.Field(i).IsExported() {
			continue // derived from the others
		}
		out[t.Name()+"."+t.Field(i).Name] = true
		shape(out, t.Field(i).Type)
	}
}

func strike(out map[string]bool, v reflect.Value) {
	switch {
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			strike(out, v.Index(i))
		}
	case v.Kind() == reflect.Pointer && !v.IsNil():
		strike(out, v.Elem())
	case ofFarm(v.Type()):
		for i := range v.NumField() {
			if !v.Field(i).IsZero() {
				delete(out, v.Type().Name()+"."+v.Type().Field(i).Name)
				strike(out, v.Field(i))
			}
		}
	}
}

func ofFarm(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && t.PkgPath() == reflect.TypeFor[farm.Farm]().PkgPath()
}

func TestEveryValueRoundTrips(t *testing.T) {
	for _, cfg := range everyValue() {
		text, err := document.Encode(cfg)
		if err != nil {
			t.Fatal(err)
		}
		back, err := document.Load(text, validate.Rules{})
		was, _ := json.Marshal(cfg)
		if is, _ := json.Marshal(back); err != nil || !bytes.Equal(was, is) { // as records: an empty list equals none
			t.Errorf("%v, differs after a round trip:\n%s\n%s", err, was, is)
		}
	}
}

// Null resets each setting that permits it from any value, and so does its default.
func TestNullResetsNullableSettings(t *testing.T) {
	tried := map[string]bool{} // each value once: most farms differ in one field
	for _, cfg := range everyValue() {
		for _, f := range cfg.Farms {
			rules := profile.Of(&f)
			resets(t, tried, rules.Farm().Update, f, func(f *farm.Farm) *farm.Farm { return f })
			for k := range f.Services() {
				resets(t, tried, &httpfarm.ServiceUpdate, f, func(f *farm.Farm) *farm.Service { return &f.Services()[k] })
			}
			for i, g := range f.Groups() {
				for k := range g.Backends() {
					resets(t, tried, rules.Backend().Update, f, func(f *farm.Farm) *farm.Backend { return &f.Groups()[i].Backends()[k] })
				}
			}
		}
	}
}

func resets[T any](t *testing.T, tried map[string]bool, table *field.Table[T], one farm.Farm, of func(*farm.Farm) *T) {
	t.Helper()
	set := map[string]bool{}
	for name, v := range table.Given(of(&one)) {
		key := fmt.Sprintf("%T %s=%s", table, name, v)
		set[name], tried[key] = !tried[key], true
	}
	for _, p := range table.Params() {
		if !set[p.Name] || slices.Contains(p.Options, "required") {
			continue
		}
		var to any
		if slices.Contains(p.Options, "non_blank") && !slices.Contains(p.Options, "null") {
			if to = p.Plain.Default; to == nil {
				continue // it has no default
			}
		}
		f := one.Clone()
		sent, err := table.Decode("", map[string]any{p.Name: to})
		if err != nil {
			t.Errorf("%s: %v", p.Name, err)
			continue
		}
		if sent.Apply(of(&f)) != nil {
			continue // another field requires it
		}
		for name, v := range table.Given(of(&f)) {
			if name == p.Name && v.Any() != to {
				t.Errorf("%s reset by %v is %s", name, to, v)
			}
		}
	}
}
