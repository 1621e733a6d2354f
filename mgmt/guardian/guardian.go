package guardian

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/mgmt/probe"
)

// Table receives the verdicts; *health.Table implements it.
type Table interface {
	Slot(backend uint32) *health.Slot
	SetLoad(backend, connections uint32)
	ForgetLoad(backend uint32)
	SetGuardian(backend uint32, s health.State, at time.Time) bool
}

// Options holds the parameters of a Guardian. Table and Network must be set.
type Options struct {
	Table Table
	// Network connects to backends in the same way as the traffic of their farm.
	Network func(Route) probe.Network
	// Parse reads a command; nil means probe.Parse.
	Parse func(command string) (probe.Probe, error)
	// Farm returns the status of a farm, and the reason if it is not up; nil: backends with
	// the address of a farm are probed like others.
	Farm func(*farm.Farm) (farm.Status, string)
	// Open returns the number of open connections of farms, by farm number, for those it
	// knows; nil: unknown for all.
	Open func([]*farm.Farm) map[uint32]uint64
	// Cut closes the connections of backends; nil: they are not closed.
	Cut func(backends []uint32)
	// AtOnce is how many probes may run at a time; 0 means DefaultAtOnce.
	AtOnce int
	// Remembered are the verdicts of the appliance's last run, from Verdicts: they hold
	// until the first result.
	Remembered []Verdict
	// Resumed is called once, in the first Set, when the health table has the verdicts of before
	// the start and no result yet. It must not call the Guardian. nil: nothing is called.
	Resumed func(*farm.Config)
	// Log receives messages about backends that go down and come up; nil: no messages.
	Log *slog.Logger
}

// DefaultAtOnce is how many probes run at a time at most: each has a socket, and needs some
// 30 KiB.
const DefaultAtOnce = 2048

const (
	// grain is the precision of start times: probes that are due together start together.
	grain = 5 * time.Millisecond
	// apart is the time between the first probes of tasks that are added together.
	apart = 10 * time.Millisecond
	// apartAtStart is the same for the tasks at the start of the appliance and for backends
	// that were down, since clients wait for verdicts.
	apartAtStart = time.Millisecond
)

// Guardian probes backends. Its methods may be called by any goroutine.
type Guardian struct {
	options   Options
	moved     atomic.Uint64 // grows when results of Why or Awaits may change
	turns     atomic.Uint64 // grows when results of Verdicts may change
	follows   atomic.Bool   // some backend follows farms of this appliance
	following int           // tasks that follow farms

	mu    sync.Mutex
	seen  *farm.Config // by the last Set
	tasks map[key]*task
	of    map[uint32]*task // by backend
	// unasked are the backends without a task, with the reason for those that have a linked
	// check, else "". left are those that the last Set removed.
	unasked map[uint32]string
	left    []uint32
	resting map[uint32]outage // of backends without clients that were down before
	broken  bool              // the command of some check cannot be read
	first   []*task           // tasks of a start, until all of them have a state
	known   chan struct{}     // closed when all of first have a state

	remembered map[string]Verdict // by Task
	waiting    queue
	ready      queue
	running    int
	hanging    int              // running probes of servers that did not answer soon
	counts     map[string]Count // by check
	full       bool             // the waiting of probes was logged
	loop       bool             // the goroutine runs
	stalls     stalls
	ctx        context.Context
	wake       chan struct{}
	finished   sync.WaitGroup
}

// Count holds the counts of a check since the start.
type Count struct {
	Healthy, Failed uint64
	Took            time.Duration // all probes together
}

// New returns a Guardian without tasks. It ends with ctx; Wait waits for that.
func New(ctx context.Context, o Options) *Guardian {
	if o.AtOnce == 0 {
		o.AtOnce = DefaultAtOnce
	}
	if o.Parse == nil {
		o.Parse = probe.Parse
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	remembered := make(map[string]Verdict, len(o.Remembered))
	for _, v := range o.Remembered {
		remembered[v.Task] = v
	}
	return &Guardian{
		options: o, ctx: ctx, remembered: remembered, tasks: map[key]*task{}, of: map[uint32]*task{},
		unasked: map[uint32]string{}, resting: map[uint32]outage{}, counts: map[string]Count{},
		waiting: queue{first: byTime}, ready: queue{first: byPriority},
		wake: make(chan struct{}, 1), known: make(chan struct{}),
	}
}

// Wait returns when ctx has ended and no probe is running.
func (g *Guardian) Wait() {
	<-g.ctx.Done()
	g.finished.Wait()
}

// poke makes the loop look again, and starts it with the first task. g.mu is held.
func (g *Guardian) poke() {
	if !g.loop && len(g.tasks) > 0 {
		g.loop = true
		g.stalls.note(time.Now())
		g.finished.Go(g.run)
	}
	select {
	case g.wake <- struct{}{}:
	default:
	}
}

// run starts due probes until ctx ends, or no task is left.
func (g *Guardian) run() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	ended := make(chan struct{})
	defer close(ended)
	g.finished.Go(func() { g.stalls.run(ended) })
	for {
		select {
		case <-g.ctx.Done():
			return
		case <-g.wake:
		case <-timer.C:
		}
		next, more := g.turn(time.Now())
		if !more {
			return
		}
		timer.Reset(max(next, grain))
	}
}

