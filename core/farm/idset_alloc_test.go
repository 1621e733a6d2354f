//go:build !race

package farm_test

import (
	"testing"

	"github.com/sluicelb/sluice/core/farm"
)

// Every change makes the engine check all farms and mgmt look up all IDs, so sets of these
// IDs must be cheap.
func TestIDsOfFarmsAndBackendsNeedNoMap(t *testing.T) {
	for ids, want := range map[uint32]float64{256: 1, 1024: 3, farm.MaxBackendID + 1: 9} { // capacity doubles
		if n := testing.AllocsPerRun(10, func() {
			var s farm.IDSet
			for id := range ids {
				s.Add(id)
				s.Take(id)
			}
		}); n > want {
			t.Errorf("%d IDs: %v allocations, want %v", ids, n, want)
		}
	}
}
