package loop

import (
	"bytes"
	"errors"
	"io"
	"net/netip"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// single is a connection of a loop that does not run, with its peer; the test acts as
// the loop's goroutine. It records the handler's events.
type single struct {
	l     *Loop
	c     *Conn
	peer  *os.File
	heard []string
	read  func(c *Conn) // called by Readable
}

func (s *single) Readable(c *Conn) {
	s.heard = append(s.heard, "readable")
	if s.read != nil {
		s.read(c)
	}
}
func (s *single) Drained(*Conn)                { s.heard = append(s.heard, "drained") }
func (s *single) Connected(_ *Conn, err error) { s.heard = append(s.heard, "connected") }
func (s *single) Expired(*Conn)                { s.heard = append(s.heard, "expired") }
func (s *single) Failed(*Conn, error)          { s.heard = append(s.heard, "failed") }

// newSingle connects both ends by a Unix socket pair, whose buffer size is
// deterministic.
func newSingle(t *testing.T) *single {
	t.Helper()
	l, err := New(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.closeAll)
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	s := &single{l: l, peer: os.NewFile(uintptr(fds[1]), "peer")}
	_ = s.peer.SetDeadline(time.Now().Add(10 * time.Second))
	t.Cleanup(func() { _ = s.peer.Close() })
	s.c = l.open(fds[0], netip.AddrPort{}, s, flagReadable|flagWet)
	return s
}

// take reads n bytes at the peer.
func (s *single) take(t *testing.T, n int) []byte {
	t.Helper()
	b := make([]byte, n)
	if _, err := io.ReadFull(s.peer, b); err != nil {
		t.Fatalf("the peer has not %d bytes: %v", n, err)
	}
	return b
}

func (s *single) hears(t *testing.T, want ...string) {
	t.Helper()
	if !slices.Equal(s.heard, want) {
		t.Errorf("events %q, want %q", s.heard, want)
	}
	s.heard = nil
}

// Remaining bytes, even a single one, leave when there is room, followed by one
// Drained. A write that the kernel accepts completely causes no Drained.
func TestUnsentBytesLeaveWhenThereIsRoom(t *testing.T) {
	room, errno := sysSend(int(newSingle(t).c.fd), make([]byte, 8<<20), 0)
	if errno != 0 || room == 8<<20 {
		t.Fatalf("it has room for %d bytes, %v", room, errno)
	}
	data := bytes.Repeat([]byte("0123456789"), room)[:room+3]
	for left := range 3 {
		s := newSingle(t)
		if err := s.c.Write(data[:room+left]); err != nil || s.c.Pending() != left {
			t.Fatalf("%d bytes are left, want %d: %v", s.c.Pending(), left, err)
		}
		if waits := s.c.flags&flagRoom != 0; waits != (left > 0) {
			t.Errorf("%d left: waits for room: %t", left, waits)
		}
		s.c.flags &^= flagReadable
		if s.l.serve(s.c, unix.EPOLLIN); s.c.Pending() != left {
			t.Errorf("%d are left of %d after an event that is none of room", s.c.Pending(), left)
		}
		s.hears(t, "readable")
		s.c.flags &^= flagReadable
		if left == 0 {
			continue
		}
		s.c.flush() // no room
		s.hears(t)
		if err := s.c.Write(data[room+left:]); err != nil || s.c.Pending() != 3 {
			t.Errorf("%d bytes wait, want 3: %v", s.c.Pending(), err)
		}
		got := s.take(t, room)
		s.l.serve(s.c, unix.EPOLLOUT)
		s.hears(t, "drained")
		if got = append(got, s.take(t, 3)...); !bytes.Equal(got, data) {
			t.Errorf("%d left: other bytes came", left)
		}
		if s.l.serve(s.c, unix.EPOLLOUT); s.c.Pending() != 0 || s.c.out != nil {
			t.Errorf("%d bytes wait, and %d are held", s.c.Pending(), cap(s.c.out))
		}
		s.hears(t)
	}
}

// If the peer is gone, pending bytes are dropped. Bytes that the peer sent before can
// still be read; then Read returns an error instead of io.EOF.
func TestPendingBytesAreDroppedWhenThePeerIsGone(t *testing.T) {
	for name, wait := range map[string]func(s *single){
		"written": func(s *single) { s.c.keep([]byte("late")) },
		"spliced": func(s *single) {
			s.c.pipe = s.l.pipes.get()
			s.c.pipe.held, _ = unix.Write(s.c.pipe.w, []byte("late"))
			_ = s.c.watchRoom()
		},
	} {
		s := newSingle(t)
		if wait(s); s.c.Pending() != 4 {
			t.Errorf("%s: %d bytes wait", name, s.c.Pending())
		}
		_, _ = s.peer.WriteString("why")
		_ = s.peer.Close()
		var got []byte
		var end error
		s.read = func(c *Conn) {
			for end == nil {
				n, err := c.Read(s.l.In)
				got, end = append(got, s.l.In[:n]...), err
			}
		}
		s.l.serve(s.c, unix.EPOLLOUT|unix.EPOLLIN|unix.EPOLLRDHUP|unix.EPOLLHUP)
		s.hears(t, "readable")
		if string(got) != "why" || end != syscall.EPIPE {
			t.Errorf("%s: it read %q, then %v", name, got, end)
		}
		if open, free := s.l.Pipes(); s.c.Pending() != 0 || open != 0 || free != 0 || !s.c.Broken() {
			t.Errorf("%s: %d bytes wait, %d pipes are open and %d free; broken: %t", name, s.c.Pending(), open, free, s.c.Broken())
		}
		if err := s.c.Write([]byte("x")); err != syscall.EPIPE {
			t.Errorf("%s: a write returns %v", name, err)
		}
	}
}

func TestWritesFollowPendingSplicedBytes(t *testing.T) {
	s := newSingle(t)
	s.c.pipe = s.l.pipes.get()
	s.c.pipe.held, _ = unix.Write(s.c.pipe.w, []byte("first "))
	_ = s.c.Write([]byte("second"))
	if s.c.Pending() != 12 {
		t.Errorf("%d bytes wait", s.c.Pending())
	}
	s.c.flags &^= flagReadable
	s.l.serve(s.c, unix.EPOLLOUT)
	s.hears(t, "drained")
	if got := s.take(t, 12); string(got) != "first second" {
		t.Errorf("%q came", got)
	}
	if open, free := s.l.Pipes(); open != 1 || free != 1 {
		t.Errorf("%d pipes are open, %d free", open, free)
	}
}

// Peek does not consume bytes, and Skip consumes exactly as many as requested.
func TestSkipConsumesExactlyThePeekedBytes(t *testing.T) {
	s := newSingle(t)
	c := s.c
	peek := func(want string, end error) {
		t.Helper()
		n, err := c.Peek(s.l.In)
		if string(s.l.In[:n]) != want || err != end {
			t.Errorf("it shows %q, %v; want %q, %v", s.l.In[:n], err, want, end)
		}
	}
	peek("", ErrDry)
	peek("", ErrDry) // without a system call
	_, _ = s.peer.WriteString("a line\nrest")
	c.flags |= flagReadable
	peek("a line\nrest", nil)
	if err := c.WaitMore(); err != nil || c.Readable() || !c.Watched() {
		t.Errorf("waiting for more: %v; readable: %t, watched: %t", err, c.Readable(), c.Watched())
	}
	c.flags |= flagReadable
	_ = s.peer.Close()
	peek("a line\nrest", nil)
	_, _ = sysRecv(int(c.fd), s.l.In[:7]) // MSG_TRUNC does not discard bytes of a Unix socket
	peek("rest", nil)
	_, _ = sysRecv(int(c.fd), s.l.In[:4])
	peek("", io.EOF)
	if err := c.Skip(1); err != io.ErrUnexpectedEOF {
		t.Errorf("skipping more than there is: %v", err)
	}
	c.Close()
	if err := (&Conn{loop: s.l, fd: -1}).Skip(1); err != syscall.EBADF {
		t.Errorf("Skip without input: %v", err)
	}
}

// A deadline applies to the handler, or to the end of a lingering connection.
func TestDeadlinesReachHandlerOrEndLinger(t *testing.T) {
	s := newSingle(t)
	s.c.expire()
	if s.hears(t, "expired"); s.c.Closed() {
		t.Error("it was closed without its handler")
	}
	s.c.flags |= flagConnecting
	if !s.c.Connecting() {
		t.Error("it is not connecting")
	}
	s.c.expire()
	if s.hears(t, "connected"); s.c.flags&flagClosed == 0 {
		t.Error("a connection is open after the connect timeout")
	}
	s = newSingle(t)
	s.c.Linger(int64(time.Hour))
	if h := s.c.Handler(); h != nil || !s.c.Closed() || s.c.flags&flagClosed != 0 {
		t.Errorf("it lingers for %v; closed: %b", h, s.c.flags)
	}
	s.c.expire()
	if s.hears(t); s.c.flags&flagClosed == 0 {
		t.Error("lingering has no end")
	}
	s.c.Linger(1) // no effect
	s.c.CloseWrite()
	s.c.Abort()
	s.c.Close()
}

// A lingering connection discards a bounded amount of input per turn until the end.
func TestLingeringReadsALittleInEachTurn(t *testing.T) {
	s := newSingle(t)
	s.l.In = s.l.In[:10]
	_, _ = s.peer.Write(make([]byte, 10*discardPerTurn+5))
	_ = s.c.watch()
	s.c.flags |= flagReadable // as after an event
	s.c.Linger(int64(time.Hour))
	if n, _ := unix.IoctlGetInt(int(s.c.fd), unix.TIOCINQ); n != 5 || len(s.l.again) != 1 {
		t.Fatalf("%d bytes are left by the first turn, %d wait for another", n, len(s.l.again))
	}
	if _, err := s.peer.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("this direction is still open: %v", err)
	}
	s.l.runAgain()
	if n, _ := unix.IoctlGetInt(int(s.c.fd), unix.TIOCINQ); n != 0 || len(s.l.again) != 0 || s.c.flags&flagClosed != 0 {
		t.Errorf("%d bytes are left, %d wait for another turn", n, len(s.l.again))
	}
	_ = s.peer.Close()
	if s.l.serve(s.c, unix.EPOLLIN|unix.EPOLLRDHUP); s.c.flags&flagClosed == 0 {
		t.Error("the peer's end does not end it")
	}
	s.hears(t)
}

