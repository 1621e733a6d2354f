//go:build !race

package stats_test

import (
	"testing"

	"github.com/sluicelb/sluice/core/stats/statstest"
)

func TestCountingAndSummingDoNotAllocate(t *testing.T) {
	s := statstest.New(t, 2)
	if n := testing.AllocsPerRun(100, func() {
		f, b := s.Shard(1).Farm(3), s.Shard(1).Backend(4)
		f.Requests++
		f.Responses[1]++
		b.ConnectNanos += 5
		s.Shard(1).FarmTimes(3).Total.Observe(1 << 20)
		s.Shard(1).Rejections(3)[2]++
		s.SumFarm(3)
		s.SumBackend(4)
		s.SumFarmTimes(3)
		s.SumRejections(3)
		s.AdoptFarm(3, 1)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
