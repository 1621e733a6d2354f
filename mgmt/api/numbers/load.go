package numbers

import (
	"math"
	"sync"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/stats"
	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/recorder"
)

// Load tells what farms and backends carry now: open connections from the counters, the
// rate from what was recorded last. It is used for one answer.
type Load struct {
	deps Deps
	// kernel is what netd counted of the farms in the kernel; nothing when it cannot be
	// asked.
	kernel func() stats.Traffic
}

// NewLoad returns the load for the answer to a call.
func NewLoad(deps Deps, c *rest.Call) Load {
	return Load{deps, sync.OnceValue(func() (t stats.Traffic) {
		var err error
		if deps.Traffic != nil {
			if t, err = deps.Traffic(c.Context); err != nil {
				deps.Log.Debug("connections in the kernel are not known", "cause", err)
			}
		}
		return t
	})}
}

// FarmLoad implements rest.Load.
func (l Load) FarmLoad(f *farm.Farm) rest.Carried {
	out := rest.Carried{}
	if f.InKernel() {
		out.Connections = l.kernel().Farms[f.ID].Established
	} else {
		out.Connections = l.deps.Counters.SumFarm(f.ID).Established
	}
	series := "requests"
	if f.Profile.Carries() != farm.TrafficRequests && f.Profile.Carries() != farm.TrafficQueries {
		series = "connections"
	}
	out.Rate = l.rate(f, series)
	return out
}

// BackendLoad implements rest.Load: the sum over backends of a farm.
func (l Load) BackendLoad(f *farm.Farm, ids []uint32) (out rest.Carried) {
	var kernel stats.Traffic
	if f.InKernel() {
		kernel = l.kernel()
	}
	var series []string
	for _, id := range ids {
		if f.InKernel() {
			out.Connections += kernel.Backends[id].Established
		} else {
			out.Connections += l.deps.Counters.SumBackend(id).Established
		}
		series = append(series, recorder.OfBackend(id, "requests"))
	}
	out.Rate = l.rate(f, series...)
	return out
}

// recent is how far back a rate may have been recorded and still be that of now.
const recent = 15 * time.Second

// rate is the sum of the last known values of series of a farm, with one decimal.
func (l Load) rate(f *farm.Farm, series ...string) (sum float64) {
	if l.deps.Numbers == nil || l.deps.Now == nil {
		return 0
	}
	now := l.deps.Now()
	points, err := l.deps.Numbers.Read(recorder.Farm(f.ID), now.Add(-recent), now, now, series...)
	if err != nil {
		return 0 // nothing was recorded, or it cannot be read
	}
	for _, values := range points.Values {
		for i := len(values) - 1; i >= 0; i-- {
			if !math.IsNaN(values[i]) {
				sum += values[i]
				break
			}
		}
	}
	return math.Round(sum*10) / 10
}
