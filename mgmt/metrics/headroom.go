package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/headroom"
)

// headroomDescs are the metrics of how much more backends can take.
type headroomDescs struct {
	limit, left, leftAtPeak, seen *prometheus.Desc
}

func newHeadroomDescs(desc func(name, help string, labels ...string) *prometheus.Desc) headroomDescs {
	return headroomDescs{
		limit:      desc("backend_headroom_limit_requests", "Requests at once at which the latency of the backend bends, learned from its traffic; where that was not seen, what it carried well.", ofBackend...),
		left:       desc("backend_headroom_ratio", "Share of that limit that is not used now.", ofBackend...),
		leftAtPeak: desc("backend_headroom_peak_ratio", "Share of that limit that was not used at the peak of a day.", ofBackend...),
		seen:       desc("backend_headroom_bend_seen", "Whether the limit is where latency was seen to bend, no lower bound.", ofBackend...),
	}
}

func (d *headroomDescs) describe(ch chan<- *prometheus.Desc) {
	for _, one := range []*prometheus.Desc{d.limit, d.left, d.leftAtPeak, d.seen} {
		ch <- one
	}
}

// collectHeadroom shows what is known of a backend; of one that is not known, nothing.
func (c *collector) collectHeadroom(ch chan<- prometheus.Metric, f *farm.Farm, b *farm.Backend, labels []string) {
	if c.o.Headroom == nil || !headroom.Measurable(f) {
		return
	}
	k := c.o.Headroom(f, b)
	left, ok := k.Left(k.Load)
	if !ok || k.State == headroom.Unknown {
		return
	}
	atPeak, _ := k.Left(k.Peak)
	ch <- gauge(c.headroom.limit, k.Limit(), labels...)
	ch <- gauge(c.headroom.left, left/100, labels...)
	ch <- gauge(c.headroom.leftAtPeak, atPeak/100, labels...)
	ch <- gauge(c.headroom.seen, truth(k.State == headroom.Bent), labels...)
}
