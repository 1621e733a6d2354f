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

// Load reports the current load of farms and backends: open connections from the counters,
// and the rate from the last recording. It is used for one response.
type Load struct {
	deps Deps
	// kernel returns netd's counters of kernel farms; zero if netd cannot be queried.
	kernel func() stats.Traffic
}

// NewLoad returns the load for the response to a call.
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

// BackendLoad implements rest.Load. It returns the sum over backends of a farm.
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

// recent is the maximum age of a recorded rate that counts as current.
const recent = 15 * time.Second

// rate returns the sum of the last known values of a farm's series, with one decimal.
func (l Load) rate(f *farm.Farm, series ...string) (sum float64) {
	if l.deps.Numbers == nil || l.deps.Now == nil {
		return 0
	}
	now := l.deps.Now()
	points, err := l.deps.Numbers.Read(recorder.Farm(f.ID), now.Add(-recent), now, now, series...)
	if err != nil {
		return 0 // not recorded, or unreadable
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
