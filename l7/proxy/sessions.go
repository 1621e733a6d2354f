package proxy

import (
	"bytes"
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
}

// rangeTurn is after how many sessions the counting lets others run: 16,384
// take some hundred microseconds, a loop would otherwise wait the 10 ms after
// which the runtime interrupts a goroutine.
const rangeTurn = 16 << 10

// Sessions tells how many sessions a service has by which it would choose a
// backend now, and lists at most limit of them, in no order. A service of a
// farm that is stopped has none. Any goroutine may call it: it looks at every
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
		left := sv.persist.ttl - time.Duration(now-s.Used)
		if left < 0 || !honoured[s.Backend] {
			return true
		}
		if total++; len(list) < limit {
			list = append(list, Session{Key: bytes.Clone(s.Key), Backend: s.Backend, TTL: min(left, sv.persist.ttl)})
		}
		return true
	})
	return total, list
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
