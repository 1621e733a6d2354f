package rest

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// filterField is a filter field of a list: any field that a response shows. Texts and times match
// by substring. Enumerations and numbers must match as a whole. Case is ignored. A list or
// an object matches if any value in it matches.
type filterField struct {
	name  string
	exact bool
	index []int // in the struct
}

func (f filterField) about() string {
	if f.exact {
		return "Only entries with this " + f.name
	}
	return "Only entries whose " + f.name + " contains this text"
}

// Shaped is an item with several variants.
type Shaped interface {
	// Shapes returns the types of all variants, Shown the current variant.
	Shapes() []reflect.Type
	Shown() any
}

// fieldsOf lists the fields of an item type, without duplicates.
func fieldsOf(t reflect.Type) (out []filterField) {
	add := func(all []filterField) {
		for _, f := range all {
			if !slices.ContainsFunc(out, func(known filterField) bool { return known.name == f.name }) {
				out = append(out, f)
			}
		}
	}
	switch zero := reflect.Zero(t).Interface().(type) {
	case Shaped:
		for _, shape := range zero.Shapes() {
			add(fieldsOf(shape))
		}
	case viewed:
		add(zero.filters())
	default:
		if t.Kind() == reflect.Struct {
			add(fieldsOfStruct(t))
		}
	}
	return out
}

var structs sync.Map // fields by type; filters use them for each item

func fieldsOfStruct(t reflect.Type) []filterField {
	if known, ok := structs.Load(t); ok {
		return known.([]filterField)
	}
	var out []filterField
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || !f.IsExported() || name == "" || name == "-" {
			continue
		}
		exact := wholeKind(f.Type)
		for _, known := range []string{f.Tag.Get("filter"), name} { // the name in the contract, and the one shown
			if known != "" {
				out = append(out, filterField{name: known, exact: exact || f.Tag.Get("enum") != "", index: f.Index})
			}
		}
	}
	structs.Store(t, out)
	return out
}

// wholeKind reports whether values of a type must match as a whole.
func wholeKind(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer:
		return wholeKind(t.Elem())
	case reflect.String:
		return t.PkgPath() != "" // a named string type is an enumeration
	case reflect.Slice, reflect.Array, reflect.Map, reflect.Struct, reflect.Interface:
		return false
	}
	return true
}

// matches reports whether an item matches all filters.
func matches(item reflect.Value, wanted []filter) bool {
	return !slices.ContainsFunc(wanted, func(f filter) bool { return !matchesOne(item, f) })
}

func matchesOne(item reflect.Value, f filter) bool {
	switch v := item.Interface().(type) {
	case Shaped:
		return matchesOne(reflect.ValueOf(v.Shown()), f)
	case viewed:
		return v.matches(f)
	}
	return matchesStruct(item, f)
}

func matchesStruct(item reflect.Value, f filter) bool {
	all := fieldsOfStruct(item.Type())
	at := slices.IndexFunc(all, func(known filterField) bool { return known.name == f.name })
	return at >= 0 && equal(item.FieldByIndex(all[at].index), f.want, all[at].exact)
}

// equal reports whether a value matches want.
func equal(v reflect.Value, want string, exact bool) bool {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return !v.IsNil() && equal(v.Elem(), want, exact)
	case reflect.Slice:
		for i := range v.Len() {
			if equal(v.Index(i), want, exact) {
				return true
			}
		}
		return false
	case reflect.String:
		if exact {
			return strings.EqualFold(v.String(), want)
		}
		return strings.Contains(strings.ToLower(v.String()), strings.ToLower(want))
	case reflect.Bool:
		return strings.EqualFold(strconv.FormatBool(v.Bool()), want)
	case reflect.Float32, reflect.Float64:
		number, err := strconv.ParseFloat(want, 64)
		return err == nil && v.Float() == number
	case reflect.Struct, reflect.Map:
		return objectHas(v.Interface(), want)
	}
	switch {
	case v.CanInt():
		return strconv.FormatInt(v.Int(), 10) == want
	case v.CanUint():
		return strconv.FormatUint(v.Uint(), 10) == want
	}
	return false
}

// objectHas reports whether an object matches in its JSON form.
func objectHas(object any, want string) bool {
	if at, is := object.(time.Time); is && sameTime(at, want) {
		return true
	}
	text, err := json.Marshal(object)
	var shown any
	return err == nil && json.Unmarshal(text, &shown) == nil && valueHas(shown, want)
}

// sameTime reports whether text denotes that time, in any time zone.
func sameTime(at time.Time, text string) bool {
	wanted, err := time.Parse(time.RFC3339Nano, text)
	return err == nil && wanted.Equal(at)
}

// valueHas reports whether any value nested in v matches.
func valueHas(v any, want string) bool {
	switch v := v.(type) {
	case nil:
		return false
	case []any:
		return slices.ContainsFunc(v, func(one any) bool { return valueHas(one, want) })
	case map[string]any:
		for _, one := range v {
			if valueHas(one, want) {
				return true
			}
		}
		return false
	}
	return equal(reflect.ValueOf(v), want, false)
}

// Matching returns the items that match the query's filters, for responses other than List.
// The operation must declare the item type with Filters.
func Matching[T any](c *Call, items []T) []T {
	wanted, out := c.wanted(), []T{}
	for _, one := range items {
		if matches(reflect.ValueOf(one), wanted) {
			out = append(out, one)
		}
	}
	return out
}

// Filtered reports whether the query has filters.
func (c *Call) Filtered() bool { return len(c.wanted()) > 0 }

// searchPage is the number of items that Search reads at a time.
const searchPage = 1000

// Search returns at most limit numbered items that match the filters of the query. read
// returns the next items below a number in descending order; 0 starts at the newest.
func Search[T any](c *Call, limit int, before uint64, read func(limit int, before uint64) ([]T, error), number func(T) uint64) ([]T, error) {
	if !c.Filtered() {
		return read(limit, before)
	}
	var out []T
	for {
		page, err := read(searchPage, before)
		if err != nil {
			return nil, err
		}
		found := Matching(c, page)
		if out = append(out, found[:min(len(found), limit-len(out))]...); len(out) == limit || len(page) < searchPage {
			return out, nil
		}
		if before = number(page[len(page)-1]); before == 0 {
			return out, nil
		}
	}
}
