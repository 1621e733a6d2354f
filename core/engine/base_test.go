package engine_test

import (
	"errors"
	"maps"
	"net"
	"net/netip"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/engine"
	"github.com/sluicelb/sluice/core/enginetest"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/marks"
	"github.com/sluicelb/sluice/core/ports"
	"github.com/sluicelb/sluice/core/revive"
)

// echo is an engine of farms that do nothing but accept.
type echo struct {
	engine.Base[*hand]
	used  *table
	grace time.Duration
	full  []uint64 // generations every loop knew, when Used was called
}

// table is its table: the farm behind each port.
type table struct {
	of         *echo
	generation uint64
	farms      map[uint32]farm.Listener
	behind     map[*ports.Port]uint32
}

// hand is its worker: it counts how often it settled, and for how many ports that
// are over.
type hand struct {
	loop          *loop.Loop
	listeners     map[*ports.Port]*loop.Listener
	settled, over atomic.Int64
	busy          atomic.Int64
}

func newEcho(t *testing.T) (*echo, *enginetest.House) {
	t.Helper()
	h := enginetest.New(t, 2)
	t.Cleanup(func() { h.End(t, func() {}) })
	e := &echo{Base: engine.Base[*hand]{
		Board: h.Board, Segment: h.Segment, Prober: revive.New(h.Loops, h.Board, h.Logger()), Marks: marks.NewUser("echo", func() error { return nil }),
	}}
	t.Cleanup(e.Prober.Close)
	for _, l := range h.Loops {
		e.Workers = append(e.Workers, &hand{loop: l, listeners: map[*ports.Port]*loop.Listener{}})
	}
	e.used = e.table(0)
	e.Profile = e
	e.Start()
	return e, h
}

func (e *echo) table(generation uint64) *table {
	return &table{of: e, generation: generation, farms: map[uint32]farm.Listener{}, behind: map[*ports.Port]uint32{}}
}

func (e *echo) Kinds(*farm.Config) []marks.Kind { return nil }
func (e *echo) Generation() uint64              { return e.used.generation }
func (e *echo) Current() engine.Table           { return e.used }
func (e *echo) Empty() engine.Table             { return e.table(e.used.generation) }

func (e *echo) Compile(generation uint64, _ bool, cfg *farm.Config, _ map[marks.Kind]error) (engine.Table, map[uint32]error) {
	t, bad := e.table(generation), map[uint32]error{}
	for _, f := range cfg.Farms {
		if f.Name == "bad" {
			bad[f.ID] = errors.New("it is bad")
			continue
		}
		t.farms[f.ID] = f.Listeners()[0]
	}
	return t, bad
}

func (t *table) Listeners() map[uint32][]farm.Listener {
	all := map[uint32][]farm.Listener{}
	for id, l := range t.farms {
		all[id] = []farm.Listener{l}
	}
	return all
}

func (t *table) Place(p *ports.Port, farm uint32)    { t.behind[p] = farm }
func (t *table) Reached() map[uint32]*revive.Backend { return nil }
func (t *table) Kinds() []marks.Kind                 { return nil }
func (t *table) Use()                                { t.of.used = t }
func (t *table) Behind(p *ports.Port) (bool, time.Duration) {
	_, is := t.behind[p]
	return is, t.of.grace
}

func (t *table) Used(*farm.Config) {
	for _, w := range t.of.Workers {
		t.of.full = append(t.of.full, uint64(w.settled.Load()))
	}
}

func (h *hand) Loop() *loop.Loop { return h.loop }
func (h *hand) Post(fn func())   { h.loop.Post(fn) }
func (h *hand) Busy() int        { return int(h.busy.Load()) }

func (h *hand) Settle(over map[*ports.Port]bool) {
	h.settled.Add(1)
	h.over.Add(int64(len(over)))
}

func (h *hand) Listen(p *ports.Port, f *os.File) error {
	ln, err := h.loop.Listen(f, func(c *loop.Conn) { c.Close() })
	h.listeners[p] = ln
	return err
}

func (h *hand) Unlisten(p *ports.Port) {
	h.listeners[p].Close()
	delete(h.listeners, p)
}

