package proxy

import (
	"bytes"
	"errors"
	"runtime"
	"time"

	"github.com/sluicelb/sluice/core/session"
)

// Session is one persistence session: whoever sends Key goes to that backend.
type Session struct {
	Key     []byte
	Backend uint32 // stable number
	// TTL is how long the session lives when it is not used again.
	TTL time.Duration
	// Static sessions are configuration; they have no TTL.
	Static bool
}

// rangeTurn is after how many sessions the counting lets others run: 16,384
// take some hundred microseconds, a loop would otherwise wait the 10 ms after
// which the runtime interrupts a goroutine.
const rangeTurn = 16 << 10

// Sessions tells how many sessions a service has by which it would choose a
// backend now, and lists at most limit of them: the static ones first, while
// their backend is cut, too, the others in no order. A service of a farm that
// is stopped has none. Any goroutine may call it: it looks at every session,
// but no exchange waits for more than one shard of them to be copied.
func (e *Engine) Sessions(id uint32, limit int) (total int, list []Session) {
	sv := e.table.Load().service(id)
	if sv == nil || sv.sessions == nil {
		return 0, nil
	}
	honoured := map[uint32]bool{}
	for i := range sv.backends {
		b := &sv.backends[i]
		honoured[b.id] = b.mode != modeCut
		for _, key := range b.statics {
			if total++; len(list) < limit {
				list = append(list, Session{Key: []byte(key), Backend: b.id, Static: true})
			}
		}
	}
	now, looked := time.Now().UnixNano(), 0
	sv.sessions.Range(func(s session.Session) bool {
		if looked++; looked%rangeTurn == 0 {
			runtime.Gosched()
		}
		if s.Static || now-s.Used > int64(sv.persist.ttl) || !honoured[s.Backend] {
			return true
		}
		if total++; len(list) < limit {
			list = append(list, sv.session(s, now))
		}
		return true
	})
	return total, list
}

// What a change of sessions may be refused for.
var (
	errNoService = errors.New("the service does not run")
	errNoTable   = errors.New("the service keeps no sessions: set persistence first")
)

// Session is the session of one key; false when there is none by which a
// backend would be chosen.
func (e *Engine) Session(service uint32, key []byte) (Session, bool) {
	sv, err := e.keeping(service)
	if err != nil {
		return Session{}, false
	}
	now := time.Now().UnixNano()
	s, ok := sv.sessions.Peek(key, now, sv.persist.ttl)
	if i := sv.find(s.Backend); !ok || i < 0 || sv.backends[i].mode == modeCut && !s.Static {
		return Session{}, false
	}
	return sv.session(s, now), true
}

// session is one of the table as it is shown.
func (sv *service) session(s session.Session, now int64) Session {
	out := Session{Key: bytes.Clone(s.Key), Backend: s.Backend, Static: s.Static}
	if !s.Static {
		out.TTL = min(sv.persist.ttl-time.Duration(now-s.Used), sv.persist.ttl)
	}
	return out
}

// DeleteSession forgets a session and reports whether there was one. Static
// ones stay: they are configuration.
func (e *Engine) DeleteSession(service uint32, key []byte) (bool, error) {
	sv, err := e.keeping(service)
	if err != nil {
		return false, err
	}
	s, was := sv.sessions.Peek(key, time.Now().UnixNano(), sv.persist.ttl)
	if s.Static {
		return false, nil
	}
	sv.sessions.Delete(key)
	return was, nil
}

// FlushSessions forgets all sessions of a service but the static ones, and
// says how many there were.
func (e *Engine) FlushSessions(service uint32) (int, error) {
	sv, err := e.keeping(service)
	if err != nil {
		return 0, err
	}
	return sv.sessions.Flush(), nil
}

// keeping is the service with that number, if it keeps sessions.
func (e *Engine) keeping(id uint32) (*service, error) {
	sv := e.table.Load().service(id)
	switch {
	case sv == nil:
		return nil, errNoService
	case sv.sessions == nil:
		return nil, errNoTable
	}
	return sv, nil
}

// service is the service with that number, nil when no farm that runs has it.
func (t *table) service(id uint32) *service {
	for _, f := range t.byID {
		for i := range f.services {
			if f.services[i].id == id {
				return &f.services[i]
			}
		}
	}
	return nil
}
