package recorder

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/stats"
	"github.com/sluicelb/sluice/mgmt/timeseries"
	"github.com/sluicelb/sluice/sysnet/usage"
)

// Counters sums the counters of all loops; *stats.Segment implements it.
type Counters interface {
	SumFarm(id uint32) stats.Farm
	SumBackend(id uint32) stats.Backend
	SumFarmTimes(id uint32) stats.Times
}

// Options holds the sources and the destination of the figures. All must be set except
// Traffic.
type Options struct {
	DB       *timeseries.DB
	Counters Counters
	Config   func() *farm.Config
	// Traffic returns the counters of farms forwarded by the kernel; ok is false while they
	// are unknown. nil: there is no source.
	Traffic func() (t stats.Traffic, ok bool)
	// Usage returns the current usage of the machine.
	Usage func(now time.Time) usage.Sample
}

// Recorder keeps the totals of the last round, since it records their growth per second.
type Recorder struct {
	options  Options
	last     time.Time
	farms    map[uint32]farmTotals
	backends map[uint32]backendTotals
	system   usage.Sample
	rounds   int
	// latency is the latency of each farm in the last round; a stored map never changes.
	latency atomic.Pointer[map[uint32]Latency]
}

// New makes a Recorder.
func New(o Options) *Recorder { return &Recorder{options: o} }

// sweepRounds is how many rounds there are between searches for files of removed farms:
// about an hour.
const sweepRounds = 720

// Run records until ctx ends.
func (r *Recorder) Run(ctx context.Context) {
	tick := time.NewTicker(timeseries.Resolutions[0].Step)
	defer tick.Stop()
	r.Record(time.Now())
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			r.Record(now)
		}
	}
}

// Record records one round.
func (r *Recorder) Record(now time.Time) {
	elapsed := now.Sub(r.last).Seconds()
	first := r.last.IsZero() || elapsed <= 0
	r.last = now
	cfg := r.options.Config()
	r.recordFarms(cfg, now, elapsed, first)
	r.recordSystem(now, elapsed, first)
	if r.rounds%sweepRounds == 0 {
		r.sweep(cfg, now)
	}
	r.options.DB.CloseIdle()
	r.rounds++
}

func (r *Recorder) sweep(cfg *farm.Config, now time.Time) {
	there := map[string]bool{System: true}
	for i := range cfg.Farms {
		there[Farm(cfg.Farms[i].ID)] = true
	}
	for _, i := range r.system.Interfaces {
		there[Interface(i.Name)] = true
	}
	for _, d := range r.system.Disks {
		there[Disk(d.Mount)] = true
	}
	r.options.DB.Sweep(now, func(name string) bool { return there[name] })
}