// turn starts due probes, as far as there is room, and returns when to look again.
func (g *Guardian) turn(now time.Time) (next time.Duration, more bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.waiting.Len() > 0 && !g.waiting.list[0].due.After(now) {
		g.ready.put(g.waiting.take())
	}
	for g.ready.Len() > 0 && g.hasRoom(g.ready.list[0]) {
		g.ask(g.ready.take())
	}
	g.sayFull()
	if len(g.tasks) == 0 && g.running == 0 {
		g.loop = false
		return 0, false
	}
	if g.waiting.Len() == 0 {
		return time.Hour, true // until a probe ends
	}
	return g.waiting.list[0].due.Sub(now), true
}

// hasRoom reports whether a probe may start. Servers that hang use a place for their whole
// timeout. Therefore a part of the places is reserved for servers that answered soon the
// last time, so that these are probed in time, independently of how many hang.
func (g *Guardian) hasRoom(t *task) bool {
	if !t.soon && g.hanging >= max(1, g.options.AtOnce*3/4) {
		return false
	}
	return g.running < g.options.AtOnce
}

// sayFull logs once when probes wait for their turn, and once when they no longer do.
func (g *Guardian) sayFull() {
	switch full := g.ready.Len() > 0; {
	case full && !g.full:
		g.options.Log.Warn("probes wait for their turn: too many are under way, and asked later than their interval says", "at_once", g.options.AtOnce, "waiting", g.ready.Len())
		g.full = true
	case g.full && g.ready.Len() == 0 && g.running < g.options.AtOnce/2:
		g.full = false
	}
}

// ask starts a probe. g.mu is held.
func (g *Guardian) ask(t *task) {
	t.running = true
	g.running++
	if !t.soon {
		g.hanging++
	}
	limit := timeout(&t.settings)
	g.finished.Go(func() {
		ctx, cancel, waited := probe.Limited(g.ctx, limit)
		defer cancel()
		ctx, told := probe.Reporting(ctx)
		began := time.Now()
		err := t.probe.Run(ctx, g.options.Network(t.from), t.to, func(string, ...any) {})
		var l load
		l.connections, l.known = told()
		g.took(t, began.Add(waited()), time.Now(), err, l)
	})
}

// took handles a result.
func (g *Guardian) took(t *task, began, now time.Time, err error, l load) {
	g.mu.Lock()
	defer g.mu.Unlock()
	t.running = false
	g.running--
	if !t.soon {
		g.hanging--
	}
	t.soon = now.Sub(began) < timeout(&t.settings)/2
	defer func() {
		if g.ready.Len() > 0 || t.at == 0 || len(g.tasks) == 0 {
			g.poke()
		}
	}()
	if t.gone || g.ctx.Err() != nil { // results of probes that were ended here say nothing
		return
	}
	if l.known {
		t.load = l
	}
	one := resultOf(began, now, err)
	if g.spoiled(t, began, now, one) {
		t.due = now // probed again at once
		g.waiting.put(t)
		return
	}
	before, _ := t.results.last()
	if before.Reason != one.Reason {
		g.moved.Add(1)
	}
	t.results.add(one)
	if one.Local {
		g.cannotAsk(t, now, one)
	} else {
		g.asked(t, now)
		g.judge(t, now, one)
	}
	g.awaitFirst(false)
	t.due = began.Add(interval(&t.settings))
	if t.due.Before(now) {
		t.due = now
	}
	g.waiting.put(t)
}

// judge updates the verdict of a task with a result.
func (g *Guardian) judge(t *task, now time.Time, one Result) {
	g.count(t, one)
	healthy := one.Reason == ""
	if healthy {
		if !g.stalls.within(now.Add(-one.Took), now) {
			t.measured(one.Took)
		}
		g.note(t, t.users)
	} else {
		t.why = one.Reason
	}
	if t.settings.Logs {
		g.options.Log.Info("backend was asked", "check", t.check, "backend", addressOf(t.to), "healthy", healthy, "took", one.Took, "reason", one.Reason)
	}
	if was := t.verdict; t.take(healthy, now, &t.settings) {
		if was == health.Undefined {
			g.moved.Add(1) // Awaits changed, while the table counts only changes to and from Down
		}
		g.turned(t, now, was, one.Reason)
	}
}

func (g *Guardian) count(t *task, one Result) {
	c := g.counts[t.check]
	c.Took += one.Took
	if one.Reason == "" {
		c.Healthy++
	} else {
		c.Failed++
	}
	g.counts[t.check] = c
}

// turned records a new verdict and logs it. The first success after Undefined is not
// logged.
func (g *Guardian) turned(t *task, now time.Time, was health.State, reason string) {
	down := t.verdict == health.Down
	g.turns.Add(1)
	for _, u := range t.users {
		if !g.options.Table.SetGuardian(u.id, t.verdict, now) {
			continue
		}
		switch {
		case down:
			g.options.Log.Warn("backend is down", "farm", u.farm, "service", u.service, "backend", addressOf(t.to), "check", t.check, "reason", reason)
		case was == health.Down:
			g.options.Log.Info("backend is up", "farm", u.farm, "service", u.service, "backend", addressOf(t.to), "check", t.check)
		}
	}
	if down && t.settings.CutConns && g.options.Cut != nil {
		ids := idsOf(t.users)
		g.finished.Go(func() { g.options.Cut(ids) })
	}
}

func idsOf(users []user) (out []uint32) {
	for _, u := range users {
		out = append(out, u.id)
	}
	slices.Sort(out)
	return out
}
