package validate

import (
	"slices"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
)

// eachTable calls fn for every kind of body.
func eachTable(t *testing.T, fn func(t *testing.T, fields any)) {
	for i := range Sections {
		t.Run("system "+Sections[i].Name, func(t *testing.T) { fn(t, &Sections[i].Table) })
	}
	for name, table := range map[string]any{
		"FarmCreate": &FarmCreate, "FarmUpdate": &FarmUpdate, "FarmDocument": &FarmDocument,
		"L4FarmCreate": &L4FarmCreate, "L4FarmUpdate": &L4FarmUpdate, "L4FarmDocument": &L4FarmDocument,
		"ServiceCreate": &ServiceCreate, "ServiceUpdate": &ServiceUpdate, "ServiceDocument": &ServiceDocument,
		"BackendCreate": &BackendCreate, "BackendUpdate": &BackendUpdate, "BackendDocument": &BackendDocument,
		"L4BackendCreate": &L4BackendCreate, "L4BackendUpdate": &L4BackendUpdate, "L4BackendDocument": &L4BackendDocument,
	} {
		t.Run(name, func(t *testing.T) { fn(t, table) })
	}
}

// each calls fn for every field of a table of any type.
func each(table any, fn func(r *rule, find func(string) *rule, readable bool)) {
	switch of := table.(type) {
	case *Table[farm.Farm]:
		eachOf(of, fn)
	case *Table[farm.Service]:
		eachOf(of, fn)
	case *Table[farm.Backend]:
		eachOf(of, fn)
	case *Table[farm.System]:
		eachOf(of, fn)
	}
}

func eachOf[T any](table *Table[T], fn func(*rule, func(string) *rule, bool)) {
	find := finder(table)
	for i := range table.fields {
		fn(&table.fields[i].rule, find, table.fields[i].get != nil)
	}
}

func finder[T any](table *Table[T]) func(string) *rule {
	return func(name string) *rule {
		all := slices.Concat(table.fields, table.facts)
		if at := slices.IndexFunc(all, func(f field[T]) bool { return f.name == name && f.get != nil }); at >= 0 {
			return &all[at].rule
		}
		return nil
	}
}

// allOf returns the parts of a compound condition.
func allOf(o *only) []*only {
	if o == nil {
		return nil
	}
	return slices.Concat([]*only{o}, allOf(o.or), allOf(o.and))
}

// A condition refers to earlier fields of the same body and to values they can have.
// Otherwise it could never be met.
func TestConditionsNameFieldsAndValuesThereAre(t *testing.T) {
	eachTable(t, func(t *testing.T, table any) {
		var before []string
		each(table, func(r *rule, find func(string) *rule, _ bool) {
			defer func() { before = append(before, r.name) }()
			for _, o := range allOf(r.only) {
				for _, name := range o.fields {
					look := find
					if o.in != "" {
						look = finder(&L4FarmDocument)
					}
					other := look(name)
					if other == nil {
						t.Errorf("%s needs %s, which is no field of this body", r.name, name)
						continue
					}
					if o.in == "" && o.early.rejects() && !slices.Contains(before, name) {
						t.Errorf("%s stands before %s, which it needs", r.name, name)
					}
					if o.in != "" && o.values == nil {
						t.Errorf("%s needs %s of its farm, but names no value", r.name, name)
					}
					for _, v := range o.values {
						if !slices.Contains(other.values, v) {
							t.Errorf("%s needs %s %s, which is none of %q", r.name, name, v, other.values)
						}
					}
				}
			}
		})
	})
}

