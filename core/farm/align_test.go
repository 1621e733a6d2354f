package farm_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/sluicelb/sluice/core/farm"
)

// alignedAnew returns the result of Align by its definition.
func alignedAnew(before, now []farm.Farm) []int32 {
	at := make([]int32, len(now))
	for i := range now {
		at[i] = int32(slices.IndexFunc(before, func(f farm.Farm) bool { return f.Same(&now[i]) }))
	}
	return at
}

func TestAlignFindsEachFarmThatStayed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.Permutation([]uint32{1, 2, 3, 4, 5, 6, 7, 8}).Draw(t, "ids")
		var before []farm.Farm
		for _, id := range ids[:rapid.IntRange(0, 8).Draw(t, "count")] {
			before = append(before, farm.Farm{ID: id, HTTP: &farm.HTTP{}})
		}
		now := slices.Clone(before)
		for range rapid.IntRange(0, 6).Draw(t, "changes") {
			switch kind := rapid.IntRange(0, 3).Draw(t, "kind"); {
			case kind == 0:
				now = slices.Insert(now, rapid.IntRange(0, len(now)).Draw(t, "at"), farm.Farm{ID: rapid.Uint32Range(20, 1<<20).Draw(t, "id"), HTTP: &farm.HTTP{}})
			case len(now) == 0:
			case kind == 1:
				k := rapid.IntRange(0, len(now)-1).Draw(t, "gone")
				now = slices.Delete(now, k, k+1)
			case kind == 2:
				now[rapid.IntRange(0, len(now)-1).Draw(t, "changed")].HTTP = &farm.HTTP{}
			default:
				a, b := rapid.IntRange(0, len(now)-1).Draw(t, "one"), rapid.IntRange(0, len(now)-1).Draw(t, "other")
				now[a], now[b] = now[b], now[a]
			}
		}
		at := farm.Align(before, now)
		if want := alignedAnew(before, now); !slices.Equal(at, want) {
			t.Errorf("%v, want %v", at, want)
		}
		gone := farm.Gone(before, at)
		for k := range before {
			stayed := slices.ContainsFunc(now, func(f farm.Farm) bool { return f.Same(&before[k]) })
			if is := !stayed; is != slices.Contains(gone, int32(k)) {
				t.Errorf("%v are gone, position %d is: %t", gone, k, is)
			}
		}
	})
}
