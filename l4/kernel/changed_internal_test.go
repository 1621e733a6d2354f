package kernel

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
)

// Backends that lose their connections follow from the changed farms alone.
func TestConnectionsLostFollowFromChangedFarms(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	farms, some := manyFarms(), false
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
		gone, fresh := farm.Apart(before, farms)
		got, want := losing(farms, gone, fresh), losing(farms, before, farms)
		if !slices.Equal(got, want) {
			t.Fatalf("change %d: backends %v lose their connections, want %v", i, got, want)
		}
		some = some || len(want) > 0
	}
	if !some {
		t.Error("no backend lost its connections")
	}
}

// losing returns the backends that lose their connections.
func losing(farms, gone, fresh []farm.Farm) (out []uint32) {
	k := &Reconciler{applied: true, farms: farms}
	lost := k.parting(gone, fresh)
	for id := range uint32(300) {
		if lost != nil && lost(id) {
			out = append(out, id)
		}
	}
	return out
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
