package list_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sluicelb/sluice/core/list"
)

type value struct {
	links list.Links[value]
	n     int
}

// values returns the list from first to last.
func values(l *list.List[value]) (out []int) {
	for v := l.First(); v != nil; v = v.links.Next() {
		out = append(out, v.n)
	}
	return out
}

func TestListBehavesLikeASlice(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var l list.List[value]
	var all []*value // expected content of the list
	for i := range 10_000 {
		switch v := (&value{n: i}); {
		case len(all) > 0 && r.IntN(2) == 0:
			at := r.IntN(len(all))
			gone := all[at]
			all = slices.Delete(all, at, at+1)
			l.Remove(&gone.links)
			if gone.links.Listed() || gone.links.Next() != nil {
				t.Fatal("a removed value reports that it is listed")
			}
		case r.IntN(2) == 0:
			all = append(all, v)
			l.PushBack(&v.links, v)
		default:
			all = slices.Insert(all, 0, v)
			l.PushFront(&v.links, v)
		}
		var want []int
		for _, v := range all {
			want = append(want, v.n)
			if !v.links.Listed() {
				t.Fatal("a listed value reports that it is not")
			}
		}
		if got := values(&l); !slices.Equal(got, want) || l.Len() != len(want) {
			t.Fatalf("step %d: %d values %v, want %v", i, l.Len(), got, want)
		}
	}
}

func TestValueCanBeInsertedAgain(t *testing.T) {
	var l list.List[value]
	one, two := &value{n: 1}, &value{n: 2}
	l.PushBack(&one.links, one)
	l.PushBack(&two.links, two)
	l.Remove(&one.links)
	l.PushBack(&one.links, one)
	if got := values(&l); !slices.Equal(got, []int{2, 1}) {
		t.Errorf("%v", got)
	}
}

func TestListAllocatesNothing(t *testing.T) {
	var l list.List[value]
	v := &value{}
	if n := testing.AllocsPerRun(100, func() {
		l.PushBack(&v.links, v)
		l.Remove(&v.links)
		l.PushFront(&v.links, v)
		l.Remove(&v.links)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
