package rest

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// field is one by which items of a list can be chosen: a text, a number or a truth
// value of an answer, or a list of texts. Texts match where they contain what is
// wanted, in letters of any case; words of an enumeration and numbers only whole.
type field struct {
	name  string
	exact bool
	index []int // in the struct
}

func (f field) about() string {
	if f.exact {
		return "Only those whose " + f.name + " is this"
	}
	return "Only those whose " + f.name + " has this in it"
}

// Shaped is an item that is shown in one of several shapes.
type Shaped interface {
	// Shapes are their types, Shown is the one this has.
	Shapes() []reflect.Type
	Shown() any
}

// fieldsOf lists the fields of a type of items, each once.
func fieldsOf(t reflect.Type) (out []field) {
	add := func(all []field) {
		for _, f := range all {
			if !slices.ContainsFunc(out, func(known field) bool { return known.name == f.name }) {
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

var structs sync.Map // of lists of fields, by type: what filters look at for each item

func fieldsOfStruct(t reflect.Type) []field {
	if known, ok := structs.Load(t); ok {
		return known.([]field)
	}
	var out []field
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		exact, plain := plainKind(f.Type)
		if f.Anonymous || !f.IsExported() || !plain || name == "" || name == "-" {
			continue
		}
		for _, known := range []string{f.Tag.Get("filter"), name} { // that of the contract, and the one shown
			if known != "" {
				out = append(out, field{name: known, exact: exact || f.Tag.Get("enum") != "", index: f.Index})
			}
		}
	}
	structs.Store(t, out)
	return out
}

// plainKind reports whether a type is one that filters look at, and whether its
// values match only whole.
func plainKind(t reflect.Type) (exact, plain bool) {
	switch t.Kind() {
	case reflect.Pointer:
		return plainKind(t.Elem())
	case reflect.Slice:
		return false, t.Elem().Kind() == reflect.String
	case reflect.String:
		return t.PkgPath() != "", true // a type of its own is an enumeration
	case reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return true, true
	}
	return false, false
}

// matches reports whether an item is what all filters want.
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
	at := slices.IndexFunc(all, func(known field) bool { return known.name == f.name })
	return at >= 0 && equal(item.FieldByIndex(all[at].index), f.want, all[at].exact)
}

// equal compares a value with what is wanted.
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
			return v.String() == want
		}
		return strings.Contains(strings.ToLower(v.String()), strings.ToLower(want))
	case reflect.Bool:
		return strconv.FormatBool(v.Bool()) == want
	}
	switch {
	case v.CanInt():
		return strconv.FormatInt(v.Int(), 10) == want
	case v.CanUint():
		return strconv.FormatUint(v.Uint(), 10) == want
	}
	return false
}
