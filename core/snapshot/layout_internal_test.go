package snapshot

import (
	"net/netip"
	"reflect"
	"testing"
)

// A change of a type in snapshots must change Layout, otherwise releases would misread
// each other.
func TestLayoutFollowsTheShapeOfTheTypes(t *testing.T) {
	type part struct{ A uint8 }
	type other struct{ A uint16 }
	seen := map[uint32]reflect.Type{}
	for _, shape := range []reflect.Type{
		reflect.TypeFor[struct{ A uint8 }](), reflect.TypeFor[struct{ B uint8 }](), reflect.TypeFor[struct{ A uint16 }](), reflect.TypeFor[struct{ A, B uint8 }](),
		reflect.TypeFor[struct {
			A uint8 `json:"a"`
		}](),
		reflect.TypeFor[struct{ A []uint8 }](), reflect.TypeFor[struct{ A *uint8 }](), reflect.TypeFor[struct{ A []uint16 }](),
		reflect.TypeFor[struct{ A []part }](), reflect.TypeFor[struct{ A []other }](), reflect.TypeFor[struct{ A *part }](), reflect.TypeFor[struct{ A part }](),
		reflect.TypeFor[struct{ A netip.Addr }](), reflect.TypeFor[struct{ A netip.Prefix }](),
	} {
		sum := layoutOf(shape)
		if before := seen[sum]; before != nil {
			t.Errorf("%v and %v have one layout", before, shape)
		}
		seen[sum] = shape
	}
	if layoutOf(reflect.TypeFor[struct {
		A uint8
		_ int
		B string `cbor:"-"`
	}]()) != layoutOf(reflect.TypeFor[struct{ A uint8 }]()) {
		t.Error("the layout depends on fields outside of snapshots")
	}
}
