package validate

import (
	"slices"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/httpfarm"
	"github.com/sluicelb/sluice/mgmt/validate/l4farm"
	"github.com/sluicelb/sluice/mgmt/validate/system"
)

// eachTable calls fn for every kind of body.
func eachTable(t *testing.T, fn func(t *testing.T, fields any)) {
	for i := range system.Sections {
		t.Run("system "+system.Sections[i].Name, func(t *testing.T) { fn(t, &system.Sections[i].Table) })
	}
	for name, table := range map[string]any{
		"FarmCreate": &httpfarm.Create, "FarmUpdate": &httpfarm.Update, "FarmDocument": &httpfarm.Document,
		"L4FarmCreate": &l4farm.Create, "L4FarmUpdate": &l4farm.Update, "L4FarmDocument": &l4farm.Document,
		"ServiceCreate": &httpfarm.ServiceCreate, "ServiceUpdate": &httpfarm.ServiceUpdate, "ServiceDocument": &httpfarm.ServiceDocument,
		"BackendCreate": &httpfarm.BackendCreate, "BackendUpdate": &httpfarm.BackendUpdate, "BackendDocument": &httpfarm.BackendDocument,
		"L4BackendCreate": &l4farm.BackendCreate, "L4BackendUpdate": &l4farm.BackendUpdate, "L4BackendDocument": &l4farm.BackendDocument,
	} {
		t.Run(name, func(t *testing.T) { fn(t, table) })
	}
}

// each calls fn for every field of a table of any type.
func each(table any, fn func(r *field.Rule, find func(string) *field.Rule, readable bool)) {
	switch of := table.(type) {
	case *field.Table[farm.Farm]:
		eachOf(of, fn)
	case *field.Table[farm.Service]:
		eachOf(of, fn)
	case *field.Table[farm.Backend]:
		eachOf(of, fn)
	case *field.Table[farm.System]:
		eachOf(of, fn)
	}
}

func eachOf[T any](table *field.Table[T], fn func(*field.Rule, func(string) *field.Rule, bool)) {
	find := finder(table)
	for i := range table.Fields {
		fn(&table.Fields[i].Rule, find, table.Fields[i].Get != nil)
	}
}

func finder[T any](table *field.Table[T]) func(string) *field.Rule {
	return func(name string) *field.Rule {
		all := slices.Concat(table.Fields, table.Facts)
		if at := slices.IndexFunc(all, func(f field.Field[T]) bool { return f.Name == name && f.Get != nil }); at >= 0 {
			return &all[at].Rule
		}
		return nil
	}
}

// allOf returns the parts of a compound condition.
func allOf(o *field.Condition) []*field.Condition {
	if o == nil {
		return nil
	}
	return slices.Concat([]*field.Condition{o}, allOf(o.Or), allOf(o.And))
}

// A condition refers to earlier fields of the same body and to values they can have.
// Otherwise it could never be met.
func TestConditionsNameFieldsAndValuesThereAre(t *testing.T) {
	eachTable(t, func(t *testing.T, table any) {
		var before []string
		each(table, func(r *field.Rule, find func(string) *field.Rule, _ bool) {
			defer func() { before = append(before, r.Name) }()
			for _, o := range allOf(r.Only) {
				for _, name := range o.On {
					look := find
					if o.In != "" {
						look = finder(&l4farm.Document)
					}
					other := look(name)
					if other == nil {
						t.Errorf("%s needs %s, which is no field of this body", r.Name, name)
						continue
					}
					if o.In == "" && o.Missing.Rejects() && !slices.Contains(before, name) {
						t.Errorf("%s stands before %s, which it needs", r.Name, name)
					}
					if o.In != "" && o.Values == nil {
						t.Errorf("%s needs %s of its farm, but names no value", r.Name, name)
					}
					for _, v := range o.Values {
						if !slices.Contains(other.Values, v) {
							t.Errorf("%s needs %s %s, which is none of %q", r.Name, name, v, other.Values)
						}
					}
				}
			}
		})
	})
}

