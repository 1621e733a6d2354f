package farm_test

import (
	"math"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
)

func TestIDSetAddsAndTakesOnce(t *testing.T) {
	var s farm.IDSet
	all := []uint32{0, 1, 255, 256, 5000, farm.MaxBackendID, farm.MaxBackendID + 1, farm.MaxBackendID + 2, math.MaxUint32}
	for range 2 { // removed IDs may be added again
		for _, id := range all {
			if s.Take(id) {
				t.Errorf("%d is in the set before it was added", id)
			}
		}
		for _, id := range all {
			if !s.Add(id) || s.Add(id) {
				t.Errorf("%d is not new once", id)
			}
		}
		for _, id := range []uint32{2, 254, 257, farm.MaxBackendID - 1, farm.MaxBackendID + 3} {
			if s.Take(id) {
				t.Errorf("%d was never added", id)
			}
		}
		for _, id := range all {
			if !s.Take(id) || s.Take(id) {
				t.Errorf("Take(%d) must succeed once", id)
			}
		}
	}
}
