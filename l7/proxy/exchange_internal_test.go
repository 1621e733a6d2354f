package proxy

import (
	"reflect"
	"strings"
	"testing"
	"unsafe"

	"github.com/sluicelb/sluice/l7/backend"
	"github.com/sluicelb/sluice/l7/client"
)

// The next request must not see anything of the one before. body.start resets the parser of a
// body.
func TestClearResetsEveryFieldOfAnExchange(t *testing.T) {
	ex := new(exchange)
	n := 0
	eachField(reflect.ValueOf(ex).Elem(), "", func(_ string, v reflect.Value) {
		n++
		dirty(v)
	})
	if n < 70 {
		t.Fatalf("only %d fields were found", n)
	}
	ex.clear()
	eachField(reflect.ValueOf(ex).Elem(), "", func(path string, v reflect.Value) {
		switch {
		case strings.Contains(path, ".chunked."):
		case v.Kind() == reflect.Slice && v.Len() == 0:
		case !v.IsZero():
			t.Errorf("%s is still set", path)
		}
	})
}

// eachField calls fn for all fields of structs in v that are no structs themselves.
func eachField(v reflect.Value, path string, fn func(path string, v reflect.Value)) {
	for i := range v.NumField() {
		f := v.Field(i)
		f = reflect.NewAt(f.Type(), unsafe.Pointer(f.UnsafeAddr())).Elem()
		name := path + "." + v.Type().Field(i).Name
		if f.Kind() == reflect.Struct {
			eachField(f, name, fn)
			continue
		}
		fn(name, f)
	}
}

// dirty sets v to another value than zero.
func dirty(v reflect.Value) {
	switch {
	case v.Kind() == reflect.Bool:
		v.SetBool(true)
	case v.CanInt():
		v.SetInt(1)
	case v.CanUint():
		v.SetUint(1)
	case v.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
	case v.Kind() == reflect.Array:
		dirty(v.Index(0))
	case v.Type() == reflect.TypeFor[client.Client]():
		v.Set(reflect.ValueOf(struct{ client.Client }{}))
	case v.Type() == reflect.TypeFor[backend.Transport]():
		v.Set(reflect.ValueOf(struct{ backend.Transport }{}))
	}
}
