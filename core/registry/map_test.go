package registry_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/sluicelb/sluice/core/registry"
)

func TestEachIDHasOneSharedValue(t *testing.T) {
	var m registry.Map[uint32, int]
	var all sync.WaitGroup
	values := make([]*int, 8)
	for i := range values {
		all.Go(func() { values[i] = m.Of(7) })
	}
	all.Wait()
	for _, v := range values {
		if v != values[0] || *v != 0 {
			t.Fatalf("%v: values differ, or are not zero", values)
		}
	}
	if m.Of(8) == values[0] {
		t.Error("two ids have one value")
	}
}

func TestValuesAreMadeAndReleasedOnce(t *testing.T) {
	var gone []string
	m := registry.Map[string, string]{
		Make: func(id string) *string { s := "value of " + id; return &s },
		Gone: func(v *string) { gone = append(gone, *v) },
	}
	if got := *m.Of("a"); got != "value of a" {
		t.Errorf("a is %q, want %q", got, "value of a")
	}
	*m.Of("a") = "used"
	m.Of("b")
	m.RetainIn(map[string]bool{"b": true})
	if !slices.Equal(gone, []string{"used"}) {
		t.Errorf("gone: %q", gone)
	}
	if got := *m.Of("a"); got != "value of a" {
		t.Errorf("once more a is %q, want %q", got, "value of a")
	}
}

func TestRetainKeepsMatchingValues(t *testing.T) {
	var m registry.Map[int, int]
	for i := range 10 {
		*m.Of(i) = i
	}
	m.Retain(func(id int, v *int) bool { return id%2 == 0 || *v == 7 })
	var left []int
	m.Each(func(v *int) { left = append(left, *v) })
	slices.Sort(left)
	if !slices.Equal(left, []int{0, 2, 4, 6, 7, 8}) {
		t.Errorf("left: %v", left)
	}
}

func TestForgetDropsUnwantedValues(t *testing.T) {
	var m registry.Map[uint32, int]
	for id := range uint32(6) {
		m.Of(id)
	}
	m.Forget(map[uint32]bool{1: true, 2: true, 3: true, 9: true}, map[uint32]bool{2: true, 5: true})
	for id := range uint32(6) {
		if kept := m.Has(id) != nil; kept != (id != 1 && id != 3) {
			t.Errorf("value %d is kept: %t", id, kept)
		}
	}
}
