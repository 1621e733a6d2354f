package accesslog

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/farm"
)

const (
	// look is the interval of reading records if no loop wakes the pump. watchedLook is the
	// interval while a farm is watched.
	look        = 250 * time.Millisecond
	watchedLook = 50 * time.Millisecond
)

// Options holds the parameters of a Pump. All but Stdout and Log must be set.
type Options struct {
	// Segment is written by the engine. Wake is the event by which the engine wakes the
	// pump.
	Segment *accesslog.Segment
	Wake    *os.File
	// Data is the data directory. The files are in its folder Folder.
	Data *os.Root
	// Stdout is the standard output of the appliance; nil if it has none.
	Stdout *os.File
	// Config returns the active configuration. The pointer changes only with the
	// configuration.
	Config func() *farm.Config
	// Classes returns the names of the classes of rejections.
	Classes func() []string
	// Log receives messages about faults of logs; nil means slog.Default.
	Log *slog.Logger
}

// Pump moves records to the logs. Make it with New.
type Pump struct {
	o       Options
	reader  *accesslog.Reader
	book    *book
	line    line
	clock   *clock
	sinks   map[target]*sink
	closing []*sink // sinks that no farm uses any longer
	counts  counts
	unused  uint64 // records without a reader, not yet acknowledged
	reopen  chan struct{}
	hub     hub
	listed  atomic.Pointer[[]*sink] // copy of sinks
}

// New returns a pump that does nothing until Run. A segment must have only one.
func New(o Options) *Pump {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	p := &Pump{o: o, reader: o.Segment.Reader(), clock: newClock(), sinks: map[target]*sink{}, reopen: make(chan struct{}, 1)}
	p.hub.segment = o.Segment
	return p
}

// Reopen opens all log files again, e.g. after they were renamed. Any goroutine.
func (p *Pump) Reopen() {
	select {
	case p.reopen <- struct{}{}:
	default: // it is already scheduled
	}
}

// Run moves records until ctx ends; then it writes the rest. An output that blocks delays
// the end of Run by a second.
func (p *Pump) Run(ctx context.Context) {
	stop := context.AfterFunc(ctx, func() { _ = p.o.Wake.SetReadDeadline(time.Now()) })
	defer stop()
	for ctx.Err() == nil {
		p.turn()
		if p.reader.Arm() {
			p.wait(ctx)
		}
		p.serveReopen()
	}
	for p.turn() > 0 {
	}
	p.close()
}

// wait waits until a loop wakes the pump or the next look is due.
func (p *Pump) wait(ctx context.Context) {
	limit := look
	if p.hub.busy() {
		limit = watchedLook
	}
	_ = p.o.Wake.SetReadDeadline(time.Now().Add(limit))
	if ctx.Err() != nil {
		return
	}
	var b [8]byte
	if _, err := p.o.Wake.Read(b[:]); err != nil && !os.IsTimeout(err) {
		time.Sleep(limit) // avoids spinning if waiting for the event fails
	}
}

func (p *Pump) serveReopen() {
	select {
	case <-p.reopen:
		for _, s := range p.sinks {
			s.reopen()
		}
	default:
	}
}

// turn moves the records that are now in the rings and returns their number.
func (p *Pump) turn() int {
	p.follow()
	n := p.reader.Drain(p.take)
	for _, s := range p.sinks {
		s.flush()
	}
	if p.unused > 0 {
		p.o.Segment.Acknowledge(p.unused)
		p.unused = 0
	}
	p.counts.set(p.reader.Lost())
	return n
}

// take makes a line of one record, and passes it to the watchers.
func (p *Pump) take(r *accesslog.Record) {
	b := p.book
	b.lookUp(&p.line, r)
	if p.hub.wants(r) {
		p.hub.show(&p.line)
	}
	fl := b.farms[r.Farm]
	if fl == nil || fl.sink == nil || !r.Flags.Has(accesslog.Logged) {
		p.unused++
		return
	}
	c := fl.sink.line()
	c.bytes = fl.format.append(c.bytes, &p.line)
	fl.sink.added()
}

// follow compiles the configuration if it has changed.
func (p *Pump) follow() {
	cfg := p.o.Config()
	if p.book != nil && p.book.cfg == cfg {
		return
	}
	p.followNames(cfg)
	used := map[target]bool{}
	p.book = newBook(cfg, p.o.Classes(), p.clock, func(f *farm.Farm) *sink {
		s := p.sinkOf(f)
		if s != nil {
			used[keyOf(f)] = true
		}
		return s
	})
	p.hub.format = watchFormat(cfg, p.clock)
	p.closing = slices.DeleteFunc(p.closing, (*sink).ended)
	for key, s := range p.sinks {
		if !used[key] {
			s.close()
			delete(p.sinks, key)
			p.closing = append(p.closing, s)
		}
	}
	p.list()
}

// sinkOf returns the sink of a farm, a new one if no farm has had it.
func (p *Pump) sinkOf(f *farm.Farm) *sink {
	key := keyOf(f)
	if s := p.sinks[key]; s != nil {
		return s
	}
	out, err := p.output(key)
	if err != nil {
		p.o.Log.Error("a farm has no access log", "farm", f.Name, "cause", err)
		return nil
	}
	s := newSink(key, out, &p.counts, p.o.Segment.Acknowledge, p.o.Log)
	p.sinks[key] = s
	return s
}

// target is the destination of a log. Farms with the same target share a sink.
type target struct {
	kind farm.LogSink
	name string // of the file, or address
	size uint32 // of the file, MiB
	keep uint32
}

// String returns the name of the target in messages.
func (t target) String() string {
	switch t.kind {
	case farm.LogFile:
		return Folder + "/" + t.name + Ending
	case farm.LogSyslog:
		return t.name
	}
	return string(t.kind)
}

func keyOf(f *farm.Farm) target {
	l, _ := f.Log()
	switch l.Sink {
	case farm.LogSyslog:
		return target{kind: farm.LogSyslog, name: or(l.Target, farm.DefaultLogTarget)}
	case farm.LogStdout:
		return target{kind: farm.LogStdout}
	}
	return target{kind: farm.LogFile, name: or(l.File, f.Name), size: or(l.Size, farm.DefaultLogSize), keep: or(l.Keep, farm.DefaultLogKeep)}
}

func or[T comparable](v, unset T) T {
	var zero T
	if v == zero {
		return unset
	}
	return v
}

func (p *Pump) output(t target) (output, error) {
	switch t.kind {
	case farm.LogSyslog:
		return newSyslog(t.name)
	case farm.LogStdout:
		if p.o.Stdout == nil {
			return nil, fmt.Errorf("there is no standard output")
		}
		return stream{p.o.Stdout}, nil
	}
	return newFile(p.o.Data, t.name, int64(t.size)<<20, int(t.keep)), nil
}

// close writes the rest, within closeTime.
func (p *Pump) close() {
	for _, s := range p.sinks {
		s.close()
		p.closing = append(p.closing, s)
	}
	deadline := make(chan struct{})
	timer := time.AfterFunc(closeTime, func() { close(deadline) })
	defer timer.Stop()
	for _, s := range p.closing {
		select {
		case <-s.done:
		case <-deadline:
		}
	}
	p.hub.close()
}