// With LingerUnread no input is read until the peer ends or the time is up.
func TestLingerUnreadReadsNoInput(t *testing.T) {
	s := newSingle(t)
	_, _ = s.peer.Write(make([]byte, 100))
	_ = s.c.watch()
	s.c.flags |= flagReadable // as after an event
	s.c.LingerUnread(int64(time.Hour))
	s.l.serve(s.c, unix.EPOLLIN)
	if n, _ := unix.IoctlGetInt(int(s.c.fd), unix.TIOCINQ); n != 100 || len(s.l.again) != 0 || s.c.flags&flagClosed != 0 {
		t.Fatalf("%d bytes are left, %d wait for another turn, flags %b", n, len(s.l.again), s.c.flags)
	}
	if _, err := s.peer.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("this direction is still open: %v", err)
	}
	if s.l.serve(s.c, unix.EPOLLIN|unix.EPOLLRDHUP); s.c.flags&flagClosed == 0 {
		t.Error("the peer's end does not end it")
	}
	s = newSingle(t)
	s.c.LingerUnread(int64(time.Hour))
	if s.c.expire(); s.c.flags&flagClosed == 0 {
		t.Error("it has no end")
	}
}

// A connection that cannot be registered with the poller ends, because no event of it
// would arrive.
func TestUnpollableConnectionsEnd(t *testing.T) {
	file, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for name, watch := range map[string]func(c *Conn) error{
		"to read":  func(c *Conn) error { return c.WaitMore() },
		"for room": func(c *Conn) error { return c.watchRoom() },
		"when dry": func(c *Conn) error { _, err := c.Read(nil); return err },
	} {
		s := newSingle(t)
		s.c.flags &^= flagReadable
		_ = unix.Dup3(int(file.Fd()), int(s.c.fd), unix.O_CLOEXEC) // epoll rejects regular files
		if err := watch(s.c); err == nil || errors.Is(err, ErrDry) {
			t.Errorf("%s: %v", name, err)
		}
		if !s.c.Broken() || s.c.Watched() || s.c.end() != syscall.ENOMEM || s.c.timer.deadline == 0 {
			t.Errorf("%s: it is not given up", name)
		}
	}
}
