package snapshot_test

import (
	"flag"
	"fmt"
	"net/netip"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/snapshot"
)

var update = flag.Bool("update", false, "write the golden files of this package anew")

// The layout version stands for the exact shape of the farm types: who changes
// them must raise it, or two releases would misread each other.
func TestLayoutVersionStandsForTheFarmTypes(t *testing.T) {
	var shape strings.Builder
	fmt.Fprintf(&shape, "layout %d\n", snapshot.Layout)
	describe(&shape, reflect.TypeFor[farm.Config](), 0)
	const golden = "testdata/layout.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(shape.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if shape.String() != string(want) {
		t.Errorf("the farm types are not those of %s: raise snapshot.Layout if that layout was ever released, then run\n\tgo test ./core/snapshot -update\ngot:\n%s", golden, &shape)
	}
}

// describe writes a type as its exported fields with their kinds and tags.
func describe(out *strings.Builder, t reflect.Type, depth int) {
	for t.Kind() == reflect.Slice || t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || t == reflect.TypeFor[netip.Addr]() {
		return
	}
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() {
			continue
		}
		kind := f.Type.Kind().String()
		if f.Type == reflect.TypeFor[netip.Addr]() {
			kind = "address"
		}
		fmt.Fprintf(out, "%s%s %s\n", strings.Repeat("\t", depth), f.Tag.Get("json"), kind)
		describe(out, f.Type, depth+1)
	}
}
