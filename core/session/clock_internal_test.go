package session

import (
	"testing"
	"time"
)

// The system clock differs by an hour from its value at process start, because it was
// set.
func TestSystemClockChangesDoNotAffectSessions(t *testing.T) {
	began := process.unix
	defer func() { process.unix = began }()
	for _, by := range []time.Duration{time.Hour, -time.Hour} {
		process.unix = began - int64(by)
		if off := time.Duration(time.Now().UnixNano()-Now()) - by; off.Abs() > time.Minute {
			t.Errorf("by %s: the time is %s off that of the process", by, off)
		}
		table, key := New(10), []byte("client")
		table.Put(key, 7, Now())
		v := View{Table: table, TTL: time.Minute, Backends: []Member{{ID: 7}}}
		if s, ok := v.Find(key); !ok || s.TTL > time.Minute || s.TTL < 50*time.Second {
			t.Errorf("by %s: %v %+v", by, ok, s)
		}
		if n, _ := v.List(10); n != 1 {
			t.Errorf("by %s: %d sessions are listed", by, n)
		}
		if n, err := v.Learn([]Shown{{Key: []byte("other"), Backend: 7, TTL: time.Second}, {Key: key, Backend: 7, TTL: time.Second}}); n != 1 || err != nil {
			t.Errorf("by %s: got %d learned, %v, want 1", by, n, err)
		}
		if gone := table.Sweep(Now(), time.Minute, 100); gone != 0 || table.Len() != 2 {
			t.Errorf("by %s: %d swept", by, gone)
		}
		if _, ok := table.Get(key, Now(), time.Minute); !ok {
			t.Errorf("by %s: the session is gone", by)
		}
	}
}
