package marks

import (
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// reserveOf returns a reserve of one kind that is never filled.
func reserveOf(k Kind, full int) (*Reserve, *stack) {
	s := &stack{full: full}
	r := &Reserve{low: make(chan struct{}, 1), hurry: make(chan struct{}, 1)}
	r.kinds.Store(&map[Kind]*stack{k: s})
	r.renew()
	return r, s
}

// files opens n descriptors.
func files(t *testing.T, n int) (fds []int) {
	t.Helper()
	for range n {
		fd, err := syscall.Open(os.DevNull, syscall.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		fds = append(fds, fd)
	}
	return fds
}

func isClosed(fd int) bool {
	_, err := syscall.Seek(fd, 0, 0)
	return err == syscall.EBADF
}

// Sockets are kept up to the limit, and only waiting loops are notified.
func TestNewSocketsWakeWaitingLoops(t *testing.T) {
	k := Kind{Mark: 7, UDP: true}
	r, s := reserveOf(k, 3)
	news := *r.news.Load()
	told := func() bool {
		select {
		case <-news:
			return true
		default:
			return false
		}
	}
	r.take(Kind{Mark: 8}, files(t, 1)) // of an unknown kind
	if r.take(k, nil); r.quick.Load() || len(s.fds) != 0 {
		t.Error("netd counts as quick although it delivered nothing")
	}
	if r.take(k, files(t, 1)); told() || !r.quick.Load() || len(s.fds) != 1 {
		t.Errorf("%d are kept; a waiter was notified: %t", len(s.fds), told())
	}
	if fd, err := r.DatagramSocket(false, 7); err != nil || isClosed(fd) {
		t.Errorf("none is given: %v", err)
	} else {
		_ = syscall.Close(fd)
	}
	if _, err := r.Socket(false, 7); err != ErrNone {
		t.Errorf("one of another kind: %v", err)
	}
	t.Cleanup(SetPatience(time.Minute))
	got := make(chan int)
	go func() {
		fd, _ := r.DatagramSocket(false, 7)
		got <- fd
	}()
	for r.waiting.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	if n := r.waiting.Load(); n != 1 {
		t.Errorf("%d wait", n)
	}
	five := files(t, 5)
	r.take(k, five)
	if fd := <-got; fd < 0 || !told() {
		t.Errorf("the waiter got %d", fd)
	} else {
		_ = syscall.Close(fd)
	}
	if n := r.waiting.Load(); n != 0 || len(s.fds) != 2 || !isClosed(five[3]) || !isClosed(five[4]) {
		t.Errorf("%d wait, %d are kept", n, len(s.fds))
	}
	for _, fd := range s.resize(0) {
		_ = syscall.Close(fd)
	}
}

// take reports low once half of a full stack is used.
func TestStackIsRefilledAtHalf(t *testing.T) {
	s := &stack{full: 4}
	if _, low := s.take(); !low {
		t.Error("none is missed of an empty one")
	}
	s.refuse(s.round, ErrSilent)
	s.refuse(s.round+1, ErrNone) // of another round
	if some, why := s.state(); some || why != ErrSilent {
		t.Errorf("some: %t, %v", some, why)
	}
	if rest := s.put([]int{11}); len(rest) != 0 {
		t.Errorf("%d are too many", rest)
	}
	if some, why := s.state(); !some || why != nil || s.empty() {
		t.Errorf("one is some: %t, %v", some, why)
	}
	round := s.round
	if s.anew(); s.round != round {
		t.Error("a stack with sockets is requested again")
	}
	if n, _ := s.missing(); n != 3 {
		t.Errorf("%d are missing", n)
	}
	if rest := s.put([]int{12, 13, 14, 15, 16}); len(rest) != 2 || rest[0] != 15 {
		t.Errorf("%d are too many", rest)
	}
	for i, want := range []bool{false, false, true, false} {
		if n, _ := s.missing(); (n != 0) != (i == 3) {
			t.Errorf("%d are missing after %d were taken", n, i)
		}
		if fd, low := s.take(); low != want || fd != 14-i {
			t.Errorf("the one taken after %d others is %d; low: %t", i, fd, low)
		}
	}
	if s.anew(); s.round != round+1 || !s.empty() {
		t.Error("an empty stack is not requested again")
	}
	s.put([]int{21, 22, 23, 24})
	if rest := s.resize(2); len(rest) != 2 || rest[0] != 23 {
		t.Errorf("%d are too many", rest)
	}
	for _, c := range []struct{ full, missing int }{{4, 0}, {5, 0}, {6, 4}} { // it has 2
		s.resize(c.full)
		if n, _ := s.missing(); n != c.missing {
			t.Errorf("with room for %d, %d are missing", c.full, n)
		}
	}
	s.resize(2)
	s.use(time.Now())
	s.take()
	s.take()
	if n, _ := s.missing(); n != 0 {
		t.Errorf("%d of an unused kind are missing", n)
	}
}

// Few kinds get enough sockets for a burst each; many share the total.
func TestCapacityIsSharedByKinds(t *testing.T) {
	for kinds, want := range map[int]int{0: 0, 1: 256, 32: 256, 33: 248, 2048: 4, 2049: 4} {
		all := map[Kind]*stack{}
		for i := range kinds {
			all[Kind{Mark: uint32(i + 1)}] = newStack()
		}
		new(Reserve).set(all)
		for k, s := range all {
			if s.full != want {
				t.Fatalf("of %d kinds %v has room for %d, want %d", kinds, k, s.full, want)
			}
		}
	}
}

func TestExhaustedKindIsDoubled(t *testing.T) {
	k, other := Kind{Mark: 7}, newStack()
	r, _ := reserveOf(k, 0)
	s := newStack()
	all := map[Kind]*stack{k: s, {Mark: 8}: other}
	r.set(all)
	for _, want := range []int{512, 1024, 2048, 2048} {
		if r.grow(); s.full != want/2 && want < most {
			t.Errorf("none was missed, but the target is %d", s.full)
		}
		s.put(files(t, s.full))
		for range s.full {
			fd, _ := s.take()
			_ = syscall.Close(fd)
		}
		if r.grow(); s.full != want/2 && want < most {
			t.Errorf("the last one was taken without a request for more, the target is %d", s.full)
		}
		s.take()
		if r.grow(); s.full != want {
			t.Errorf("there is room for %d, want %d", s.full, want)
		}
		if n, _ := s.missing(); n != want {
			t.Errorf("%d are missing, want %d", n, want)
		}
	}
	if other.full != first {
		t.Errorf("of another kind there is room for %d, want %d", other.full, first)
	}
	for i := range 7 { // they share the total
		all[Kind{Mark: uint32(i + 100)}] = newStack()
	}
	if r.set(all); s.full != 910 || other.full != first {
		t.Errorf("of nine kinds %d and %d are kept", s.full, other.full)
	}
}

// Exchanges in progress may still need sockets of a kind that is in no table.
func TestUnusedKindIsKeptForTenSeconds(t *testing.T) {
	k := Kind{Mark: 7}
	r, s := reserveOf(k, 4)
	s.fds = files(t, 1)
	fd, since := s.fds[0], time.Now()
	if next := r.sweep(since); next != 0 {
		t.Errorf("one in use is looked at in %v, want 0", next)
	}
	s.use(since)
	if next := r.sweep(since.Add(10*time.Second - 1)); next != 1 || isClosed(fd) {
		t.Errorf("it is looked at in %v, closed: %t", next, isClosed(fd))
	}
	if next := r.sweep(since.Add(10 * time.Second)); next != 0 || !isClosed(fd) || (*r.kinds.Load())[k] != nil {
		t.Errorf("it is looked at in %v, closed: %t", next, isClosed(fd))
	}
}

// A waiting loop delays its other connections.
func TestLoopWaitsBrieflyAndOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := reserveOf(Kind{Mark: 7}, 4)
		r.quick.Store(true)
		for _, want := range []time.Duration{10 * time.Millisecond, 0} {
			began := time.Now()
			if fd, err := r.Socket(false, 7); fd != -1 || err != ErrNone {
				t.Errorf("there is %d, %v", fd, err)
			}
			if took := time.Since(began); took != want || r.waiting.Load() != 0 {
				t.Errorf("it waits %v, want %v", took, want)
			}
		}
	})
}

