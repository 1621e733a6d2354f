package metrics

import (
	"reflect"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"

	dto "github.com/prometheus/client_model/go"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/stats"
	"github.com/sluicelb/sluice/mgmt/headroom"
)

// backendSeries is the state of all backends at one moment. It writes the families one
// after the other, and each reuses the objects of the previous one.
type backendSeries struct {
	c       *collector
	list    []backendState
	metrics []*dto.Metric
	family  dto.MetricFamily
}

// backendState is the state of a backend for its series.
type backendState struct {
	labels []*dto.LabelPair // sorted by name, shared by all series of the backend
	up     bool
	out    bool // in maintenance
	room   headroom.Known

	roomKnown bool
	figures
}

func newBackendSeries(c *collector) *backendSeries {
	s := &backendSeries{c: c}
	cfg, _ := c.o.Config()
	counts := c.sums(cfg)
	for i := range cfg.Farms {
		for _, g := range cfg.Farms[i].Groups() {
			s.addGroup(g, counts)
		}
	}
	return s
}

func (s *backendSeries) addGroup(g farm.Group, counts sums) {
	farmName, service := label("farm", g.Farm.Name), label("service", g.Name())
	list, first := g.Backends(), map[string]int{}
	for i := range list {
		b := &list[i]
		if b.Spreads() {
			continue // the backends at its addresses are shown
		}
		name := backendLabel(b)
		state := backendState{labels: []*dto.LabelPair{label("backend", name), farmName, service}, figures: counts.figures(g.Farm, b.ID)}
		state.up, state.out = s.c.usable(b)
		state.room, state.roomKnown = s.c.knownRoom(g.Farm, b)
		if at, twice := first[name]; twice {
			s.list[at].join(&state)
			continue
		}
		first[name] = len(s.list)
		s.list = append(s.list, state)
	}
}

// join adds another backend at the same address: series with the same labels are an error
// for scrapers.
func (b *backendState) join(o *backendState) {
	b.up, b.out = b.up || o.up, b.out && o.out
	b.figures.add(&o.figures)
}

func label(name, value string) *dto.LabelPair { return &dto.LabelPair{Name: &name, Value: &value} }

// write writes all families. A family without series is omitted.
func (s *backendSeries) write(out expfmt.Encoder) error {
	for _, write := range []func(expfmt.Encoder) error{s.writeGauges, s.writeCounters, s.writeHistograms} {
		if err := write(out); err != nil {
			return err
		}
	}
	return nil
}

// backendGauge is a family of gauges. value returns the value of a backend, if it has one.
type backendGauge struct {
	named
	value func(*backendState) (v float64, has bool)
}

var backendGauges = append([]backendGauge{
	{named{"sluice_backend_up", "Whether the backend is not known to be down."}, func(b *backendState) (float64, bool) { return truth(b.up), true }},
	{named{"sluice_backend_maintenance", "Whether an operator took the backend out."}, func(b *backendState) (float64, bool) { return truth(b.out), true }},
}, headroomGauges...)

func (s *backendSeries) writeGauges(out expfmt.Encoder) error {
	for i := range backendGauges {
		g := &backendGauges[i]
		s.begin(g.named, dto.MetricType_GAUGE)
		for k := range s.list {
			if v, has := g.value(&s.list[k]); has {
				setValue(s.next(s.list[k].labels), dto.MetricType_GAUGE, v)
			}
		}
		if err := s.end(out); err != nil {
			return err
		}
	}
	return nil
}

func (s *backendSeries) writeCounters(out expfmt.Encoder) error {
	for i := range s.c.servers {
		n := &s.c.servers[i]
		s.begin(n.named, n.dtoType())
		for k := range s.list {
			if b := &s.list[k]; b.known {
				s.addCounter(b, n)
			}
		}
		if err := s.end(out); err != nil {
			return err
		}
	}
	return nil
}

// codeLabels are the labels of the status classes.
var codeLabels = func() (out [len(codes)]*dto.LabelPair) {
	for i := range codes {
		out[i] = label("code", codes[i])
	}
	return out
}()

// addCounter adds the series of a counter: one, or one for each status class.
func (s *backendSeries) addCounter(b *backendState, n *counter) {
	field := reflect.ValueOf(&b.counts).Elem().Field(n.field)
	if !n.codes {
		setValue(s.next(b.labels), n.dtoType(), float64(field.Uint())*n.scale)
		return
	}
	for j := range codes {
		labels := slices.Insert(slices.Clip(slices.Clone(b.labels)), 1, codeLabels[j])
		setValue(s.next(labels), n.dtoType(), float64(field.Index(j).Uint())*n.scale)
	}
}

// backendHistogram is a family of histograms.
type backendHistogram struct {
	named
	of func(*stats.Times) *stats.Histogram
}

func (h *backendHistogram) desc() *prometheus.Desc {
	return prometheus.NewDesc(h.name, h.help, ofBackend, nil)
}

var backendHistograms = []backendHistogram{
	{named{"sluice_backend_first_byte_seconds", "Time from sending the request to the head of the response."}, func(t *stats.Times) *stats.Histogram { return &t.FirstByte }},
	{named{"sluice_backend_request_seconds", "Time from sending the request to the last byte of the response; tunnels have none."}, func(t *stats.Times) *stats.Histogram { return &t.Total }},
}

func (s *backendSeries) writeHistograms(out expfmt.Encoder) error {
	for _, h := range backendHistograms {
		s.begin(h.named, dto.MetricType_HISTOGRAM)
		for k := range s.list {
			if b := &s.list[k]; b.timed {
				setHistogram(s.next(b.labels), h.of(&b.times))
			}
		}
		if err := s.end(out); err != nil {
			return err
		}
	}
	return nil
}

// begin starts a family, next adds a series to it, end writes it.
func (s *backendSeries) begin(n named, kind dto.MetricType) {
	s.family = dto.MetricFamily{Name: &n.name, Help: &n.help, Type: &kind, Metric: s.metrics[:0]}
}

func (s *backendSeries) next(labels []*dto.LabelPair) *dto.Metric {
	f := &s.family
	if n := len(f.Metric); n < cap(f.Metric) {
		f.Metric = f.Metric[:n+1]
	} else {
		f.Metric = append(f.Metric, nil)
	}
	last := &f.Metric[len(f.Metric)-1]
	if *last == nil {
		*last = &dto.Metric{}
	}
	(*last).Label = labels
	return *last
}

func (s *backendSeries) end(out expfmt.Encoder) error {
	s.metrics = s.family.Metric
	if len(s.metrics) == 0 {
		return nil
	}
	return out.Encode(&s.family)
}