// A value without the field it needs is rejected, except null and off, as clients send
// whole objects back.
func TestWhatComesTooEarlyIsToldByItsFate(t *testing.T) {
	none := farm.Service{}
	for i := range ServiceUpdate.fields {
		f := &ServiceUpdate.fields[i]
		if f.only == nil {
			continue
		}
		v := ServiceUpdate.Checked("", map[string]Value{f.name: {}})
		if err := v.Apply(&none); err != nil {
			t.Errorf("%s null: %v", f.name, err)
		}
		v = ServiceUpdate.Checked("", map[string]Value{f.name: sampleOf(&f.rule)})
		if err := v.Apply(&none); (err != nil) != (f.only.early == refused) {
			t.Errorf("%s %s alone: %v", f.name, v.Get(f.name), err)
		}
		none = farm.Service{}
	}
}

// sampleOf returns a value other than the default.
func sampleOf(r *rule) Value {
	switch r.kind {
	case kindBool:
		return boolValue(!r.initial().truth)
	case kindNumber:
		return numberValue(max(r.min, 1) + 1)
	case kindList:
		return listValue([]string{"0123456789abcdef"})
	}
	if r.values != nil {
		return textValue(r.values[len(r.values)-1])
	}
	return textValue("/x")
}

func TestConditionsAreSaidByTheKindOfTheOtherField(t *testing.T) {
	for name, want := range map[string]string{
		"queue_timeout": "Only while queue is not 0.", "retries": "Only with retry_on.", "cookiename": "Only while cookieinsert is true.",
		"ratelimit_header": "Only with ratelimit_key header.", "sessionid": "Only with persistence URL, COOKIE or HEADER.",
		"auth_realm": "Only with auth_users or auth_header.", "compression_min": "Only while compression names an encoding.",
	} {
		params := ServiceUpdate.Params()
		i := slices.IndexFunc(params, func(p Param) bool { return p.Name == name })
		if got := params[i].Description; len(got) <= len(want) || got[len(got)-len(want):] != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// A field is cleared with the field it needs, also indirectly. It is accepted if the same
// body sets the other field.
func TestWhatNeedsAFieldGoesWithIt(t *testing.T) {
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
		values, err := ServiceUpdate.Decode("", map[string]any{body: nil})
		if err != nil || values.Apply(s) != nil || !gone(s) {
			t.Errorf("%s null leaves %+v (%v)", body, s, err)
		}
	}
	s := full()
	values, err := ServiceUpdate.Decode("", map[string]any{"ratelimit": 0})
	if err != nil || values.Apply(s) != nil || s.RateLimit != nil || s.Queue != 5 || s.Retries != 2 {
		t.Errorf("ratelimit 0 leaves %+v (%v)", s, err)
	}
}

// chained is an object whose c needs b, which needs a.
type chained struct{ a, b, c int64 }

// Clearing a field clears dependent fields, also indirectly.
func TestWhatGoesTakesAlongWhatNeedsIt(t *testing.T) {
	number := func(name string, needs *only, at func(*chained) *int64) field[chained] {
		return field[chained]{rule: rule{name: name, kind: kindNumber, max: 9, null: true, only: needs},
			get: func(c *chained) Value { return numberValue(*at(c)) }, set: func(c *chained, v Value) { *at(c) = v.number }}
	}
	table := Table[chained]{fields: []field[chained]{
		number("a", nil, func(c *chained) *int64 { return &c.a }),
		number("b", with("a"), func(c *chained) *int64 { return &c.b }),
		number("c", with("b"), func(c *chained) *int64 { return &c.c }),
	}}
	c := chained{1, 2, 3}
	values, err := table.Decode("", map[string]any{"a": nil})
	if err != nil || values.Apply(&c) != nil || c != (chained{}) {
		t.Errorf("without a there is %+v (%v)", c, err)
	}
}

// Only fields with fate waiting get a warning, not those with fate kept or refused.
func TestOnlyWhatWaitsIsWarnedOf(t *testing.T) {
	s := farm.Service{RedirectType: farm.RedirectAppend, TTL: 60}
	s.QueueTimeout = 5
	var told []string
	ServiceDocument.idleWarnings(&s, nil, func(field, _ string) { told = append(told, field) })
	if !slices.Equal(told, []string{"ttl"}) {
		t.Errorf("warned of %q", told)
	}
}