// While netd fails, a loop without sockets does not shorten the pause; Prepare does.
func TestFailingNetdIsRetriedFourTimesASecond(t *testing.T) {
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(t.TempDir(), "none"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	for name, c := range map[string]struct {
		calls func(r *Reserve) chan struct{} // channel to wake after 10 ms
		after time.Duration
		want  uint32
	}{
		"at once":          {nil, 0, 1},
		"not sooner":       {nil, 249 * time.Millisecond, 1},
		"again":            {nil, 251 * time.Millisecond, 2},
		"and again":        {nil, 751 * time.Millisecond, 4},
		"for a loop":       {func(r *Reserve) chan struct{} { return r.low }, 249 * time.Millisecond, 1},
		"for who prepares": {func(r *Reserve) chan struct{} { return r.hurry }, 249 * time.Millisecond, 2},
	} {
		synctest.Test(t, func(t *testing.T) {
			r, _ := reserveOf(Kind{Mark: 7}, 4)
			r.conn, r.log, r.stop, r.done = conn, slog.New(slog.DiscardHandler), make(chan struct{}), make(chan struct{})
			go r.run()
			if c.calls != nil {
				time.AfterFunc(10*time.Millisecond, func() { call(c.calls(r)) })
			}
			time.Sleep(c.after)
			synctest.Wait()
			close(r.stop)
			if <-r.done; r.number != c.want {
				t.Errorf("%s: %d times, want %d", name, r.number, c.want)
			}
		})
	}
}
