package scripts

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	"github.com/sluicelb/sluice/mgmt/event"
	"github.com/sluicelb/sluice/mgmt/hook"
)

// The bounds of a Runner.
const (
	// DefaultLimit is how long a script may take for one event.
	DefaultLimit = 30 * time.Second
	// MaxScripts is how many scripts may hear of one event: so many run at once.
	MaxScripts = 16
	// maxEvents is how many events wait until scripts are looked for, maxWaiting how
	// many of them wait for one script.
	maxEvents  = 1024
	maxWaiting = 64
	// maxRuns is how many runs of a script are remembered.
	maxRuns = 5
)

// Options is what a Runner works with.
type Options struct {
	// Folder is where scripts are; empty means hook.Folder in the working directory.
	Folder string
	// Limit is DefaultLimit when zero.
	Limit time.Duration
	// By starts scripts; without one this process does.
	By  hook.Starter
	Log *slog.Logger     // nil discards
	Now func() time.Time // nil means time.Now
}

// Runner calls scripts. Make it with New; all its methods are for any goroutine.
type Runner struct {
	options Options
	ctx     context.Context // ends what runs
	end     context.CancelFunc
	running sync.WaitGroup

	mu       sync.Mutex // guards what follows
	closed   bool
	events   []event.Event // scripts are to be looked for
	giving   bool          // a goroutine does
	lost     int           // events that found no room there
	crowded  bool          // more scripts than MaxScripts were found
	scripts  map[string]*script
	problems map[string]string // of files that were not called, as logged last
}

// script is a program that was called.
type script struct {
	name    string
	waiting []event.Event
	busy    bool // a goroutine calls it
	lost    int  // events that found no room
	calls   int
	failed  int
	runs    []Run // the newest first
}

// New returns a Runner that does nothing until it is told something.
func New(o Options) *Runner {
	o.Folder, o.Limit = cmp.Or(o.Folder, hook.Folder), cmp.Or(o.Limit, DefaultLimit)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	r := &Runner{options: o, scripts: map[string]*script{}, problems: map[string]string{}}
	r.ctx, r.end = context.WithCancel(context.Background())
	return r
}

// Tell has the scripts for an event called. It returns at once.
func (r *Runner) Tell(e event.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	if e.At.IsZero() {
		e.At = r.options.Now()
	}
	if len(r.events) >= maxEvents {
		if r.lost++; r.lost == 1 {
			r.options.Log.Warn("scripts are not told of all events: too many came at once", "event", string(e.Kind))
		}
		return
	}
	r.events = append(r.events, e)
	if !r.giving {
		r.giving = true
		r.running.Go(r.give)
	}
}

// Close tells no more: what was told is still carried out until ctx ends, and then
// what runs is ended with its children.
func (r *Runner) Close(ctx context.Context) {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	done := make(chan struct{})
	go func() { r.running.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
	}
	r.end()
	<-done
}

// give hands the events that wait to the scripts that hear of them.
func (r *Runner) give() {
	for {
		e, more := r.next()
		if !more {
			return
		}
		for _, name := range r.hearing(e.Kind) {
			r.hand(name, e)
		}
	}
}

// next takes the first event that waits.
func (r *Runner) next() (event.Event, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.events) == 0 || r.ctx.Err() != nil {
		r.events, r.giving = nil, false
		return event.Event{}, false
	}
	e := r.events[0]
	r.events = r.events[1:]
	return e, true
}

// hand gives one script an event.
func (r *Runner) hand(name string, e event.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.scripts[name]
	if s == nil {
		s = &script{name: name}
		r.scripts[name] = s
	}
	if len(s.waiting) >= maxWaiting {
		if s.lost++; s.lost == 1 {
			r.options.Log.Warn("a script is not told of all events: it is too slow for them", "script", name, "event", string(e.Kind))
		}
		return
	}
	s.waiting = append(s.waiting, e)
	if !s.busy {
		s.busy = true
		r.running.Go(func() { r.call(s) })
	}
}

// call calls a script for the events that wait for it.
func (r *Runner) call(s *script) {
	for {
		r.mu.Lock()
		if len(s.waiting) == 0 || r.ctx.Err() != nil {
			s.waiting, s.busy = nil, false
			r.mu.Unlock()
			return
		}
		e := s.waiting[0]
		s.waiting = s.waiting[1:]
		r.mu.Unlock()
		r.run(s, e)
	}
}

// run calls a script for one event, and remembers what came of it.
func (r *Runner) run(s *script, e event.Event) {
	began := r.options.Now()
	said, err := hook.Program{Folder: r.options.Folder, Name: s.name}.Run(r.ctx,
		hook.Call{Args: []string{string(e.Kind)}, Env: environment(&e), Input: input(&e), Limit: r.options.Limit, By: r.options.By})
	run := Run{Event: e.Kind, At: began, Took: r.options.Now().Sub(began), Output: said}
	log := r.options.Log.With("script", s.name, "event", string(e.Kind), "output", said)
	if err != nil {
		run.Failure = err.Error()
		log.Warn("script failed", "reason", run.Failure)
	} else {
		log.Info("script ran")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.calls++; err != nil {
		s.failed++
	}
	s.runs = append([]Run{run}, s.runs[:min(len(s.runs), maxRuns-1)]...)
}

// environment is what a script finds of an event.
func environment(e *event.Event) []string {
	return append([]string{"SLUICE_EVENT=" + string(e.Kind), "SLUICE_SEVERITY=" + string(e.Severity), "SLUICE_TIME=" + e.At.UTC().Format(time.RFC3339), "SLUICE_TEXT=" + e.Text()}, e.Facts...)
}

// input is the same as a line of JSON.
func input(e *event.Event) []byte {
	b, err := json.Marshal(e)
	if err != nil { // texts are all there is in it
		return nil
	}
	return append(b, '\n')
}
