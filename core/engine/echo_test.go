package engine_test

import (
	"errors"
	"maps"
	"net/netip"
	"os"
	"slices"
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

// echo is an engine of farms that only accept. It handles farms whose name does not begin
// with "other".
type echo struct {
	engine.Base[*hand]
	used       *table
	grace      time.Duration // of its farms
	reconciled []int64       // per loop, when Used was called
	asked      int           // calls of Marks
	unable     error         // their result
	knows      bool          // tracks changes between tables
}

// table is the echo engine's table: the farm of each port.
type table struct {
	of         *echo
	generation uint64
	farms      map[uint32]farm.Listener
	behind     map[*ports.Port]uint32
	backends   map[uint32]*revive.Backend
	kinds      []marks.Kind
	changes    *engine.Changes
}

// hand is the echo engine's worker. It counts calls of Reconcile, and the ports whose grace
// period is over.
type hand struct {
	loop             *loop.Loop
	listeners        map[*ports.Port]*loop.Listener
	reconciled, over atomic.Int64
	busy             atomic.Int64
}

func newEcho(t *testing.T) (*echo, *enginetest.House) {
	t.Helper()
	h := enginetest.New(t, 2)
	t.Cleanup(func() { h.End(t, func() {}) })
	e := &echo{Base: engine.Base[*hand]{
		Health: h.Health, Segment: h.Segment, Prober: revive.New(h.Loops, h.Health, h.Logger()),
	}}
	e.Marks = marks.NewUser("echo", func() error { e.asked++; return e.unable })
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
	return &table{of: e, generation: generation, farms: map[uint32]farm.Listener{}, behind: map[*ports.Port]uint32{}, backends: map[uint32]*revive.Backend{}}
}

func (e *echo) Handles(f *farm.Farm) bool { return f.Name != "other" }
func (e *echo) Generation() uint64        { return e.used.generation }
func (e *echo) Current() engine.Table     { return e.used }
func (e *echo) Empty() engine.Table       { return e.table(e.used.generation) }

func (e *echo) Compile(generation uint64, _ bool, cfg *farm.Config, missing map[marks.Kind]error) (engine.Table, map[uint32]error) {
	t, bad := e.table(generation), map[uint32]error{}
	for i := range cfg.Farms {
		f := &cfg.Farms[i]
		if f.Name == "bad" {
			bad[f.ID] = errors.New("it is bad")
		}
		needs := marks.Needed(f)
		for _, k := range needs {
			if why := missing[k]; why != nil {
				bad[f.ID] = why
			}
		}
		if bad[f.ID] != nil || !e.Handles(f) {
			continue
		}
		t.farms[f.ID], t.kinds = f.Listeners()[0], append(t.kinds, needs...)
		for _, s := range f.HTTP.Services {
			for _, b := range s.Backends {
				t.backends[b.ID] = &revive.Backend{ID: b.ID, Addr: netip.AddrPortFrom(b.Addr, b.Port), Timeout: time.Second, Every: 10 * time.Millisecond}
			}
		}
	}
	if e.knows {
		t.follow(e.used)
	}
	return t, bad
}

// follow takes over the ports of unchanged farms.
func (t *table) follow(before *table) {
	t.changes = &engine.Changes{Came: map[uint32][]farm.Listener{}}
	for id, l := range t.farms {
		if before.farms[id] != l {
			t.changes.Came[id] = []farm.Listener{l}
		}
	}
	for p, id := range before.behind {
		if l, is := t.farms[id]; is && before.farms[id] == l {
			t.behind[p] = id
		}
	}
	for id := range before.farms {
		if _, is := t.farms[id]; !is {
			t.changes.Gone = append(t.changes.Gone, id)
		}
	}
}

func (t *table) Listeners() map[uint32][]farm.Listener {
	all := map[uint32][]farm.Listener{}
	for id, l := range t.farms {
		all[id] = []farm.Listener{l}
	}
	return all
}

func (t *table) Bind(p *ports.Port, farm uint32)   { t.behind[p] = farm }
func (t *table) Reached(id uint32) *revive.Backend { return t.backends[id] }
func (t *table) Fresh() []*revive.Backend          { return slices.Collect(maps.Values(t.backends)) }
func (t *table) Changes() *engine.Changes          { return t.changes }
func (t *table) Kinds() []marks.Kind               { return t.kinds }
func (t *table) Use()                              { t.of.used = t }

func (t *table) Behind(p *ports.Port) (bool, time.Duration) {
	if t.behind[p] == 0 {
		return false, 0
	}
	return true, t.of.grace
}

func (t *table) Used(*farm.Config) {
	t.of.reconciled = nil
	for _, w := range t.of.Workers {
		t.of.reconciled = append(t.of.reconciled, w.reconciled.Load())
	}
}

func (h *hand) Loop() *loop.Loop { return h.loop }
func (h *hand) Post(fn func())   { h.loop.Post(fn) }
func (h *hand) Busy() int        { return int(h.busy.Load()) }

func (h *hand) Reconcile(over map[*ports.Port]bool) {
	h.reconciled.Add(1)
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

// at returns a farm with this number, its own address and these backends.
func at(t *testing.T, h *enginetest.House, id uint32, backends ...farm.Backend) farm.Farm {
	to := h.Listen(t, "127.0.0.1")
	return farm.Farm{ID: id, Name: "good", VIP: to.Addr(), VPort: to.Port(), HTTP: &farm.HTTP{Services: []farm.Service{{Backends: backends}}}}
}

// marked returns a farm whose backend connections have a mark.
func marked(t *testing.T, h *enginetest.House, id, mark uint32) farm.Farm {
	return at(t, h, id, farm.Backend{ID: id, Addr: netip.MustParseAddr("127.0.0.1"), Port: 9, Mark: mark})
}

// within fails the test if do does not end within ten seconds. It detects a lock that was not
// released.
func within(t *testing.T, do func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("a lock was not released")
	}
}

// within checks that the engine's lock is released after do.
func (e *echo) within(t *testing.T, do func()) {
	t.Helper()
	within(t, func() {
		do()
		e.Listeners()
	})
}

// publish is Publish with a time limit.
func (e *echo) publish(t *testing.T, h *enginetest.House, generation uint64, farms ...farm.Farm) (problems map[uint32]string, err error) {
	t.Helper()
	e.within(t, func() { problems, err = e.Publish(generation, &farm.Config{Farms: farms}, h.Files) })
	return problems, err
}
