package metrics

import (
	"net"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	dto "github.com/prometheus/client_model/go"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/stats"
)

// counter is a field of a struct of core/stats.
type counter struct {
	named
	field int
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	scale float64
	codes bool // an array by status class
}

// counters lists the exported fields of a struct by their tags.
func counters(of any, prefix string, labels []string) (out []counter) {
	t := reflect.TypeOf(of)
	for i := range t.NumField() {
		f := t.Field(i)
		name := f.Tag.Get("metric")
		if name == "" {
			continue
		}
		c := counter{field: i, kind: prometheus.GaugeValue, scale: 1, codes: f.Type.Kind() == reflect.Array}
		if strings.HasSuffix(name, "_total") {
			c.kind = prometheus.CounterValue
		}
		if strings.HasSuffix(name, "_seconds_total") {
			c.scale = 1e-9
		}
		names := labels
		if c.codes {
			names = append(labels[:len(labels):len(labels)], "code")
		}
		c.named = named{prefix + name, f.Tag.Get("help")}
		c.desc = prometheus.NewDesc(c.name, c.help, names, nil)
		out = append(out, c)
	}
	return out
}

func (c *counter) dtoType() dto.MetricType {
	if c.kind == prometheus.CounterValue {
		return dto.MetricType_COUNTER
	}
	return dto.MetricType_GAUGE
}

// codes are the status classes, in the order of their counters.
var codes = [...]string{"1xx", "2xx", "3xx", "4xx", "5xx"}

// collect shows one struct.
func collect(ch chan<- prometheus.Metric, list []counter, of any, labels ...string) {
	v := reflect.ValueOf(of)
	for i := range list {
		c := &list[i]
		field := v.Field(c.field)
		if !c.codes {
			ch <- prometheus.MustNewConstMetric(c.desc, c.kind, float64(field.Uint())*c.scale, labels...)
			continue
		}
		for j, code := range codes {
			ch <- prometheus.MustNewConstMetric(c.desc, c.kind, float64(field.Index(j).Uint())*c.scale, append(labels[:len(labels):len(labels)], code)...)
		}
	}
}

// histogram shows durations in seconds.
func histogram(d *prometheus.Desc, h *stats.Histogram, labels ...string) prometheus.Metric {
	buckets := make(map[float64]uint64, stats.Buckets)
	count := uint64(0)
	for i, n := range h.Counts {
		if count += n; i < stats.Buckets {
			buckets[stats.Bound(i).Seconds()] = count
		}
	}
	return prometheus.MustNewConstHistogram(d, count, float64(h.Nanos)/1e9, buckets, labels...)
}

func (c *collector) collectLoops(ch chan<- prometheus.Metric) {
	for i, l := range c.o.Counters.SumLoops() {
		collect(ch, c.loops, l, strconv.Itoa(i))
	}
}

// sums holds the counters of farms: from the loops or, for farms forwarded by the kernel,
// from netd. The latter are not shown while they are unknown.
type sums struct {
	Counters
	kernel stats.Traffic
	known  bool
}

func (c *collector) sums(cfg *farm.Config) sums {
	s := sums{Counters: c.o.Counters}
	inKernel := func(f farm.Farm) bool { return f.InKernel() }
	if c.o.Traffic != nil && slices.ContainsFunc(cfg.Farms, inKernel) {
		s.kernel, s.known = c.o.Traffic()
	}
	return s
}

func (c *collector) collectFarm(ch chan<- prometheus.Metric, f *farm.Farm, classes []string, n sums) {
	if f.InKernel() {
		if n.known {
			collect(ch, c.farms, n.kernel.Farms[f.ID], f.Name)
		}
	} else {
		collect(ch, c.farms, n.SumFarm(f.ID), f.Name)
		c.collectLoopsOf(ch, f, classes)
	}
	for _, g := range f.Groups() {
		c.collectGroup(ch, g, n)
	}
}

