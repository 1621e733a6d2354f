package metrics

import (
	dto "github.com/prometheus/client_model/go"

	"github.com/sluicelb/sluice/core/stats"
)

// named is the name of a family and its help text.
type named struct{ name, help string }

// setValue makes a metric a counter or a gauge, and reuses its objects.
func setValue(m *dto.Metric, kind dto.MetricType, v float64) {
	m.Histogram = nil
	if kind == dto.MetricType_COUNTER {
		if m.Counter == nil {
			m.Counter = &dto.Counter{Value: new(float64)}
		}
		*m.Counter.Value, m.Gauge = v, nil
		return
	}
	if m.Gauge == nil {
		m.Gauge = &dto.Gauge{Value: new(float64)}
	}
	*m.Gauge.Value, m.Counter = v, nil
}

// bounds are the upper bounds of the buckets in every histogram, in seconds.
var bounds = func() (out [stats.Buckets]float64) {
	for i := range out {
		out[i] = stats.Bound(i).Seconds()
	}
	return out
}()

// setHistogram makes a metric a histogram of durations in seconds, and reuses its objects.
func setHistogram(m *dto.Metric, from *stats.Histogram) {
	m.Counter, m.Gauge = nil, nil
	if m.Histogram == nil {
		m.Histogram = &dto.Histogram{SampleCount: new(uint64), SampleSum: new(float64), Bucket: make([]*dto.Bucket, stats.Buckets)}
		buckets, counts := make([]dto.Bucket, stats.Buckets), make([]uint64, stats.Buckets)
		for i := range buckets {
			buckets[i] = dto.Bucket{UpperBound: &bounds[i], CumulativeCount: &counts[i]}
			m.Histogram.Bucket[i] = &buckets[i]
		}
	}
	count := uint64(0)
	for i, n := range from.Counts {
		if count += n; i < stats.Buckets {
			*m.Histogram.Bucket[i].CumulativeCount = count
		}
	}
	*m.Histogram.SampleCount, *m.Histogram.SampleSum = count, float64(from.Nanos)/1e9
}
