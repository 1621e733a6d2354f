package metrics

import (
	"runtime"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/stats"
	"github.com/sluicelb/sluice/mgmt/accesslog"
	"github.com/sluicelb/sluice/mgmt/headroom"
	"github.com/sluicelb/sluice/mgmt/syslog"
)

// Counters sums the counters of all loops; *stats.Segment implements it.
type Counters interface {
	SumFarm(id uint32) stats.Farm
	SumBackend(id uint32) stats.Backend
	SumLoops() []stats.Loop
	SumFarmTimes(id uint32) stats.Times
	SumBackendTimes(id uint32) stats.Times
	SumRejections(id uint32) stats.Rejections
	Classes() []string
}

// Options are the sources of the figures. Counters, Config and Health must be set.
type Options struct {
	Counters Counters
	// Config returns the active configuration and its revision.
	Config func() (*farm.Config, uint64)
	// Health returns up, down or undefined for the stable ID of a backend.
	Health func(backend uint32) farm.Status
	// Traffic returns the counters of farms forwarded by the kernel; ok is false while they
	// are unknown. It must not take long. nil shows none.
	Traffic func() (t stats.Traffic, ok bool)
	// Logs returns the counts of the access logs; nil shows none.
	Logs func() accesslog.Stats
	// Syslog returns the counts of messages for each syslog server; nil shows none.
	Syslog func() []syslog.Stats
	// Engine returns whether the engine is connected, and its process; nil shows nothing
	// about it.
	Engine func() (connected bool, pid int)
	// Probes returns the counts of health checks; nil shows none.
	Probes func() []Probed
	// Headroom returns the known headroom of a backend; nil shows none.
	Headroom func(*farm.Farm, *farm.Backend) headroom.Known
	// Certificates lists certificates, without CSRs; nil shows none.
	Certificates func(*farm.Config) []Certificate
	// Version is the version of the program.
	Version string
}

// detail selects the series of backends in a scrape. With ten thousand backends these are
// nearly all of it.
type detail string

const (
	eachBackend detail = "all"     // for each backend
	byService   detail = "service" // sums for each service, with an empty label for the backend
	noBackend   detail = "none"
)

var details = []detail{eachBackend, byService, noBackend}

func words(list []detail) string {
	out := make([]string, len(list))
	for i := range list {
		out[i] = string(list[i])
	}
	return strings.Join(out, ", ")
}

func registry(o Options, d detail) *prometheus.Registry {
	r := prometheus.NewRegistry()
	c := newCollector(o)
	c.detail = d
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), c)
	if o.Engine != nil {
		r.MustRegister(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{
			Namespace: "sluice_engine",
			PidFn:     func() (int, error) { _, pid := o.Engine(); return pid, nil },
		}))
	}
	return r
}

// collector makes the metrics of one scrape.
type collector struct {
	o                     Options
	detail                detail
	loops, farms, servers []counter
	rejections            *prometheus.Desc
	farmFirst, farmTotal  *prometheus.Desc
	firstByte, total      *prometheus.Desc
	usableBackends        *prometheus.Desc
	build, revision       *prometheus.Desc
	engine                *prometheus.Desc
	probes, probeTime     *prometheus.Desc
	records, lines        *prometheus.Desc
	dropped               *prometheus.Desc
	syslog                syslogDescs
	certificates          certificateDescs
}

var (
	ofLoop    = []string{"loop"}
	ofFarm    = []string{"farm"}
	ofService = []string{"farm", "service"}
	ofBackend = []string{"farm", "service", "backend"}
)

