// Package engine is the role that carries the traffic of all farms on event loops.
package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"github.com/sluicelb/sluice/cmd/harden"
	"github.com/sluicelb/sluice/cmd/inherit"
	"github.com/sluicelb/sluice/cmd/role/process"
	"github.com/sluicelb/sluice/cmd/supervisor"
	"github.com/sluicelb/sluice/core/accesslog"
	engines "github.com/sluicelb/sluice/core/engine"
	"github.com/sluicelb/sluice/core/explain"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/core/link"
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/marks"
	"github.com/sluicelb/sluice/core/session"
	"github.com/sluicelb/sluice/core/shm"
	"github.com/sluicelb/sluice/core/snapshot"
	"github.com/sluicelb/sluice/core/stats"
	"github.com/sluicelb/sluice/core/tlsconf"
	"github.com/sluicelb/sluice/dns/server"
	"github.com/sluicelb/sluice/l4/forward"
	"github.com/sluicelb/sluice/l7/proxy"
)

// LoopsVariable sets the number of event loops; unset means one per CPU.
const LoopsVariable = "SLUICE_LOOPS"

// Run hardens the process and carries traffic until SIGTERM, which it handles itself, because
// exchanges must finish.
func Run(p *process.Process) error {
	// Read files that will be out of reach: the local time zone, and the system's CAs for
	// the verification of backends. Without the latter only the farms that use them are
	// refused.
	_, _ = time.Now().Zone()
	_, _ = tlsconf.SystemRoots()
	if err := p.Harden(harden.Engine); err != nil {
		return err
	}
	if err := p.Ready(); err != nil {
		return err
	}
	return serve(p.Set)
}

// serve carries traffic until SIGTERM, then lets exchanges in progress finish within the
// grace time.
func serve(in inherit.Set) error {
	e, err := newEngine(in)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	control, err := in.UnixListener("control")
	if err != nil {
		return err
	}
	failed := make(chan error, len(e.loops)+1)
	for _, l := range e.loops {
		go func() { failed <- l.Run() }()
	}
	go func() {
		failed <- link.Serve(ctx, control, e, process.UIDFrom(supervisor.ManagerVariable))
	}()
	beating, still := context.WithCancel(context.Background()) // to the very end, because exchanges finish in order
	defer still()
	go Heartbeat(beating, e.page, e.loops)
	select {
	case <-ctx.Done():
	case err := <-failed:
		return errors.Join(errors.New("the engine cannot go on"), err)
	}
	e.set.Drain(process.GraceTime())
	for _, l := range e.loops {
		l.Stop()
	}
	return nil
}

// engine is the data path of all farms.
type engine struct {
	page    *snapshot.Page
	reader  snapshot.Reader
	memory  *session.Memory
	loops   []*loop.Loop
	set     engines.Set
	proxy   *proxy.Engine
	forward *forward.Engine
	zones   *server.Engine
	started time.Time
}

func newEngine(in inherit.Set) (*engine, error) {
	n, err := loopCount()
	if err != nil {
		return nil, err
	}
	runtime.GOMAXPROCS(n)
	page, healthTable, segment, err := openMemory(in, n)
	if err != nil {
		return nil, err
	}
	e := &engine{page: page, started: time.Now()}
	for i := range n {
		c := segment.Shard(i).Loop()
		l, err := loop.New(loopCounters(c))
		if err != nil {
			return nil, fmt.Errorf("event loop %d: %w", i, err)
		}
		e.loops = append(e.loops, l)
	}
	e.proxy = proxy.New(e.loops, healthTable, segment, slog.Default())
	e.forward = forward.New(e.loops, healthTable, segment, slog.Default())
	e.zones = server.New(e.loops, healthTable, segment, slog.Default())
	e.proxy.AnswerNames(e.zones)
	e.set = engines.Set{e.proxy, e.forward, e.zones}
	if err := e.record(in); err != nil {
		return nil, err
	}
	if e.memory, err = process.Mapped(in, "sessions", true, session.OpenMemory); err != nil {
		return nil, err
	}
	for _, one := range e.set {
		one.KeepSessions(e.memory)
	}
	if err := e.keepTickets(in); err != nil {
		return nil, err
	}
	netd, err := in.UnixConn("marks")
	if err != nil {
		return nil, err
	}
	reserve := marks.New(netd, slog.Default())
	for _, one := range e.set {
		one.MarkWith(reserve)
	}
	page.StartEngine(os.Getpid(), n, e.started)
	return e, nil
}

