package accesslog

import (
	"sync/atomic"

	"github.com/sluicelb/sluice/core/accesslog"
)

// Stats counts records of exchanges since the pump was made. Recorded and Full count since
// the supervisor started.
type Stats struct {
	// Recorded records were put into a ring. Full records found no room in a ring.
	Recorded, Full uint64
	// Written lines were written by an output. Queue lines found a queue full. Failed lines
	// could not be written by an output.
	Written, Queue, Failed uint64
	// Restart records were in progress when an earlier mgmt died. Engine records were lost
	// when an engine died.
	Restart, Engine uint64
	// Damaged is the number of invalid records found in a ring.
	Damaged uint64
}

// counts counts the records that a pump has handled.
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