// collectLoopsOf shows the counters of a farm that only loops have.
func (c *collector) collectLoopsOf(ch chan<- prometheus.Metric, f *farm.Farm, classes []string) {
	if f.Carries() == farm.TrafficRequests {
		times := c.o.Counters.SumFarmTimes(f.ID)
		ch <- histogram(c.farmFirst, &times.FirstByte, f.Name)
		ch <- histogram(c.farmTotal, &times.Total, f.Name)
	}
	refused := c.o.Counters.SumRejections(f.ID)
	for i, class := range classes {
		ch <- total(c.rejections, refused[i], f.Name, class)
	}
}

// collectGroup shows the sums of a group. The label for the service is empty in l4xnat
// farms.
func (c *collector) collectGroup(ch chan<- prometheus.Metric, g farm.Group, n sums) {
	usable, sum := 0, &figures{}
	list := g.Backends()
	for i := range list {
		b := &list[i]
		if b.Spreads() {
			continue // the backends at its addresses are counted
		}
		if up, out := c.usable(b); up && !out {
			usable++
		}
		if c.detail == byService {
			one := n.figures(g.Farm, b.ID)
			sum.add(&one)
		}
	}
	if c.detail == byService {
		c.collectFigures(ch, sum, g.Farm.Name, g.Name(), "")
	}
	ch <- gauge(c.usableBackends, float64(usable), g.Farm.Name, g.Name())
}

// usable reports whether a backend is not known to be down, and whether it is in
// maintenance.
func (c *collector) usable(b *farm.Backend) (up, out bool) {
	return !b.Unresolved() && c.o.Health(b.ID) != farm.StatusDown, b.Maintenance != farm.MaintenanceOff
}

// figures holds the counters of one or more backends.
type figures struct {
	counts       stats.Backend
	times        stats.Times
	known, timed bool
}

// figures returns the counters of a backend.
func (s sums) figures(f *farm.Farm, backend uint32) (out figures) {
	switch {
	case !f.InKernel():
		out.counts, out.known = s.SumBackend(backend), true
	case s.known:
		out.counts, out.known = s.kernel.Backends[backend], true
	}
	if f.Carries() == farm.TrafficRequests {
		out.times, out.timed = s.SumBackendTimes(backend), true
	}
	return out
}

// add adds the counters of another backend.
func (s *figures) add(o *figures) {
	s.known, s.timed = s.known || o.known, s.timed || o.timed
	addFields(reflect.ValueOf(&s.counts).Elem(), reflect.ValueOf(&o.counts).Elem())
	addFields(reflect.ValueOf(&s.times).Elem(), reflect.ValueOf(&o.times).Elem())
}

// addFields adds all numbers in nested structs and arrays of a value to another.
func addFields(to, from reflect.Value) {
	switch to.Kind() {
	case reflect.Struct:
		for i := range to.NumField() {
			addFields(to.Field(i), from.Field(i))
		}
	case reflect.Array:
		for i := range to.Len() {
			addFields(to.Index(i), from.Index(i))
		}
	case reflect.Uint, reflect.Uint32, reflect.Uint64:
		if to.CanSet() {
			to.SetUint(to.Uint() + from.Uint())
		}
	}
}

func (c *collector) collectFigures(ch chan<- prometheus.Metric, s *figures, labels ...string) {
	if s.known {
		collect(ch, c.servers, s.counts, labels...)
	}
	if s.timed {
		ch <- histogram(c.firstByte, &s.times.FirstByte, labels...)
		ch <- histogram(c.total, &s.times.Total, labels...)
	}
}

// backendLabel returns the address of a backend; without a port if it keeps the client's.
func backendLabel(b *farm.Backend) string {
	if b.Port == 0 {
		return b.ShownAddress()
	}
	return net.JoinHostPort(b.ShownAddress(), strconv.Itoa(int(b.Port)))
}