// record makes the loops write records of exchanges for mgmt.
func (e *engine) record(in inherit.Set) error {
	segment, err := process.Mapped(in, "records", true, accesslog.OpenSegment)
	if err != nil {
		return err
	}
	event, err := in.File("wake")
	if err != nil {
		return err
	}
	wake, err := shm.NewWaker(event)
	if err != nil {
		return err
	}
	writers := segment.Writers(len(e.loops), wake)
	for _, one := range e.set {
		one.Record(segment, writers)
	}
	return nil
}

// loopCounters returns the counters of a loop.
func loopCounters(c *stats.Loop) *loop.Counters {
	return &loop.Counters{
		Events: &c.Events, Accepted: &c.Accepted, AcceptErrors: &c.AcceptErrors, Panics: &c.Panics,
		Handshakes: &c.Handshakes, HandshakesResumed: &c.HandshakesResumed, HandshakesFailed: &c.HandshakesFailed,
		HandshakesRefused: &c.HandshakesRefused, PlainOnTLS: &c.PlainOnTLS,
		DialHandshakes: &c.DialHandshakes, DialHandshakesResumed: &c.DialHandshakesResumed,
	}
}

func loopCount() (int, error) {
	text := os.Getenv(LoopsVariable)
	if text == "" {
		return min(runtime.NumCPU(), stats.MaxShards), nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > stats.MaxShards {
		return 0, fmt.Errorf("%s=%q: it must be a number from 1 to %d", LoopsVariable, text, stats.MaxShards)
	}
	return n, nil
}

// keepTickets maps the shared memory for the keys of TLS tickets.
func (e *engine) keepTickets(in inherit.Set) error {
	_, err := process.Mapped(in, "tickets", true, func(mem []byte) (any, error) { return nil, e.proxy.KeepTickets(mem) })
	return err
}

// openMemory maps the three segments shared with mgmt.
func openMemory(in inherit.Set, loops int) (page *snapshot.Page, healthTable *health.Table, segment *stats.Segment, err error) {
	if page, err = process.Mapped(in, "page", true, snapshot.OpenPage); err != nil {
		return nil, nil, nil, err
	}
	if healthTable, err = process.Mapped(in, "health", true, health.OpenTable); err != nil {
		return nil, nil, nil, err
	}
	segment, err = process.Mapped(in, "stats", true, func(mem []byte) (*stats.Segment, error) { return stats.CreateSegment(mem, loops) })
	return page, healthTable, segment, err
}

// Hello implements link.Handler.
func (e *engine) Hello() link.Hello {
	return link.Hello{
		PID: os.Getpid(), Layout: snapshot.Layout, Generation: e.set.Generation(), Loops: len(e.loops),
		Listeners: e.holds(), Started: e.started,
	}
}

// Explain implements link.Handler.
func (e *engine) Explain(q explain.Question) (*explain.Explanation, error) {
	return e.set.Explain(&q)
}

func (e *engine) refuse(generation uint64, err error) link.Ack {
	slog.Warn("snapshot refused, the one in use stays", "generation", generation, "cause", err)
	e.page.SetRefused(generation)
	return link.Ack{Generation: generation, Refused: err.Error(), Listeners: e.holds()}
}

// closeAll closes the listeners of a snapshot; the loops hold duplicates of those they use.
func closeAll(opened map[string][]*os.File) {
	for _, files := range opened {
		for _, f := range files {
			_ = f.Close()
		}
	}
}
