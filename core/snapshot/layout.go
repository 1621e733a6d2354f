package snapshot

import (
	"fmt"
	"hash/fnv"
	"io"
	"net/netip"
	"reflect"

	"github.com/sluicelb/sluice/core/farm"
)

// header is the version of the header format.
const header = 3

// Layout is the format version that this program writes and the only one it reads. It is a
// hash of the farm types in a snapshot, so a change of a type always changes it.
var Layout = layoutOf(reflect.TypeFor[farm.Config]())

func layoutOf(t reflect.Type) uint32 {
	sum := fnv.New32a()
	fmt.Fprintln(sum, header)
	describe(sum, t)
	return sum.Sum32()
}

// describe writes the properties of a type that determine its encoding: kinds, and the
// names and types of struct fields.
func describe(out io.Writer, t reflect.Type) {
	fmt.Fprint(out, t.Kind())
	switch kind := t.Kind(); {
	case t == reflect.TypeFor[netip.Addr](), t == reflect.TypeFor[netip.Prefix]():
		fmt.Fprint(out, t) // have an encoding of their own
	case kind == reflect.Slice, kind == reflect.Pointer:
		describe(out, t.Elem())
	case kind == reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); f.IsExported() && f.Tag.Get("cbor") != "-" {
				fmt.Fprintf(out, "{%s %s ", f.Name, f.Tag.Get("json"))
				describe(out, f.Type)
				fmt.Fprintln(out, "}")
			}
		}
	}
}
