package recorder

import (
	"math"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/stats"
	"github.com/sluicelb/sluice/mgmt/timeseries"
)

// farmTotals holds the counters of a farm, which only grow.
type farmTotals struct {
	connections, requests, bytesIn, bytesOut, failures uint64
	times                                              stats.Histogram
}

// backendTotals holds the counters of a backend, which only grow.
type backendTotals struct{ requests, failures uint64 }

// round is the state of the farms at one moment, compared with the last round.
type round struct {
	*Recorder
	elapsed  float64
	kernel   stats.Traffic
	farms    map[uint32]farmTotals
	backends map[uint32]backendTotals
	latency  map[uint32]Latency
}

// Latency is the duration of a farm's exchanges in the last round, in seconds: half of them
// took at most P50, 99 % at most P99.
type Latency struct{ P50, P99 float64 }

// Latency returns the latency of a farm; false if no exchange ended in the last round. Any
// goroutine may call it.
func (r *Recorder) Latency(farm uint32) (Latency, bool) {
	last := r.latency.Load()
	if last == nil {
		return Latency{}, false
	}
	l, known := (*last)[farm]
	return l, known
}

// recordFarms records all farms. Farms in the kernel are omitted while netd does not
// answer.
func (r *Recorder) recordFarms(cfg *farm.Config, now time.Time, elapsed float64, first bool) {
	o := &round{Recorder: r, elapsed: elapsed, farms: make(map[uint32]farmTotals, len(cfg.Farms)), backends: make(map[uint32]backendTotals, len(r.backends)), latency: map[uint32]Latency{}}
	asked, known := false, false
	for i := range cfg.Farms {
		f := &cfg.Farms[i]
		if f.InKernel() {
			if !asked && r.options.Traffic != nil {
				o.kernel, known = r.options.Traffic()
			}
			if asked = true; !known {
				continue
			}
		}
		if values := o.values(f); !first {
			r.options.DB.Write(Farm(f.ID), now, values)
		}
	}
	r.farms, r.backends = o.farms, o.backends
	r.latency.Store(&o.latency)
}

// values returns the values of a farm and its backends.
func (o *round) values(f *farm.Farm) []timeseries.Value {
	sum, times := o.kernel.Farms[f.ID], stats.Times{}
	if !f.InKernel() {
		sum, times = o.options.Counters.SumFarm(f.ID), o.options.Counters.SumFarmTimes(f.ID)
	}
	now := farmTotals{
		connections: sum.Connections, requests: sum.Requests, bytesIn: sum.BytesIn, bytesOut: sum.BytesOut,
		failures: sum.Responses[4] + sum.Dropped, times: times.Total,
	}
	switch f.Profile.Carries() {
	case farm.TrafficConnections:
		now.failures += sum.NoBackend + sum.BackendErrors
	case farm.TrafficQueries:
		now.requests, now.failures = sum.Queries, sum.ServFails
	}
	before, had := o.Recorder.farms[f.ID]
	if !had {
		before = now
	}
	o.farms[f.ID] = now
	exchanges := now.times.Since(&before.times)
	half, most := quantile(exchanges, 0.5), quantile(exchanges, 0.99)
	if !math.IsNaN(half) && !math.IsNaN(most) {
		o.latency[f.ID] = Latency{half, most}
	}
	is := map[string]float64{
		connections.Name: rate(now.connections, before.connections, o.elapsed),
		established.Name: float64(sum.Established),
		pending.Name:     float64(sum.Pending),
		requests.Name:    rate(now.requests, before.requests, o.elapsed),
		bytesIn.Name:     rate(now.bytesIn, before.bytesIn, o.elapsed),
		bytesOut.Name:    rate(now.bytesOut, before.bytesOut, o.elapsed),
		failures.Name:    rate(now.failures, before.failures, o.elapsed),
		median.Name:      half,
		p99.Name:         most,
	}
	var values []timeseries.Value
	for _, s := range OfFarm(f) {
		values = append(values, timeseries.Value{Series: s.Name, Kind: s.Kind, Value: is[s.Name]})
	}
	for _, g := range f.Groups() {
		for _, b := range g.Backends() {
			values = append(values, o.backend(f, b.ID)...)
		}
	}
	return values
}

// backend returns the values of a backend, in the order of OfBackends.
func (o *round) backend(f *farm.Farm, id uint32) []timeseries.Value {
	sum := o.kernel.Backends[id]
	if !f.InKernel() {
		sum = o.options.Counters.SumBackend(id)
	}
	now := backendTotals{sum.Requests, sum.Responses[4] + sum.ConnectFailures + sum.Resets + sum.BadResponses + sum.Timeouts}
	if f.Profile.Carries() == farm.TrafficConnections {
		now.requests = sum.Connects
	}
	before, had := o.Recorder.backends[id]
	if !had {
		before = now
	}
	o.backends[id] = now
	out := make([]timeseries.Value, len(OfBackends))
	for i, v := range []float64{rate(now.requests, before.requests, o.elapsed), rate(now.failures, before.failures, o.elapsed), float64(sum.Established)} {
		s := OfBackends[i]
		out[i] = timeseries.Value{Series: OfBackend(id, s.Name), Kind: s.Kind, Value: v}
	}
	return out
}

// rate returns the growth of a total per second. If it has decreased, it belongs to another
// object, or was reset, and the rate is unknown.
func rate(now, before uint64, elapsed float64) float64 {
	if now < before {
		return math.NaN()
	}
	return float64(now-before) / elapsed
}

// quantile is stats.Histogram.Quantile in seconds, NaN if there is none.
func quantile(h stats.Histogram, share float64) float64 {
	if d, known := h.Quantile(share); known {
		return d.Seconds()
	}
	return math.NaN()
}
