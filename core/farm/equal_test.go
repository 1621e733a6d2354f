package farm_test

import (
	"net/netip"
	"reflect"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
)

// Equal compares every field of a backend, including future ones.
func TestBackendsAreComparedInEveryField(t *testing.T) {
	fields := reflect.TypeFor[farm.Backend]()
	for i := range fields.NumField() {
		a, b := farm.Backend{}, farm.Backend{}
		switch v := reflect.ValueOf(&b).Elem().Field(i); v.Interface().(type) {
		case netip.Addr:
			v.Set(reflect.ValueOf(netip.MustParseAddr("192.0.2.1")))
		case []string:
			v.Set(reflect.ValueOf([]string{}))
			if a.Equal(&b) {
				t.Errorf("%s: nil and an empty list are equal", fields.Field(i).Name)
			}
			v.Set(reflect.ValueOf([]string{"a"}))
		case []netip.Prefix:
			v.Set(reflect.ValueOf([]netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}))
		case bool:
			v.SetBool(true)
		default:
			switch v.Kind() {
			case reflect.String:
				v.SetString("a")
			case reflect.Uint8, reflect.Uint16, reflect.Uint32:
				v.SetUint(1)
			default:
				t.Fatalf("%s: add a case that makes a value of it", fields.Field(i).Name)
			}
		}
		if a.Equal(&b) || b.Equal(&a) {
			t.Errorf("%s is not compared", fields.Field(i).Name)
		}
		if same := b; !b.Equal(&same) {
			t.Errorf("%s: it differs from itself", fields.Field(i).Name)
		}
	}
}
