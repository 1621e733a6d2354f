package role

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

	"github.com/sluicelb/sluice/cmd/inherit"
	"github.com/sluicelb/sluice/cmd/supervisor"
	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/explain"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/core/link"
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/marks"
	"github.com/sluicelb/sluice/core/shm"
	"github.com/sluicelb/sluice/core/snapshot"
	"github.com/sluicelb/sluice/core/stats"
	"github.com/sluicelb/sluice/l7/proxy"
)

// LoopsVariable sets the number of event loops; unset means one per CPU.
const LoopsVariable = "SLUICE_LOOPS"

// beatEvery is how often the engine says on the control page that it lives.
const beatEvery = time.Second

// Engine carries the traffic until SIGTERM, then lets exchanges under way end
// within the grace time.
func Engine(in inherit.Set) error {
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
		failed <- link.Serve(ctx, control, e, uidFrom(supervisor.ManagerVariable))
	}()
	go e.beat(ctx)
	select {
	case <-ctx.Done():
	case err := <-failed:
		return errors.Join(errors.New("the engine cannot go on"), err)
	}
	e.proxy.Drain(grace())
	e.proxy.Close()
	for _, l := range e.loops {
		l.Stop()
	}
	return nil
}

// engine is the data path of all farms.
type engine struct {
	page    *snapshot.Page
	loops   []*loop.Loop
	proxy   *proxy.Engine
	started time.Time
}

func newEngine(in inherit.Set) (*engine, error) {
	n, err := loopCount()
	if err != nil {
		return nil, err
	}
	runtime.GOMAXPROCS(n)
	page, board, segment, err := openMemory(in, n)
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
	e.proxy = proxy.New(e.loops, board, segment, slog.Default())
	if err := e.record(in); err != nil {
		return nil, err
	}
	netd, err := in.UnixConn("marks")
	if err != nil {
		return nil, err
	}
	e.proxy.MarkWith(marks.New(netd, slog.Default()))
	page.StartEngine(os.Getpid(), e.started)
	return e, nil
}

// record makes the loops leave records of exchanges for mgmt.
func (e *engine) record(in inherit.Set) error {
	memory, err := in.File("records")
	if err != nil {
		return err
	}
	mapped, err := shm.MapShared(memory, true)
	if err != nil {
		return err
	}
	segment, err := accesslog.OpenSegment(mapped.Bytes())
	if err != nil {
		return fmt.Errorf("shared memory %q: %w", "records", err)
	}
	event, err := in.File("wake")
	if err != nil {
		return err
	}
	wake, err := shm.NewWaker(event)
	if err != nil {
		return err
	}
	e.proxy.Record(segment, wake)
	return nil
}

// loopCounters is where a loop counts.
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

// openMemory maps the three segments the engine shares with mgmt.
func openMemory(in inherit.Set, loops int) (page *snapshot.Page, board *health.Board, segment *stats.Segment, err error) {
	open := func(name string, use func(mem []byte) error) {
		if err != nil {
			return
		}
		var f *os.File
		if f, err = in.File(name); err != nil {
			return
		}
		var m *shm.Mapping
		if m, err = shm.MapShared(f, true); err != nil {
			return
		}
		if err = use(m.Bytes()); err != nil {
			err = fmt.Errorf("shared memory %q: %w", name, err)
		}
	}
	open("page", func(mem []byte) (err error) { page, err = snapshot.OpenPage(mem); return })
	open("board", func(mem []byte) (err error) { board, err = health.OpenBoard(mem); return })
	open("stats", func(mem []byte) (err error) { segment, err = stats.CreateSegment(mem, loops); return })
	return page, board, segment, err
}

func (e *engine) beat(ctx context.Context) {
	t := time.NewTicker(beatEvery)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-t.C:
			e.page.SetBeat(now)
		}
	}
}

// Hello implements link.Handler.
func (e *engine) Hello() link.Hello {
	return link.Hello{
		PID: os.Getpid(), Layout: snapshot.Layout, Generation: e.proxy.Generation(), Loops: len(e.loops),
		Listeners: e.proxy.Listeners(), Started: e.started,
	}
}

// Publish implements link.Handler. What does not check out changes nothing.
func (e *engine) Publish(file *os.File, opened map[string][]*os.File) link.Ack {
	defer closeAll(opened)
	generation, cfg, err := snapshot.Load(file)
	if err != nil {
		return e.refuse(generation, err)
	}
	if held := e.proxy.Generation(); generation <= held {
		return e.refuse(generation, fmt.Errorf("generation %d is not newer than %d, which is in use", generation, held))
	}
	problems, err := e.proxy.Publish(generation, cfg, opened)
	if err != nil {
		return e.refuse(generation, err)
	}
	e.page.SetAcknowledged(generation)
	return link.Ack{Generation: generation, Farms: problems, Listeners: e.proxy.Listeners()}
}

// Sessions implements link.Handler.
func (e *engine) Sessions(service uint32, limit int) (total int, list []link.Session) {
	total, found := e.proxy.Sessions(service, limit)
	for _, s := range found {
		list = append(list, link.Session(s))
	}
	return total, list
}

// Session implements link.Handler.
func (e *engine) Session(service uint32, key []byte) (link.Session, bool) {
	s, ok := e.proxy.Session(service, key)
	return link.Session(s), ok
}

// ChangeSessions implements link.Handler.
func (e *engine) ChangeSessions(c link.SessionChange) (changed int, err error) {
	switch c.Act {
	case link.DeleteSession:
		was, err := e.proxy.DeleteSession(c.Service, c.Key)
		if was {
			changed = 1
		}
		return changed, err
	case link.FlushSessions:
		return e.proxy.FlushSessions(c.Service)
	}
	return 0, fmt.Errorf("change %d of sessions is not known here", c.Act)
}

// Explain implements link.Handler.
func (e *engine) Explain(q explain.Question) (*explain.Explanation, error) {
	return e.proxy.Explain(&q)
}

func (e *engine) refuse(generation uint64, err error) link.Ack {
	slog.Warn("snapshot refused, the one in use stays", "generation", generation, "cause", err)
	e.page.SetRefused(generation)
	return link.Ack{Generation: generation, Refused: err.Error(), Listeners: e.proxy.Listeners()}
}

// closeAll closes the listeners that came with a snapshot; the loops hold
// duplicates of those they use.
func closeAll(opened map[string][]*os.File) {
	for _, files := range opened {
		for _, f := range files {
			_ = f.Close()
		}
	}
}