// A value without the field it needs is rejected, except null and off, as clients send
// whole objects back.
func TestOutcomeDecidesOnValuesWithoutTheirCondition(t *testing.T) {
	none := farm.Service{}
	for i := range httpfarm.ServiceUpdate.Fields {
		f := &httpfarm.ServiceUpdate.Fields[i]
		if f.Only == nil {
			continue
		}
		v := httpfarm.ServiceUpdate.Checked("", map[string]field.Value{f.Name: {}})
		if err := v.Apply(&none); err != nil {
			t.Errorf("%s null: %v", f.Name, err)
		}
		v = httpfarm.ServiceUpdate.Checked("", map[string]field.Value{f.Name: sampleOf(&f.Rule)})
		if err := v.Apply(&none); (err != nil) != (f.Only.Missing == field.Reject) {
			t.Errorf("%s %s alone: %v", f.Name, v.Get(f.Name), err)
		}
		none = farm.Service{}
	}
}

// sampleOf returns a value other than the default.
func sampleOf(r *field.Rule) field.Value {
	switch r.Kind {
	case field.Bool:
		return field.BoolValue(!r.Initial().Bool())
	case field.Number:
		return field.NumberValue(max(r.Min, 1) + 1)
	case field.List:
		return field.ListValue([]string{"0123456789abcdef"})
	}
	if r.Values != nil {
		return field.TextValue(r.Values[len(r.Values)-1])
	}
	return field.TextValue("/x")
}

func TestConditionsAreSaidByTheKindOfTheOtherField(t *testing.T) {
	for name, want := range map[string]string{
		"queue_timeout": "Only while queue is not 0.", "retries": "Only with retry_on.", "cookiename": "Only while cookieinsert is true.",
		"ratelimit_header": "Only with ratelimit_key header.", "sessionid": "Only with persistence URL, COOKIE or HEADER.",
		"auth_realm": "Only with auth_users or auth_header.", "compression_min": "Only while compression names an encoding.",
	} {
		params := httpfarm.ServiceUpdate.Params()
		i := slices.IndexFunc(params, func(p field.Param) bool { return p.Name == name })
		if got := params[i].Description; len(got) <= len(want) || got[len(got)-len(want):] != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// A field is cleared with the field it needs, also indirectly. It is accepted if the same
// body sets the other field.
func TestDependentFieldsAreClearedWithTheirCondition(t *testing.T) {
	full := func() *farm.Service {
		return &farm.Service{Redirect: "http://x", RedirectType: farm.RedirectAppend, RedirectCode: 301,
			RateLimit: &farm.RateLimit{Requests: 5, Key: farm.RateKeyHeader, Header: "X-Id"},
			Retrying:  farm.Retrying{RetryOn: []farm.RetryCondition{"reset"}, Retries: 2, RetryUnsafe: true},
			Queueing:  farm.Queueing{Queue: 5, QueueTimeout: 9}}
	}
	for body, gone := range map[string]func(*farm.Service) bool{
		`redirect`:      func(s *farm.Service) bool { return s.RedirectType == "" && s.RedirectCode == 0 },
		`ratelimit_key`: func(s *farm.Service) bool { return s.RateLimit.Header == "" && s.RateLimit.Requests == 5 },
		`retry_on`:      func(s *farm.Service) bool { return s.Retries == 0 && !s.RetryUnsafe },
		`queue`:         func(s *farm.Service) bool { return s.QueueTimeout == 0 },
	} {
		s := full()
		values, err := httpfarm.ServiceUpdate.Decode("", map[string]any{body: nil})
		if err != nil || values.Apply(s) != nil || !gone(s) {
			t.Errorf("%s null leaves %+v (%v)", body, s, err)
		}
	}
	s := full()
	values, err := httpfarm.ServiceUpdate.Decode("", map[string]any{"ratelimit": 0})
	if err != nil || values.Apply(s) != nil || s.RateLimit != nil || s.Queue != 5 || s.Retries != 2 {
		t.Errorf("ratelimit 0 leaves %+v (%v)", s, err)
	}
}

// Only fields with fate waiting get a warning, not those with fate kept or refused.
func TestOnlyWarnAndDropGetsAWarning(t *testing.T) {
	s := farm.Service{RedirectType: farm.RedirectAppend, TTL: 60}
	s.QueueTimeout = 5
	var told []string
	httpfarm.ServiceDocument.IdleWarnings(&s, nil, func(field, _ string) { told = append(told, field) })
	if !slices.Equal(told, []string{"ttl"}) {
		t.Errorf("warned of %q", told)
	}
}
