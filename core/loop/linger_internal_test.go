package loop

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// arrives moves the clock of the loop and lets the peer send a byte.
func (s *single) arrives(after time.Duration) {
	s.l.base = s.l.base.Add(-after)
	s.l.tick()
	_, _ = s.peer.Write([]byte{0})
	s.l.serve(s.c, unix.EPOLLIN)
}

// left returns the time until the deadline.
func (s *single) left() time.Duration { return time.Duration(s.c.timer.deadline - s.l.Now()) }

// A peer that still sends has more time, up to a limit.
func TestAPeerThatStillSendsHasMoreTime(t *testing.T) {
	s := newSingle(t)
	s.c.LingerActive(int64(time.Hour), int64(3*time.Hour))
	within := func(most time.Duration) {
		t.Helper()
		if left := s.left(); s.c.flags&flagClosed != 0 || left > most || left < most-10*time.Minute {
			t.Fatalf("it has %v, want %v; flags %b", left, most, s.c.flags)
		}
	}
	within(time.Hour)
	s.arrives(50 * time.Minute)
	within(time.Hour)
	s.arrives(50 * time.Minute)
	within(time.Hour)
	s.arrives(50 * time.Minute)
	within(30 * time.Minute)
	if s.c.expire(); s.c.flags&flagClosed == 0 || len(s.l.lingers) != 0 {
		t.Errorf("it has no end: flags %b, %d recorded", s.c.flags, len(s.l.lingers))
	}
	s = newSingle(t)
	s.l.lingers = map[*Conn]lingering{}
	for n := range lingersMost {
		if may := s.l.MayLinger(); may != (n < lingersMost/2) {
			t.Fatalf("with %d connections a refused client may linger: %t", n, may)
		}
		s.l.lingers[new(Conn)] = lingering{}
	}
	s.c.LingerActive(int64(time.Hour), int64(3*time.Hour))
	s.arrives(50 * time.Minute)
	within(10 * time.Minute)
}
