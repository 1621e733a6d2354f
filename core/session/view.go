package session

import (
	"bytes"
	"runtime"
	"time"
)

// rangeTurn is after how many sessions the counting lets others run: 16,384
// take some hundred microseconds, a loop would otherwise wait the 10 ms after
// which the runtime interrupts a goroutine.
const rangeTurn = 16 << 10

// View is what one configuration makes of a table: the sessions by which a
// backend would be chosen now. Any goroutine may call its methods; none is for a
// hot path.
type View struct {
	Table    *Table
	TTL      time.Duration
	Backends []Member
	// Err is why there is no Table.
	Err error
}

// Member is one of the backends sessions may name.
type Member struct {
	ID  uint32 // stable number
	Cut bool   // only its static sessions count
	// Static are the keys of its static sessions.
	Static []string
}

// Shown is a session as it is shown: whoever has Key goes to that backend.
type Shown struct {
	Key     []byte
	Backend uint32 // stable number
	// TTL is how long the session lives when it is not used again.
	TTL time.Duration
	// Static sessions are configuration; they have no TTL.
	Static bool
}

// List tells how many sessions there are, and lists at most limit of them: the
// static ones first, those of cut backends, too, the others in no order. It
// looks at every session, but nobody waits for more than one shard of them to
// be copied.
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

// Find is the session of one key; false when there is none.
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

// Forget removes a session and reports whether there was one. Static ones stay.
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

// Flush removes all sessions but the static ones, and says how many there were.
func (v View) Flush() (int, error) {
	if v.Table == nil {
		return 0, v.Err
	}
	return v.Table.Flush(), nil
}

// Learn makes clients known as if they had come themselves: those of backends
// that can be chosen, unless they are known already. It tells how many were.
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

// member is the backend with that number, nil when it is gone.
func (v View) member(id uint32) *Member {
	for i := range v.Backends {
		if v.Backends[i].ID == id {
			return &v.Backends[i]
		}
	}
	return nil
}

// keptMost bounds the sessions of one service: a million, and the room it takes
// for all of its shards to hold their part of them.
const keptMost = 5 << 18

// Kept is the sessions of one service, from one configuration to the next.
type Kept struct {
	*Table
	// static holds the static sessions that were put into the table, with the
	// stable numbers of their backends.
	static map[string]uint32
}

// NewKept is NewIn with room for all sessions of a service.
func NewKept(m *Memory, owner uint64) *Kept { return &Kept{Table: NewIn(m, owner, keptMost)} }

// Fix makes the static sessions those of the backends. It is for one goroutine
// at a time.
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
