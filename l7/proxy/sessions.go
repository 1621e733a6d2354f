package proxy

import (
	"bytes"
	"errors"
	"fmt"
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
	// Static sessions were made by an operator and live until they are deleted;
	// they have no TTL.
	Static bool
}

// rangeTurn is after how many sessions the counting lets others run: 16,384
// take some hundred microseconds, a loop would otherwise wait the 10 ms after
// which the runtime interrupts a goroutine.
const rangeTurn = 16 << 10

// Sessions tells how many sessions a service has by which it would choose a
// backend now, and lists at most limit of them, in no order. Static ones are
// among them while their backend is cut, too. A service of a farm that is
// stopped has none. Any goroutine may call it: it looks at every
// session, but no exchange waits for more than one shard of them to be copied.
func (e *Engine) Sessions(id uint32, limit int) (total int, list []Session) {
	sv := e.table.Load().service(id)
	if sv == nil || sv.sessions == nil {
		return 0, nil
	}
	honoured := map[uint32]bool{}
	for i := range sv.backends {
		honoured[sv.backends[i].id] = sv.backends[i].mode != modeCut
	}
	now, looked := time.Now().UnixNano(), 0
	sv.sessions.Range(func(s session.Session) bool {
		if looked++; looked%rangeTurn == 0 {
			runtime.Gosched()
		}
		left := min(sv.persist.ttl-time.Duration(now-s.Used), sv.persist.ttl)
		if s.Static {
			left = 0
		} else if left < 0 || !honoured[s.Backend] {
			return true
		}
		if total++; len(list) < limit {
			list = append(list, Session{Key: bytes.Clone(s.Key), Backend: s.Backend, TTL: left, Static: s.Static})
		}
		return true
	})
	return total, list
}

// What a change of sessions may be refused for.
var (
	errNoService = errors.New("the service does not run")
	errNoTable   = errors.New("the service keeps no sessions: set persistence first")
	errNoBackend = errors.New("the service has no such backend")
	errKey       = fmt.Errorf("a session is from 1 to %d bytes long", session.MaxKey)
	errFull      = errors.New("there is no room for another static session")
)

// PutSession makes whoever sends key go to that backend until the session is
// deleted. Like the other changes it may be made on any goroutine, and is
// forgotten with the engine.
func (e *Engine) PutSession(service uint32, key []byte, backend uint32) error {
	sv, err := e.keeping(service)
	switch {
	case err != nil:
		return err
	case sv.find(backend) < 0:
		return errNoBackend
	case len(key) == 0 || len(key) > session.MaxKey:
		return errKey
	case !sv.sessions.PutStatic(key, backend, time.Now().UnixNano()):
		return errFull
	}
	return nil
}

// DeleteSession forgets a session and reports whether there was one.
func (e *Engine) DeleteSession(service uint32, key []byte) (bool, error) {
	sv, err := e.keeping(service)
	if err != nil {
		return false, err
	}
	_, was := sv.sessions.Peek(key, time.Now().UnixNano(), sv.persist.ttl)
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
