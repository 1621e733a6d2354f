package server

import (
	"crypto/rand"
	"encoding/binary"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/sluicelb/sluice/core/engine"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/geoip"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/marks"
	"github.com/sluicelb/sluice/core/registry"
	"github.com/sluicelb/sluice/core/rejection"
	"github.com/sluicelb/sluice/core/revive"
	"github.com/sluicelb/sluice/core/session"
	"github.com/sluicelb/sluice/core/stats"
	"github.com/sluicelb/sluice/core/tlsconf"
)

// Engine carries the gslb farms on the given loops, beside the engines of other farms.
type Engine struct {
	engine.Base[*worker]
	table    atomic.Pointer[table]
	kept     registry.Map[uint32, kept] // by farm
	secret   [2]uint64                  // of cookies
	tls      *tlsconf.Store
	places   atomic.Pointer[geoip.Table]
	compiled int         // tables since the one in use
	known    []farm.Farm // of the configuration in use, never modified
	log      *slog.Logger

	rejections *rejection.Log
}

// New returns an engine without farms. Each loop counts in the shard of its position.
func New(loops []*loop.Loop, healthTable *health.Table, segment *stats.Segment, log *slog.Logger) *Engine {
	e := &Engine{
		Base: engine.Base[*worker]{Health: healthTable, Segment: segment, Prober: revive.New(loops, healthTable, log), Marks: marks.NewUser("dns", loop.CanMark)},
		kept: registry.Map[uint32, kept]{Make: newKept}, tls: tlsconf.NewStore(tlsconf.Options{Prepare: loop.Prepare}), log: log,
		rejections: rejection.New(log, len(loops), "zone-transfer"),
	}
	var seed [24]byte
	_, _ = rand.Read(seed[:]) // never fails
	e.secret = [2]uint64{binary.LittleEndian.Uint64(seed[:]), binary.LittleEndian.Uint64(seed[8:])}
	for i, l := range loops {
		random := binary.LittleEndian.Uint64(seed[16:]) + uint64(i)
		e.Workers = append(e.Workers, newWorker(e, l, segment.Shard(i), e.rejections.Recorder(i), random))
	}
	e.Profile = e
	e.Start()
	e.table.Store(&table{engine: e})
	return e
}

// UsePlaces sets the table of client locations, from the next publication on.
func (e *Engine) UsePlaces(t *geoip.Table) { e.places.Store(t) }

// Places returns that table, or nil.
func (e *Engine) Places() *geoip.Table { return e.places.Load() }

// Close stops the engine except the loops, which belong to the caller.
func (e *Engine) Close() {
	if e.Stop() {
		e.Prober.Close()
		e.rejections.Close()
	}
}

// Handles implements engine.Engine.
func (e *Engine) Handles(f *farm.Farm) bool { return f.Global != nil }

// Generation implements engine.Profile.
func (e *Engine) Generation() uint64 { return e.table.Load().generation }

// Current implements engine.Profile.
func (e *Engine) Current() engine.Table { return e.table.Load() }

// Empty implements engine.Profile.
func (e *Engine) Empty() engine.Table { return &table{engine: e, generation: e.Generation()} }

// Compile implements engine.Profile.
func (e *Engine) Compile(generation uint64, _ bool, cfg *farm.Config, _ map[marks.Kind]error) (engine.Table, map[uint32]error) {
	e.compiled++
	return e.compile(generation, cfg)
}

// RunsFarm implements engine.Engine.
func (e *Engine) RunsFarm(id uint32) bool { return e.table.Load().ByID[id] != nil }

// RunsService implements engine.Engine. Clients of a gslb farm have no sessions.
func (e *Engine) RunsService(uint32) bool { return false }

// SessionsOf implements engine.Engine.
func (e *Engine) SessionsOf(uint32) session.View { return session.View{} }

// SessionOwners implements engine.Engine.
func (e *Engine) SessionOwners(*farm.Config) []uint64 { return nil }

// KeepSessions implements engine.Engine.
func (e *Engine) KeepSessions(*session.Memory) {}

// grace is how long TCP connections may continue after their farm is gone, to finish an
// answer.
const grace = 2 * time.Second
