package accesslog

import (
	"sync/atomic"

	"github.com/sluicelb/sluice/core/accesslog"
)

// Stats are the records of exchanges since the pump was made, but for Recorded
// and Full, which count since the supervisor started.
type Stats struct {
	// Recorded were put into a ring, Full found no room in one.
	Recorded, Full uint64
	// Written are lines an output took, Queue those a queue had no room for,
	// Failed those an output did not take.
	Written, Queue, Failed uint64
	// Restart were on their way when an earlier mgmt died, Engine those that
	// never came from an engine that died.
	Restart, Engine uint64
	// Damaged is how often a ring held what is no record.
	Damaged uint64
}

// counts are what a pump has dealt with.
type counts struct {
	written, dropped, failed   atomic.Uint64
	restart, missing, damaging atomic.Uint64
}

func (c *counts) set(l accesslog.Lost) {
	c.restart.Store(l.Unacknowledged)
	c.missing.Store(l.Missing)
	c.damaging.Store(l.Damaged)
}

// Stats returns the counts so far. Any goroutine.
func (p *Pump) Stats() Stats {
	t := p.o.Segment.Totals()
	return Stats{
		Recorded: t.Pushed, Full: t.Dropped,
		Written: p.counts.written.Load(), Queue: p.counts.dropped.Load(), Failed: p.counts.failed.Load(),
		Restart: p.counts.restart.Load(), Engine: p.counts.missing.Load(), Damaged: p.counts.damaging.Load(),
	}
}
