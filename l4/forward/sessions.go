package forward

import (
	"bytes"
	"errors"
	"runtime"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/session"
)

// maxSessions bounds the sessions of one farm: a million, and the room it takes
// for all shards of the table to hold their part of them.
const maxSessions = 5 << 18

// rangeTurn is after how many sessions the counting lets others run.
const rangeTurn = 16 << 10

// Session is one persistence session: whoever has Key goes to that backend.
type Session struct {
	// Key is text, as operators write it: "10.0.0.1 . 4022".
	Key     []byte
	Backend uint32 // stable number
	// TTL is how long the session lives when it is not used again.
	TTL time.Duration
	// Static sessions are configuration; they have no TTL.
	Static bool
}

// What a question about sessions may be refused for.
var (
	// ErrNoFarm means that no farm that runs here has the number.
	ErrNoFarm  = errors.New("the farm does not run")
	errNoTable = errors.New("the farm keeps no sessions: set persistence first")
)

// Serves reports whether the farm with that number of sessions runs here.
func (e *Engine) Serves(service uint32) bool { return e.table.Load().service(service) != nil }

// Sessions tells how many sessions a farm has by which it would choose a backend
// now, and lists at most limit of them, the static ones first. A farm that does
// not run here has none. Any goroutine may call it: no connection waits for
// more than one shard of the sessions to be copied.
func (e *Engine) Sessions(id uint32, limit int) (total int, list []Session) {
	f, err := e.keeping(id)
	if err != nil {
		return 0, nil
	}
	honoured := map[uint32]bool{}
	for i := range f.backends {
		b := &f.backends[i]
		honoured[b.id] = b.mode != cut
		for _, key := range b.statics {
			if total++; len(list) < limit {
				list = append(list, Session{Key: []byte(key), Backend: b.id, Static: true})
			}
		}
	}
	now, looked := time.Now().UnixNano(), 0
	f.sessions.Range(func(s session.Session) bool {
		if looked++; looked%rangeTurn == 0 {
			runtime.Gosched()
		}
		if s.Static || now-s.Used > int64(f.persist.ttl) || !honoured[s.Backend] {
			return true
		}
		if total++; len(list) < limit {
			list = append(list, f.session(s, now))
		}
		return true
	})
	return total, list
}

// Session is the session of one key; false when there is none by which a
// backend would be chosen.
func (e *Engine) Session(service uint32, key []byte) (Session, bool) {
	f, err := e.keeping(service)
	if err != nil {
		return Session{}, false
	}
	now := time.Now().UnixNano()
	s, ok := f.sessions.Peek(key, now, f.persist.ttl)
	if i := f.find(s.Backend); !ok || i < 0 || f.backends[i].mode == cut && !s.Static {
		return Session{}, false
	}
	return f.session(s, now), true
}

// session is one of the table as it is shown.
func (f *farmTable) session(s session.Session, now int64) Session {
	out := Session{Key: bytes.Clone(s.Key), Backend: s.Backend, Static: s.Static}
	if !s.Static {
		out.TTL = min(f.persist.ttl-time.Duration(now-s.Used), f.persist.ttl)
	}
	return out
}

// DeleteSession forgets a session and reports whether there was one. Static
// ones stay: they are configuration.
func (e *Engine) DeleteSession(service uint32, key []byte) (bool, error) {
	f, err := e.keeping(service)
	if err != nil {
		return false, err
	}
	s, was := f.sessions.Peek(key, time.Now().UnixNano(), f.persist.ttl)
	if s.Static {
		return false, nil
	}
	f.sessions.Delete(key)
	return was, nil
}

// FlushSessions forgets all sessions of a farm but the static ones, and says how
// many there were.
func (e *Engine) FlushSessions(service uint32) (int, error) {
	f, err := e.keeping(service)
	if err != nil {
		return 0, err
	}
	return f.sessions.Flush(), nil
}

// LearnSessions makes clients known as if they had come themselves: those of
// backends that can be chosen, unless they are known already. It tells how many
// were.
func (e *Engine) LearnSessions(service uint32, list []Session) (learned int, err error) {
	f, err := e.keeping(service)
	if err != nil {
		return 0, err
	}
	now := time.Now().UnixNano()
	for _, s := range list {
		if i := f.find(s.Backend); s.Static || i < 0 || f.backends[i].mode == cut {
			continue
		}
		used := now - int64(max(0, f.persist.ttl-s.TTL))
		if _, added := f.sessions.PutIfAbsent(s.Key, s.Backend, used, f.persist.ttl); added {
			learned++
		}
	}
	return learned, nil
}

// keeping is the farm with that number, if it keeps sessions.
func (e *Engine) keeping(id uint32) (*farmTable, error) {
	f := e.table.Load().service(id)
	switch {
	case f == nil:
		return nil, ErrNoFarm
	case f.sessions == nil:
		return nil, errNoTable
	}
	return f, nil
}

// sessionsOf is what a table of sessions belongs to: keys of another kind mean
// nothing.
type sessionsOf struct {
	service uint32
	kind    farm.L4Persistence
}

// owner is the table's number in shared memory.
func (k sessionsOf) owner() uint64 { return session.Owner(k.service, "l4", string(k.kind)) }

// SessionOwners are the numbers of the tables of sessions that cfg has, those
// of farms that are stopped or in the kernel included.
func SessionOwners(cfg *farm.Config) (owners []uint64) {
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

// KeepSessions lets sessions lie in m, with those of an earlier engine. It is to
// be called before the first Publish.
func (e *Engine) KeepSessions(m *session.Memory) { e.registry.memory = m }

// sessionTable is the sessions of one farm.
type sessionTable struct {
	*session.Table
	// static holds the static sessions that were put into the table, with the
	// stable numbers of their backends.
	static map[string]uint32
}

// fix makes the static sessions those of the configuration.
func (r *registry) fix(t *table) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now().UnixNano()
	for _, f := range t.byID {
		if f.sessions != nil {
			r.tables[f.kept].fix(f, now)
		}
	}
}

func (t *sessionTable) fix(f *farmTable, now int64) {
	want := map[string]uint32{}
	for i := range f.backends {
		for _, key := range f.backends[i].statics {
			want[key] = f.backends[i].id
		}
	}
	for key := range t.static {
		if _, stays := want[key]; !stays {
			t.Delete([]byte(key))
		}
	}
	for key, id := range want {
		if t.static[key] != id {
			t.PutStatic([]byte(key), id, now)
		}
	}
	t.static = want
}

// dropCut removes the sessions of backends that were cut since the table
// before: unlike drain, cut keeps none but the static ones.
func (t *table) dropCut(before *table) {
	for _, f := range t.byID {
		for i := range f.backends {
			b := &f.backends[i]
			old := before.backends[b.id]
			if b.mode == cut && f.sessions != nil && (old == nil || old.mode != cut) {
				f.sessions.DropBackend(b.id)
			}
		}
	}
}

const (
	sweepEvery = 100 * time.Millisecond
	// sweepBudget is how many sessions of a farm one sweep looks at.
	sweepBudget = 512
)

// sweep forgets some of the sessions that expired, a few of each farm.
func (t *table) sweep() {
	now := time.Now().UnixNano()
	for _, f := range t.byID {
		if f.sessions != nil {
			f.sessions.Sweep(now, f.persist.ttl, sweepBudget)
		}
		if f.ids != nil {
			f.ids.table.Sweep(now, connIDTTL, sweepBudget)
		}
	}
}
