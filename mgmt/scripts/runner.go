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

// Limits of a Runner.
const (
	// DefaultLimit bounds the run time of a script per event.
	DefaultLimit = 30 * time.Second
	// MaxScripts bounds the scripts per event, and thus concurrent runs.
	MaxScripts = 16
	// maxEvents bounds the event queue, maxWaiting the queue of a script.
	maxEvents  = 1024
	maxWaiting = 64
	// maxRuns is the number of remembered runs per script.
	maxRuns = 5
)

// Options are the parameters of a Runner.
type Options struct {
	// Folder contains the scripts; empty means hook.Folder in the working directory.
	Folder string
	// Limit bounds a run; zero means DefaultLimit.
	Limit time.Duration
	// By starts scripts; nil means this process.
	By  hook.Starter
	Log *slog.Logger     // nil discards
	Now func() time.Time // nil means time.Now
}

// Runner calls scripts. Use New to make one. It is safe for concurrent use.
type Runner struct {
	options Options
	ctx     context.Context // its end kills running scripts
	end     context.CancelFunc
	running sync.WaitGroup

	mu       sync.Mutex // guards the following fields
	closed   bool
	events   []event.Event // not yet passed to scripts
	giving   bool          // a goroutine runs give
	lost     int           // events that did not fit into events
	crowded  bool          // more than MaxScripts scripts were found
	scripts  map[string]*script
	problems map[string]string // logged reasons by file
}

// script is a program that was called.
type script struct {
	name    string
	waiting []event.Event
	busy    bool // a goroutine runs call
	lost    int  // events that did not fit into waiting
	calls   int
	failed  int
	runs    []Run // newest first
}

// New returns an idle Runner.
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

// Tell queues an event for its scripts. It returns at once.
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

// Close accepts no more events. Queued events are processed until ctx ends; running
// scripts and their children are killed then.
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

// give passes queued events to their scripts.
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

// next removes and returns the first queued event.
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

// hand queues an event for one script.
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

// call runs a script for its queued events.
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

// run runs a script for one event, and records the result.
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

// environment returns the environment variables of an event.
func environment(e *event.Event) []string {
	return append([]string{"SLUICE_EVENT=" + string(e.Kind), "SLUICE_SEVERITY=" + string(e.Severity), "SLUICE_TIME=" + e.At.UTC().Format(time.RFC3339), "SLUICE_TEXT=" + e.Text()}, e.Facts...)
}

// input returns an event as a line of JSON.
func input(e *event.Event) []byte {
	b, err := json.Marshal(e)
	if err != nil { // impossible: it contains only texts
		return nil
	}
	return append(b, '\n')
}