func (h *hand) Socket(p *ports.Port) (*os.File, error) { return h.listeners[p].File() }

// at makes a farm of that number at an address of its own.
func at(t *testing.T, h *enginetest.House, id uint32) farm.Farm {
	to := h.Listen(t, "127.0.0.1")
	return farm.Farm{ID: id, Name: "good", VIP: to.Addr(), VPort: to.Port(), HTTP: &farm.HTTP{}}
}

func TestAConfigurationComesIntoUseOnAllLoops(t *testing.T) {
	e, h := newEcho(t)
	f := at(t, h, 3)
	problems, err := e.Publish(1, &farm.Config{Farms: []farm.Farm{f}}, maps.Clone(h.Files))
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	if len(e.full) != 2 || e.full[0] != 1 || e.full[1] != 1 || len(e.Listeners()) != 1 {
		t.Errorf("settled %v, listens on %v", e.full, e.Listeners())
	}
	c, err := net.Dial("tcp", netip.AddrPortFrom(f.VIP, f.VPort).String())
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
	plan, err := e.Prepare(2, &farm.Config{Farms: []farm.Farm{f, at(t, h, 4)}})
	if err != nil || len(plan.Needs()) != 1 {
		t.Errorf("%v, needs %v", err, plan.Needs())
	}
	plan.Discard()
	if e.Generation() != 1 {
		t.Errorf("generation %d after a plan that was discarded", e.Generation())
	}
}

func TestABadFarmRefusesAChangeButNotTheFirst(t *testing.T) {
	e, h := newEcho(t)
	good := at(t, h, 3)
	cfg := &farm.Config{Farms: []farm.Farm{good, {ID: 5, Name: "bad"}}}
	problems, err := e.Publish(1, cfg, maps.Clone(h.Files))
	if err != nil || problems[5] != "it is bad" || len(e.Listeners()) != 1 {
		t.Errorf("at first: %v, %v", err, problems)
	}
	if _, err := e.Publish(2, cfg, nil); err == nil || e.Generation() != 1 {
		t.Errorf("later: %v, generation %d", err, e.Generation())
	}
	if _, err := e.Publish(3, &farm.Config{Farms: []farm.Farm{good}}, nil); err != nil {
		t.Errorf("the next change: %v", err) // the refused one holds up nobody
	}
}

func TestWhatCameToAFarmThatIsGoneEndsAfterItsGrace(t *testing.T) {
	for _, grace := range []time.Duration{0, 50 * time.Millisecond} {
		e, h := newEcho(t)
		e.grace = grace
		if _, err := e.Publish(1, &farm.Config{Farms: []farm.Farm{at(t, h, 3)}}, maps.Clone(h.Files)); err != nil {
			t.Fatal(err)
		}
		if _, err := e.Publish(2, &farm.Config{}, nil); err != nil || len(e.Listeners()) != 0 {
			t.Fatalf("%v, listens on %v", err, e.Listeners())
		}
		if got := e.Workers[0].over.Load() > 0; got != (grace == 0) {
			t.Errorf("grace %v: ended at once %t", grace, got)
		}
		for end := time.Now().Add(10 * time.Second); e.Workers[1].over.Load() == 0; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("grace %v: it does not end", grace)
			}
		}
	}
}

func TestDrainingEndsWhenNothingIsUnderWay(t *testing.T) {
	e, h := newEcho(t)
	if _, err := e.Publish(1, &farm.Config{Farms: []farm.Farm{at(t, h, 3)}}, maps.Clone(h.Files)); err != nil {
		t.Fatal(err)
	}
	e.Workers[1].busy.Store(1)
	time.AfterFunc(50*time.Millisecond, func() { e.Workers[1].busy.Store(0) })
	e.Drain(time.Minute)
	if e.Workers[1].busy.Load() != 0 || len(e.Listeners()) != 0 || e.Generation() != 1 {
		t.Errorf("busy %d, listens on %v", e.Workers[1].busy.Load(), e.Listeners())
	}
	if !e.Stop() || e.Stop() {
		t.Error("it stops once")
	}
}
