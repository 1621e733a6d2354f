package loop

import (
	"crypto/tls"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// beginner returns an accepted connection whose client has started a handshake and then
// stalls.
func (s *single) beginner(t *testing.T) *single {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	b := &single{l: s.l, peer: os.NewFile(uintptr(fds[1]), "peer")}
	t.Cleanup(func() { _ = b.peer.Close() })
	_, _ = b.peer.Write([]byte{handshakeRecord, 3, 1})
	b.c = s.l.open(fds[0], s.c.peer, b, flagReadable|flagWet)
	b.c.Secure(Security{Config: &tls.Config{Certificates: []tls.Certificate{Certificate("P-256")}}})
	b.c.readable()
	return b
}

// Each turn starts eight handshakes, in FIFO order. Connections beyond both limits are
// rejected.
func TestLoopTurnStartsFewHandshakes(t *testing.T) {
	s := newSingle(t)
	l := s.l
	l.at(tickNanos)
	state := func(underWay, waiting int) {
		t.Helper()
		if u, w := l.Handshakes(); u != underWay || w != waiting {
			t.Fatalf("%d are under way and %d wait, want %d and %d", u, w, underWay, waiting)
		}
	}
	if l.shakes.most != 1024 || l.shakes.room != 4096 {
		t.Errorf("%d may be under way, %d wait", l.shakes.most, l.shakes.room)
	}
	if l.LimitHandshakes(-1, -1); l.shakes.most != 1 || l.shakes.room != 0 {
		t.Errorf("%d may be under way, %d wait", l.shakes.most, l.shakes.room)
	}
	l.LimitHandshakes(20, 14)
	var all []*single
	for range 22 {
		all = append(all, s.beginner(t))
	}
	state(8, 14)
	over := s.beginner(t)
	over.hears(t, "connected")
	if *l.count.HandshakesRefused != 1 || over.c.flags&flagClosed == 0 {
		t.Errorf("%d were refused", *l.count.HandshakesRefused)
	}
	l.runAgain()
	state(16, 6)
	l.runAgain()
	state(20, 2)
	l.runAgain()
	state(20, 2)
	for i, b := range all {
		if h := b.c.secure.shake; h.flies != (i < 20) || h.waits != (i >= 20) {
			t.Errorf("%d has its turn too early: %t", i, h.flies)
		}
		b.hears(t)
	}
	// A waiting connection wakes the loop only when it leaves.
	all[20].c.shake()
	state(20, 2)
	l.called = false
	if all[5].c.Close(); !l.called {
		t.Error("a waiting listener is not called after one made room")
	}
	state(19, 2)
	l.runAgain()
	state(20, 1)
	_ = all[21].peer.Close()
	l.serve(all[21].c, unix.EPOLLIN|unix.EPOLLRDHUP|unix.EPOLLHUP)
	all[21].hears(t, "connected")
	state(20, 0)
	all[7].c.Linger(alertTime) // the peer has nothing left to read
	if all[7].hears(t); all[7].c.flags&flagClosed == 0 {
		t.Error("a handshake lingers")
	}
	failed := *l.count.HandshakesFailed
	l.called = false
	if all[6].c.Close(); l.called || failed != 1 {
		t.Errorf("a listener is called although none waits; %d failed", failed)
	}
}

// While others wait, the oldest handshake is aborted after three seconds, not earlier.
func TestTheOldestHandshakeMakesRoom(t *testing.T) {
	s := newSingle(t)
	l := s.l
	l.at(10 * tickNanos)
	l.LimitHandshakes(2, 2)
	first := s.beginner(t)
	l.at(12 * tickNanos)
	second := s.beginner(t)
	l.at(20 * tickNanos)
	third := s.beginner(t)
	if timer := l.shakes.timer; timer.deadline != 40*tickNanos {
		t.Fatalf("they are looked at after %d", timer.deadline)
	}
	fourth := s.beginner(t)
	l.at(39 * tickNanos)
	l.shakes.hurry()
	first.hears(t)
	l.at(41 * tickNanos)
	l.expire()
	first.hears(t, "connected")
	second.hears(t)
	l.runAgain()
	if h := third.c.secure.shake; !h.flies || h.since != 41*tickNanos || fourth.c.secure.shake.flies {
		t.Error("the first that waited has no turn")
	}
	if timer := l.shakes.timer; timer.deadline != 42*tickNanos {
		t.Errorf("they are looked at after %d", timer.deadline)
	}
	l.at(43 * tickNanos)
	l.expire()
	second.hears(t, "connected")
	l.runAgain()
	if !fourth.c.secure.shake.flies {
		t.Error("the second that waited has no turn")
	}
	// A handshake whose key is in use by a worker is not aborted.
	third.c.secure.shake.job = &job{}
	fifth := s.beginner(t)
	l.at(100 * tickNanos)
	l.expire()
	if timer := l.shakes.timer; !timer.linked() || timer.deadline != 101*tickNanos || fifth.c.secure.shake.flies {
		t.Errorf("they are looked at after %d", timer.deadline)
	}
	third.hears(t)
	third.c.secure.shake.job = nil
}
