// Package fieldtest checks that a comparison of two values covers every field of their
// type, so that a new field cannot be forgotten in it.
package fieldtest

import (
	"net/netip"
	"reflect"
	"slices"
	"testing"
)

// Comparison is a comparison under test.
type Comparison[T any] struct {
	// Equal is the comparison.
	Equal func(a, b *T) bool
	// Ignored lists the fields that it ignores on purpose. Fields of embedded and nested
	// structs are written with dots, e.g. Target.Roots.
	Ignored []string
	// Values holds values for fields that need a certain one, by name. Others get any value
	// but zero.
	Values map[string]any
}

// Check sets each field in turn, and expects that Equal reports a difference if, and only
// if, the field is not in Ignored.
func (c *Comparison[T]) Check(t *testing.T) {
	t.Helper()
	found := map[string]bool{}
	eachField(reflect.TypeFor[T](), "", nil, func(name string, index []int) {
		found[name] = true
		a, b := new(T), new(T)
		c.set(t, name, fieldOf(reflect.ValueOf(b).Elem(), index))
		ignored := slices.Contains(c.Ignored, name)
		if c.Equal(a, b) != ignored || c.Equal(b, a) != ignored {
			t.Errorf("%T.%s: got equal %t, want %t", *a, name, !ignored, ignored)
		}
		if same := *b; !c.Equal(b, &same) {
			t.Errorf("%T.%s: a value differs from its copy", *a, name)
		}
	})
	for _, name := range c.Ignored {
		if !found[name] {
			t.Errorf("ignored field %s does not exist", name)
		}
	}
}

// eachField calls fn for every field of a struct type, and for the fields of nested structs
// instead of those.
func eachField(of reflect.Type, prefix string, index []int, fn func(name string, index []int)) {
	for i := range of.NumField() {
		f := of.Field(i)
		name, at := prefix+f.Name, append(slices.Clone(index), i)
		switch {
		case f.Name == "_":
		case f.Type.Kind() == reflect.Struct && !isValue(f.Type):
			eachField(f.Type, name+".", at, fn)
		default:
			fn(name, at)
		}
	}
}

// isValue reports whether a struct is set as a whole.
func isValue(of reflect.Type) bool {
	return of == reflect.TypeFor[netip.Addr]() || of == reflect.TypeFor[netip.Prefix]()
}

// fieldOf returns a field that can be set, even if it is unexported.
func fieldOf(v reflect.Value, index []int) reflect.Value {
	f := v.FieldByIndex(index)
	return reflect.NewAt(f.Type(), f.Addr().UnsafePointer()).Elem()
}

func (c *Comparison[T]) set(t *testing.T, name string, field reflect.Value) {
	t.Helper()
	if value, is := c.Values[name]; is {
		field.Set(reflect.ValueOf(value))
		return
	}
	if !fill(field) {
		t.Fatalf("%s: no value of type %s is known: add it to Values", name, field.Type())
	}
}

// fill sets v to a value that differs from its zero value.
func fill(v reflect.Value) bool {
	switch v.Addr().Interface().(type) {
	case *netip.Addr:
		v.Set(reflect.ValueOf(netip.MustParseAddr("192.0.2.1")))
		return true
	case *netip.Prefix:
		v.Set(reflect.ValueOf(netip.MustParsePrefix("192.0.2.0/24")))
		return true
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString("a")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(1)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(1)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
	case reflect.Map:
		key, element := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, element)
	case reflect.Func:
		v.Set(reflect.MakeFunc(v.Type(), func([]reflect.Value) []reflect.Value { panic("called") }))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		return v.Type().Elem().Kind() == reflect.Struct || fill(v.Index(0))
	default:
		return false
	}
	return true
}
