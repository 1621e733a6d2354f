package rejection

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

const (
	// look is the interval at which the Log polls for lines. Loops do not wake it,
	// because that would need a shared lock.
	look = 250 * time.Millisecond
	// looksToRest is the number of polls between two calls of rest.
	looksToRest = int(time.Second / look)
	// closeTime is how long Close waits for a blocked log.
	closeTime = time.Second
)

// Log writes the events of all Recorders.
type Log struct {
	log       *slog.Logger
	names     []string
	recorders []*Recorder

	once       sync.Once
	stop, done chan struct{}
}

// New returns a Log for the given number of loops, which writes to log until Close.
// classes are the names by Class.
func New(log *slog.Logger, loops int, classes ...string) *Log {
	l := &Log{
		log: log, names: classes,
		stop: make(chan struct{}), done: make(chan struct{}),
	}
	for range loops {
		l.recorders = append(l.recorders, newRecorder(len(classes)))
	}
	go l.run()
	return l
}

// Recorder returns the Recorder of loop i.
func (l *Log) Recorder(i int) *Recorder { return l.recorders[i] }

// Close writes the remaining events and stops the Log. Later events are lost. It waits
// at most a second for a blocked log. It may be called repeatedly.
func (l *Log) Close() {
	l.once.Do(func() { close(l.stop) })
	select {
	case <-l.done:
	case <-time.After(closeTime):
	}
}

func (l *Log) run() {
	defer close(l.done)
	ticker := time.NewTicker(look)
	defer ticker.Stop()
	for looks := 1; ; looks++ {
		select {
		case <-l.stop:
			l.drain()
			l.rest()
			l.rest() // includes classes with a recent line
			return
		case <-ticker.C:
			l.drain()
			if looks%looksToRest == 0 {
				l.rest()
			}
		}
	}
}

func (l *Log) drain() {
	for _, r := range l.recorders {
		r.drain(l.write)
	}
}

// write logs one event and the number of events suppressed before it.
func (l *Log) write(e *line, suppressed uint64) {
	r := slog.NewRecord(e.at, slog.LevelWarn, "refused", 0)
	r.AddAttrs(slog.String("farm", e.Farm), slog.String("class", l.names[e.Class]), slog.String("reason", e.Reason))
	if e.Client.IsValid() {
		r.AddAttrs(slog.String("client", e.Client.String()))
	}
	if e.Backend.IsValid() {
		r.AddAttrs(slog.String("backend", e.Backend.String()))
	}
	if e.Alias != "" {
		r.AddAttrs(slog.String("alias", e.Alias))
	}
	if e.Status != 0 {
		r.AddAttrs(slog.Int("status", int(e.Status)))
	}
	if suppressed != 0 {
		r.AddAttrs(slog.Uint64("suppressed", suppressed))
	}
	l.handle(r)
}

// rest logs the number of suppressed events of each class that no line will report.
func (l *Log) rest() {
	for class, name := range l.names {
		var n uint64
		for _, r := range l.recorders {
			n += r.rest(Class(class))
		}
		if n != 0 {
			r := slog.NewRecord(time.Now(), slog.LevelWarn, "refused, not shown one by one", 0)
			r.AddAttrs(slog.String("class", name), slog.Uint64("suppressed", n))
			l.handle(r)
		}
	}
}

func (l *Log) handle(r slog.Record) {
	h := l.log.Handler()
	if ctx := context.Background(); h.Enabled(ctx, r.Level) {
		_ = h.Handle(ctx, r) // there is nowhere to report the error
	}
}
