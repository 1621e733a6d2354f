package kernel

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
)

// Backends that lose their connections follow from the changed farms alone.
func TestChangedFarmsTellWhoLosesConnections(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	farms := manyFarms()
	for i := range 500 {
		before := farms
		farms = slices.Clone(farms)
		for range 1 + r.IntN(3) {
			switch at := r.IntN(len(farms)); r.IntN(5) {
			case 0:
				farms[at].Stopped = !farms[at].Stopped
			case 1:
				r.Shuffle(len(farms), func(i, j int) { farms[i], farms[j] = farms[j], farms[i] })
			case 2:
				farms = slices.Delete(farms, at, at+1)
				if len(farms) < 5 {
					farms = manyFarms()
				}
			default:
				f := farms[at].Clone()
				b := f.L4.Backends
				b[r.IntN(len(b))].Maintenance = []farm.Maintenance{"", farm.MaintenanceDrain, farm.MaintenanceCut}[r.IntN(3)]
				if len(b) > 1 && r.IntN(3) == 0 {
					f.L4.Backends = b[1:]
				}
				farms[at] = f
			}
		}
		got, want := map[uint32]bool{}, map[uint32]bool{}
		gone, fresh := changed(before, farms)
		lose(entitled(gone), entitled(fresh), got)
		lose(entitled(before), entitled(farms), want)
		if !maps.Equal(got, want) {
			t.Fatalf("change %d: %v lose their connections, want %v", i, got, want)
		}
	}
}

func lose(before, now, lost map[uint32]bool) {
	for id := range before {
		if !now[id] {
			lost[id] = true
		}
	}
}

func manyFarms() (out []farm.Farm) {
	for i := range uint32(20) {
		l := farm.DefaultL4()
		for j := range uint32(4) {
			l.Backends = append(l.Backends, farm.Backend{ID: 10*i + j + 1})
		}
		out = append(out, farm.Farm{ID: i + 1, L4: l})
	}
	return out
}
