package validate_test

import (
	"testing"

	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/httpfarm"
	"github.com/sluicelb/sluice/mgmt/validate/people"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
	"github.com/sluicelb/sluice/mgmt/validate/system"
)

// documented is the test's view of a table: its fields and its validation.
type documented struct {
	fields []field.Param
	refuse func(name string, v any) string
}

func bodyOf[T any](t *field.Table[T]) documented {
	return documented{fields: t.Params(), refuse: func(name string, v any) string {
		_, broken := t.DecodeAll("", map[string]any{name: v})
		for _, err := range broken {
			if err.Field == name {
				return err.Error()
			}
		}
		return ""
	}}
}

func bodies() map[string]documented {
	out := map[string]documented{
		"service": bodyOf(&httpfarm.ServiceCreate), "service (change)": bodyOf(&httpfarm.ServiceUpdate), "maintenance": bodyOf(&profile.Maintenance),
		"settings": bodyOf(&system.Settings), "user": bodyOf(&people.UserCreate), "user (change)": bodyOf(&people.UserUpdate),
		"own user": bodyOf(&people.OwnUserUpdate), "role": bodyOf(&people.RoleCreate), "group": bodyOf(&people.GroupUpdate),
		"add": bodyOf(&httpfarm.AddRequest.Rule), "remove": bodyOf(&httpfarm.RemoveRequest.Rule),
		"replace": bodyOf(&httpfarm.ReplaceRequest.Rule), "rewrite": bodyOf(&httpfarm.Rewrites.Rule),
	}
	for i := range system.Sections {
		out[system.Sections[i].Path()] = bodyOf(&system.Sections[i].Table)
	}
	for _, p := range profile.All() {
		name := string(p.Name())
		out[name+" farm"], out[name+" farm (change)"] = bodyOf(p.Farm().Create), bodyOf(p.Farm().Update)
		out[name+" backend"], out[name+" backend (change)"] = bodyOf(p.Backend().Create), bodyOf(p.Backend().Update)
	}
	return out
}

// The plain form of every field has a type, and its example, default and bounds are valid.
// A new field without default and enumeration needs an entry in examples.go.
func TestEveryFieldHasAPlainFormWithAnExampleItsRuleTakes(t *testing.T) {
	for name, b := range bodies() {
		for _, p := range b.fields {
			f := p.Plain
			if f.Type == "" || f.Example == nil {
				t.Errorf("%s: %s: type %q, example %v", name, p.Name, f.Type, f.Example)
			}
			values := map[string]any{"example": f.Example}
			if f.Default != nil {
				values["default"] = f.Default
			}
			if f.Min != nil {
				values["least"] = *f.Min
			}
			if f.Max != nil {
				values["most"] = *f.Max
			}
			for what, v := range values {
				if problem := b.refuse(p.Name, plainly(v)); problem != "" {
					t.Errorf("%s: %s: the %s %v is refused: %s", name, p.Name, what, v, problem)
				}
			}
			for _, v := range f.Enum {
				if f.Type == "array" {
					v = []any{v}
				}
				if problem := b.refuse(p.Name, v); problem != "" {
					t.Errorf("%s: %s: %v is refused: %s", name, p.Name, v, problem)
				}
			}
			if (f.Enum == nil || f.Type == "array") && f.Null != (b.refuse(p.Name, nil) == "") {
				t.Errorf("%s: %s: that null is allowed is %t: %s", name, p.Name, f.Null, b.refuse(p.Name, nil))
			}
			for _, outside := range outside(f) {
				if b.refuse(p.Name, outside) == "" {
					t.Errorf("%s: %s: %v is accepted", name, p.Name, outside)
				}
			}
		}
	}
}

// outside returns values just beyond the bounds of a field.
func outside(f field.Plain) (out []any) {
	if f.Min != nil {
		out = append(out, *f.Min-1)
	}
	if f.Max != nil {
		out = append(out, *f.Max+1)
	}
	if f.MinLength > 0 {
		out = append(out, any(map[bool]any{true: []any{""}, false: ""}[f.Type == "array"]))
	}
	if f.MaxLength > 0 && f.Type == "string" {
		out = append(out, string(make([]byte, f.MaxLength+1)))
	}
	return out
}

// plainly returns a value in body notation.
func plainly(v any) any {
	texts, is := v.([]string)
	if !is {
		return v
	}
	var out []any
	for _, one := range texts {
		out = append(out, one)
	}
	return out
}
