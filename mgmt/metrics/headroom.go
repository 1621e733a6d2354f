package metrics

import (
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/headroom"
)

// headroomGauges show how much more load a backend can take. An unknown headroom is
// omitted.
var headroomGauges = []backendGauge{
	{named{"sluice_backend_headroom_limit_requests", "Requests at once at which the latency of the backend bends, learned from its traffic; where that was not seen, what it carried well."},
		ofRoom(func(k headroom.Known) float64 { return k.Limit() })},
	{named{"sluice_backend_headroom_ratio", "Share of that limit that is not used now."},
		ofRoom(func(k headroom.Known) float64 { left, _ := k.Left(k.Load); return left / 100 })},
	{named{"sluice_backend_headroom_peak_ratio", "Share of that limit that was not used at the peak of a day."},
		ofRoom(func(k headroom.Known) float64 { left, _ := k.Left(k.Peak); return left / 100 })},
	{named{"sluice_backend_headroom_bend_seen", "Whether the limit is where latency was seen to bend, no lower bound."},
		ofRoom(func(k headroom.Known) float64 { return truth(k.State == headroom.Bent) })},
}

func ofRoom(value func(headroom.Known) float64) func(*backendState) (float64, bool) {
	return func(b *backendState) (float64, bool) {
		if !b.roomKnown {
			return 0, false
		}
		return value(b.room), true
	}
}

// knownRoom returns the headroom of a backend, and whether it is known.
func (c *collector) knownRoom(f *farm.Farm, b *farm.Backend) (k headroom.Known, known bool) {
	if c.o.Headroom == nil || !headroom.Measurable(f) {
		return k, false
	}
	k = c.o.Headroom(f, b)
	_, ok := k.Left(k.Load)
	return k, ok && k.State != headroom.Unknown
}