func newCollector(o Options) *collector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("sluice_"+name, help, labels, nil)
	}
	return &collector{
		o:              o,
		loops:          counters(stats.Loop{}, "sluice_loop_", ofLoop),
		farms:          counters(stats.Farm{}, "sluice_farm_", ofFarm),
		servers:        counters(stats.Backend{}, "sluice_backend_", ofBackend),
		rejections:     desc("farm_rejections_total", "What was refused, or ended before it was whole, by class.", "farm", "class"),
		farmFirst:      desc("farm_first_byte_seconds", "Time from the complete request head to the head of the answer.", ofFarm...),
		farmTotal:      desc("farm_request_seconds", "Time from the complete request head to the last byte of the answer; tunnels have none.", ofFarm...),
		firstByte:      backendHistograms[0].desc(),
		total:          backendHistograms[1].desc(),
		usableBackends: desc("service_usable_backends", "Backends that are neither down nor in maintenance.", ofService...),
		build:          desc("build_info", "The program; the value is 1.", "version", "goversion"),
		revision:       desc("configuration_revision", "Revision of the configuration in force."),
		engine:         desc("engine_up", "Whether mgmt is connected to the engine."),
		probes:         desc("check_probes_total", "Probes of health checks, by what came of them.", "check", "result"),
		probeTime:      desc("check_probe_seconds_total", "Time the probes of a health check took together.", "check"),
		records:        desc("accesslog_records_total", "Records of exchanges the engine left, for access logs and traces."),
		lines:          desc("accesslog_lines_total", "Lines of access logs that were written since mgmt was started."),
		dropped: desc("accesslog_dropped_total", "Records and lines that are lost: no room in a ring (ring) or in the queue of a sink (queue), not taken by a sink (sink), "+
			"on their way when mgmt (mgmt) or the engine (engine) died.", "reason"),
		syslog: newSyslogDescs(desc),

		certificates: newCertificateDescs(desc),
	}
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, list := range [][]counter{c.loops, c.farms, c.servers} {
		for i := range list {
			ch <- list[i].desc
		}
	}
	for _, d := range []*prometheus.Desc{c.rejections, c.farmFirst, c.farmTotal, c.firstByte, c.total, c.usableBackends,
		c.build, c.revision, c.engine, c.probes, c.probeTime, c.records, c.lines, c.dropped} {
		ch <- d
	}
	c.syslog.describe(ch)
	c.certificates.describe(ch)
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	cfg, revision := c.o.Config()
	ch <- gauge(c.build, 1, c.o.Version, runtime.Version())
	ch <- gauge(c.revision, float64(revision))
	c.collectLoops(ch)
	classes := c.o.Counters.Classes()
	sums := c.sums(cfg)
	for i := range cfg.Farms {
		c.collectFarm(ch, &cfg.Farms[i], classes, sums)
	}
	c.collectEngine(ch)
	c.collectProbes(ch)
	c.collectLogs(ch)
	if c.o.Syslog != nil {
		c.syslog.collect(ch, c.o.Syslog())
	}
	if c.o.Certificates != nil {
		c.certificates.collect(ch, c.o.Certificates(cfg))
	}
}

func (c *collector) collectEngine(ch chan<- prometheus.Metric) {
	if c.o.Engine != nil {
		connected, _ := c.o.Engine()
		ch <- gauge(c.engine, truth(connected))
	}
}

func (c *collector) collectLogs(ch chan<- prometheus.Metric) {
	if c.o.Logs == nil {
		return
	}
	s := c.o.Logs()
	ch <- total(c.records, s.Recorded)
	ch <- total(c.lines, s.Written)
	ch <- total(c.dropped, s.Full, "ring")
	ch <- total(c.dropped, s.Queue, "queue")
	ch <- total(c.dropped, s.Failed, "sink")
	ch <- total(c.dropped, s.Restart, "mgmt")
	ch <- total(c.dropped, s.Engine, "engine")
}

// Probed holds the counts of one health check since the start of mgmt.
type Probed struct {
	Check           string
	Healthy, Failed uint64
	Seconds         float64 // for all probes together
}

func (c *collector) collectProbes(ch chan<- prometheus.Metric) {
	if c.o.Probes == nil {
		return
	}
	for _, p := range c.o.Probes() {
		ch <- total(c.probes, p.Healthy, p.Check, "healthy")
		ch <- total(c.probes, p.Failed, p.Check, "failed")
		ch <- prometheus.MustNewConstMetric(c.probeTime, prometheus.CounterValue, p.Seconds, p.Check)
	}
}

func gauge(d *prometheus.Desc, v float64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}

func total(d *prometheus.Desc, n uint64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), labels...)
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
