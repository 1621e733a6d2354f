//go:build !race

package balance_test

import (
	"testing"

	"github.com/sluicelb/sluice/core/balance"
)

func TestPickAllocatesNothing(t *testing.T) {
	for _, a := range algorithms {
		members := weights(1, 2, 3, 1)
		members[1].Limit = 1
		f := newFixture(t, members...)
		f.members[3].Out = true
		p := f.picker(a)
		h := uint64(0)
		if n := testing.AllocsPerRun(200, func() {
			h++
			if i, ok := p.Pick(h, balance.Tried{}.With(2)); ok && h%3 != 0 {
				p.Held(i).Done()
			}
			f.members[0].Load.Observe(int64(h))
		}); n != 0 {
			t.Errorf("%v: %v allocations", a, n)
		}
	}
}

func BenchmarkPick(b *testing.B) {
	for _, a := range algorithms {
		b.Run(a.String(), func(b *testing.B) {
			f := newFixture(b, weights(1, 1, 1, 1, 1, 1, 1, 1, 1, 1)...)
			p := f.picker(a)
			for i := range f.members {
				f.members[i].Load.Active.Store(int64(i))
			}
			b.ReportAllocs()
			h := uint64(0)
			for b.Loop() {
				h++
				i, _ := p.Pick(h, balance.Tried{})
				p.Held(i).Done()
			}
		})
	}
}

func BenchmarkNewConsistentHash(b *testing.B) {
	f := newFixture(b, weights(1, 2, 3)...)
	for b.Loop() {
		balance.New(balance.ConsistentHash, f.members, f.health, new(balance.State))
	}
}
