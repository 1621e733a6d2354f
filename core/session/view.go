package session

import (
	"bytes"
	"runtime"
	"time"
)

// rangeTurn is the number of sessions after which List yields the CPU. 16,384 take some
// hundred microseconds. Otherwise a loop could wait for the 10 ms after which the
// runtime preempts a goroutine.
const rangeTurn = 16 << 10

// View is a table under one configuration: the sessions that currently determine a
// backend. It is safe for concurrent use, but not meant for hot paths.
type View struct {
	Table    *Table
	TTL      time.Duration
	Backends []Member
	// Err is the reason why Table is nil.
	Err error
}

// Member is a backend that sessions may refer to.
type Member struct {
	ID  uint32 // stable number
	Cut bool   // only static sessions are honoured
	// Static are the keys of its static sessions.
	Static []string
}

// Shown is a session for display: clients with Key go to Backend.
type Shown struct {
	Key     []byte
	Backend uint32 // stable number
	// TTL is the remaining lifetime without use.
	TTL time.Duration
	// Static sessions belong to the configuration and have no TTL.
	Static bool
}

// List returns the number of sessions and at most limit of them: first the static ones,
// including those of cut backends, then the others in no order. It scans the whole
// table, but locks only one shard at a time.
func (v View) List(limit int) (total int, list []Shown) {
	if v.Table == nil {
		return 0, nil
	}
	honoured := map[uint32]bool{}
	for _, b := range v.Backends {
		honoured[b.ID] = !b.Cut
		for _, key := range b.Static {
			if total++; len(list) < limit {
				list = append(list, Shown{Key: []byte(key), Backend: b.ID, Static: true})
			}
		}
	}
	now, looked := Now(), 0
	v.Table.Range(func(s Session) bool {
		if looked++; looked%rangeTurn == 0 {
			runtime.Gosched()
		}
		if s.Static || now-s.Used > int64(v.TTL) || !honoured[s.Backend] {
			return true
		}
		if total++; len(list) < limit {
			list = append(list, v.show(s, now))
		}
		return true
	})
	return total, list
}

// Find returns the session of one key; false if there is none.
func (v View) Find(key []byte) (Shown, bool) {
	if v.Table == nil {
		return Shown{}, false
	}
	now := Now()
	s, ok := v.Table.Peek(key, now, v.TTL)
	if b := v.member(s.Backend); !ok || b == nil || b.Cut && !s.Static {
		return Shown{}, false
	}
	return v.show(s, now), true
}

// Forget removes a session and reports whether it existed. Static sessions remain.
func (v View) Forget(key []byte) (bool, error) {
	if v.Table == nil {
		return false, v.Err
	}
	s, was := v.Table.Peek(key, Now(), v.TTL)
	if s.Static {
		return false, nil
	}
	v.Table.Delete(key)
	return was, nil
}

// Flush removes all sessions except static ones and returns their number.
func (v View) Flush() (int, error) {
	if v.Table == nil {
		return 0, v.Err
	}
	return v.Table.Flush(), nil
}

// Learn adds sessions as if the clients had connected here. It skips existing sessions
// and sessions of backends that cannot be chosen. It returns the number added.
func (v View) Learn(list []Shown) (learned int, err error) {
	if v.Table == nil {
		return 0, v.Err
	}
	now := Now()
	for _, s := range list {
		if b := v.member(s.Backend); s.Static || b == nil || b.Cut {
			continue
		}
		used := now - int64(max(0, v.TTL-s.TTL))
		if _, added := v.Table.PutIfAbsent(s.Key, s.Backend, used, v.TTL); added {
			learned++
		}
	}
	return learned, nil
}

func (v View) show(s Session, now int64) Shown {
	out := Shown{Key: bytes.Clone(s.Key), Backend: s.Backend, Static: s.Static}
	if !s.Static {
		out.TTL = min(v.TTL-time.Duration(now-s.Used), v.TTL)
	}
	return out
}

// member returns the backend with that number, or nil.
func (v View) member(id uint32) *Member {
	for i := range v.Backends {
		if v.Backends[i].ID == id {
			return &v.Backends[i]
		}
	}
	return nil
}

// keptMost is the maximum number of sessions of one service: a million, plus the room
// needed because shards fill unevenly.
const keptMost = 5 << 18

// Kept holds the sessions of one service across configurations.
type Kept struct {
	*Table
	// static holds the static sessions in the table, with the stable numbers of their
	// backends.
	static map[string]uint32
}

// NewKept is NewIn with room for keptMost sessions.
func NewKept(m *Memory, owner uint64) *Kept { return &Kept{Table: NewIn(m, owner, keptMost)} }

// Fix replaces the static sessions by the Static keys of backends. It is not safe for
// concurrent use.
func (k *Kept) Fix(backends []Member) {
	now, want := Now(), map[string]uint32{}
	for _, b := range backends {
		for _, key := range b.Static {
			want[key] = b.ID
		}
	}
	for key := range k.static {
		if _, stays := want[key]; !stays {
			k.Delete([]byte(key))
		}
	}
	for key, id := range want {
		if k.static[key] != id {
			k.PutStatic([]byte(key), id, now)
		}
	}
	k.static = want
}
