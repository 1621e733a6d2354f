//go:build !race

// They share no memory, and with the race detector take half a minute.

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
)

// tried are values of every kind a rule may ask for.
var tried = []any{true, false, 7, 1700, "a", "a.pem", "/x", "^/x", "X-A", "10.0.0.9", "a.example", "https://a.example/", []any{"10.0.0.0/8"}, []any{"a.example"}, []any{"text/css"}, nil}

// beside is what the schema says a field needs: the values of other fields.
func beside(object, name string) map[string]any {
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

// variants are a farm with one field of a table changed at a time, to every value
// that may be sent for it there, and what it needs with it. Each is a valid
// configuration. object is what the schema calls those of the table.
func variants[T any](object string, table *validate.Table[T], one farm.Farm, of func(*farm.Farm) *T) (out []*farm.Config) {
	for _, p := range table.Params() {
		values := tried
		for _, word := range p.PossibleValues {
			values = append(slices.Clip(values), word, []any{word})
		}
		with := beside(object, p.Name)
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
			if whole, is := any(sent).(validate.Values[farm.Farm]); is {
				validate.FollowVersions(whole, f)
			}
			if !reflect.DeepEqual(*f, one) && validate.Config(cfg) == nil {
				out = append(out, cfg)
			}
		}
	}
	return out
}

// smallest is a farm of a profile that everything has none of: made of what its
// creation requires, with a backend.
func smallest(p farm.Profile) (f farm.Farm) {
	required := map[string]any{"farmname": "small", "profile": string(p), "vip": "10.0.0.6", "vport": "80"}
	if !slices.Contains(validate.ProfileNamed(p).Farm().Create.Names(), "vport") {
		delete(required, "vport")
	}
	made, err := validate.ProfileNamed(p).Farm().Create.Decode("", required)
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

// everyValue is everything with each field changed: it follows from the rules, so
// that a new one is tried without a word here.
var everyValue = sync.OnceValue(func() []*farm.Config {
	out := []*farm.Config{everything()}
	farms := everything().Farms
	for _, p := range farm.Profiles() {
		if !slices.ContainsFunc(farms, func(f farm.Farm) bool { return f.Profile == p }) {
			farms = append(farms, smallest(p))
		}
	}
	for _, f := range farms {
		rules := validate.ProfileOf(&f)
		name := string(rules.Name())
		out = append(out, variants(name+"_farm", rules.Farm().Update, f, func(f *farm.Farm) *farm.Farm { return f })...)
		for i := range f.Services() {
			out = append(out, variants("service", &validate.ServiceUpdate, f, func(f *farm.Farm) *farm.Service { return &f.Services()[i] })...)
		}
		for i, g := range f.Groups() {
			for k := range g.Backends() {
				out = append(out, variants(name+"_backend", rules.Backend().Update, f, func(f *farm.Farm) *farm.Backend { return &f.Groups()[i].Backends()[k] })...)
			}
		}
	}
	return out
})

// A field no configuration here has would not be tried below. Where the rule of a
// new one allows none of the values tried, everything needs it.
func TestEverythingIsEverything(t *testing.T) {
	missing := map[string]bool{}
	shape(missing, reflect.TypeFor[farm.Farm]())
	shape(missing, reflect.TypeFor[farm.System]())
	shape(missing, reflect.TypeFor[farm.Check]())
	for _, name := range []string{"ID", "Slot", "LastSlot", "Of", "Left", "LastZone", "LastRecord", "Serial", "Zone.Packed", "Zone.Held", "Zone.KeysHeld", "HeldTTL.TTL", "HeldTTL.Until"} { // numbers, the engine's form of records, and what is remembered of earlier settings, are in no document
		for of := range missing {
			if strings.HasSuffix("."+of, "."+name) {
				delete(missing, of)
			}
		}
	}
	delete(missing, "TLS.DisableTLS12") // not beside DisableTLS13: see TestWhatIsUnsetIsLeftOut
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

// shape notes the members of a type of core/farm, as "HTTP.Mark"; strike takes
// out those that are set in a value.
func shape(out map[string]bool, t reflect.Type) {
	for t.Kind() == reflect.Slice || t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if !ofFarm(t) {
		return
	}
	for i := range t.NumField() {
		if !t.Field(i).IsExported() {
			continue // it follows from the others
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

func TestEveryValueComesBackAsItWent(t *testing.T) {
	for _, cfg := range everyValue() {
		text, err := document.Encode(cfg)
		if err != nil {
			t.Fatal(err)
		}
		back, err := document.Load(text, validate.Rules{})
		was, _ := json.Marshal(cfg)
		if is, _ := json.Marshal(back); err != nil || !bytes.Equal(was, is) { // as records: an empty list is none
			t.Errorf("%v, came back changed:\n%s\n%s", err, was, is)
		}
	}
}

// Null resets every setting that says so, whatever it was set to, and so does its default.
func TestNullResetsWhatSaysSo(t *testing.T) {
	tried := map[string]bool{} // each value once: most farms differ in one field
	for _, cfg := range everyValue() {
		for _, f := range cfg.Farms {
			rules := validate.ProfileOf(&f)
			resets(t, tried, rules.Farm().Update, f, func(f *farm.Farm) *farm.Farm { return f })
			for k := range f.Services() {
				resets(t, tried, &validate.ServiceUpdate, f, func(f *farm.Farm) *farm.Service { return &f.Services()[k] })
			}
			for i, g := range f.Groups() {
				for k := range g.Backends() {
					resets(t, tried, rules.Backend().Update, f, func(f *farm.Farm) *farm.Backend { return &f.Groups()[i].Backends()[k] })
				}
			}
		}
	}
}

func resets[T any](t *testing.T, tried map[string]bool, table *validate.Table[T], one farm.Farm, of func(*farm.Farm) *T) {
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
				continue // it says nothing of the kind
			}
		}
		f := one.Clone()
		sent, err := table.Decode("", map[string]any{p.Name: to})
		if err != nil {
			t.Errorf("%s: %v", p.Name, err)
			continue
		}
		if sent.Apply(of(&f)) != nil {
			continue // another field needs it
		}
		for name, v := range table.Given(of(&f)) {
			if name == p.Name && v.Any() != to {
				t.Errorf("%s reset by %v is %s", name, to, v)
			}
		}
	}
}
