package forward

import (
	"errors"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/session"
)

var (
	// ErrNoFarm means that no running farm has that number.
	ErrNoFarm  = errors.New("the farm does not run")
	errNoTable = errors.New("the farm keeps no sessions: set persistence first")
)

// RunsService implements engine.Engine.
func (e *Engine) RunsService(service uint32) bool { return e.table.Load().service(service) != nil }

// SessionsOf returns the current sessions of a farm. Keys are in text form: "10.0.0.1 .
// 4022". It is safe for concurrent use.
func (e *Engine) SessionsOf(service uint32) session.View {
	f := e.table.Load().service(service)
	switch {
	case f == nil:
		return session.View{Err: ErrNoFarm}
	case f.sessions == nil:
		return session.View{Err: errNoTable}
	}
	return f.view()
}

// clock returns the time for the farm's sessions; 0 without sessions.
func (f *farmTable) clock() int64 {
	if f.sessions == nil {
		return 0
	}
	return session.Now()
}

// view returns the farm's data for a view of its sessions.
func (f *farmTable) view() session.View {
	v := session.View{Table: f.sessions, TTL: f.persist.ttl, Backends: make([]session.Member, len(f.backends))}
	for i := range f.backends {
		b := &f.backends[i]
		v.Backends[i] = session.Member{ID: b.id, Cut: b.mode == cut, Static: b.statics}
	}
	return v
}

// sessionsOf identifies a session table. Keys of another kind are meaningless.
type sessionsOf struct {
	service uint32
	kind    farm.L4Persistence
}

// owner returns the table's number in shared memory.
func (k sessionsOf) owner() uint64 { return session.Owner(k.service, "l4", string(k.kind)) }

// SessionOwners returns the numbers of the session tables in cfg, including farms that are
// stopped or in the kernel.
func (e *Engine) SessionOwners(cfg *farm.Config) (owners []uint64) {
	for i := range cfg.Farms {
		if l := cfg.Farms[i].L4; l != nil {
			owners = append(owners, sessionsOf{l.ID, l.Persist}.owner())
			if l.QUIC {
				owners = append(owners, sessionsOf{l.ID, quicKind}.owner())
			}
		}
	}
	return owners
}

// KeepSessions places sessions in m, together with the sessions of an earlier engine. It must
// be called before the first Publish.
func (e *Engine) KeepSessions(m *session.Memory) { e.registries.memory = m }

// dropCut removes the sessions of backends that were cut since the previous table. In
// contrast to drain, cut keeps only static sessions.
func (t *table) dropCut(before *table) {
	for _, f := range t.Farms.Fresh {
		for i := range f.backends {
			b := &f.backends[i]
			old := before.backends.Of(b.id)
			if b.mode == cut && f.sessions != nil && (old == nil || old.mode != cut) {
				f.sessions.DropBackend(b.id)
			}
		}
	}
}

const (
	sweepEvery = 100 * time.Millisecond
	// sweepBudget is the number of sessions of a farm examined per sweep.
	sweepBudget = 512
)

// sweep removes some expired sessions of each farm.
func (t *table) sweep() {
	now := session.Now()
	for _, f := range t.ByID {
		if f.sessions != nil {
			f.sessions.Sweep(now, f.persist.ttl, sweepBudget)
		}
		if f.ids != nil {
			f.ids.table.Sweep(now, connIDTTL, sweepBudget)
		}
	}
}
