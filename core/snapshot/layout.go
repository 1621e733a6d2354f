package snapshot

import (
	"fmt"
	"hash/fnv"
	"io"
	"net/netip"
	"reflect"

	"github.com/sluicelb/sluice/core/farm"
)

// header counts how often the header of a snapshot changed its form.
const header = 3

// Layout is the version of the format this program writes and the only one it
// reads. It is a sum over the farm types a snapshot carries, so that two programs
// never misread each other and nobody has to remember that they would.
var Layout = layoutOf(reflect.TypeFor[farm.Config]())

func layoutOf(t reflect.Type) uint32 {
	sum := fnv.New32a()
	fmt.Fprintln(sum, header)
	describe(sum, t)
	return sum.Sum32()
}

// describe writes what the encoding of a type follows from: kinds, and of structs
// the names and types of what they have.
func describe(out io.Writer, t reflect.Type) {
	fmt.Fprint(out, t.Kind())
	switch kind := t.Kind(); {
	case t == reflect.TypeFor[netip.Addr](), t == reflect.TypeFor[netip.Prefix]():
		fmt.Fprint(out, t) // written by themselves
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
