package paged_test

import (
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/sluicelb/sluice/core/paged"
)

// Each version of a Map keeps its values when later edits change them.
func TestEditsDoNotChangeTheOriginal(t *testing.T) {
	type version struct {
		got  paged.Map[int]
		want map[uint32]*int
	}
	versions := []version{{want: map[uint32]*int{}}}
	random := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		from := versions[random.IntN(len(versions))]
		e, want := from.got.Edit(), maps.Clone(from.want)
		for range random.IntN(20) {
			id := uint32(random.IntN(2000))
			if random.IntN(3) == 0 {
				e.Set(id, nil)
				delete(want, id)
				continue
			}
			n := random.Int()
			e.Set(id, &n)
			want[id] = &n
		}
		versions = append(versions, version{e.Map(), want})
	}
	for i, v := range versions {
		if v.got.Len() != len(v.want) {
			t.Errorf("version %d has %d values, want %d", i, v.got.Len(), len(v.want))
		}
		for id := range uint32(2600) {
			if v.got.Of(id) != v.want[id] {
				t.Errorf("version %d: value %d is %p, want %p", i, id, v.got.Of(id), v.want[id])
			}
		}
	}
	if v := versions[len(versions)-1].got; v.Of(1<<32-1) != nil {
		t.Error("a number beyond the last page has a value")
	}
}
