package marks

import (
	"os"
	"syscall"
	"testing"
	"time"
)

// reserveOf is a reserve of one kind nobody fills.
func reserveOf(k Kind, full int) (*Reserve, *stack) {
	s := &stack{full: full}
	r := &Reserve{low: make(chan struct{}, 1), hurry: make(chan struct{}, 1)}
	r.kinds.Store(&map[Kind]*stack{k: s})
	r.renew()
	return r, s
}

// files opens so many descriptors.
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

func closed(fd int) bool {
	_, err := syscall.Seek(fd, 0, 0)
	return err == syscall.EBADF
}

// What comes is kept as far as there is room, and told at once to who waits, and to
// nobody else.
func TestSocketsThatComeWakeWhoWaits(t *testing.T) {
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
	r.take(Kind{Mark: 8}, files(t, 1)) // of a kind nobody has
	if r.take(k, nil); r.quick.Load() || len(s.fds) != 0 {
		t.Error("netd is quick though it brought nothing")
	}
	if r.take(k, files(t, 1)); told() || !r.quick.Load() || len(s.fds) != 1 {
		t.Errorf("%d are kept; somebody is told though nobody waits: %t", len(s.fds), told())
	}
	if fd, err := r.DatagramSocket(false, 7); err != nil || closed(fd) {
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
		t.Errorf("who waited got %d", fd)
	} else {
		_ = syscall.Close(fd)
	}
	if n := r.waiting.Load(); n != 0 || len(s.fds) != 2 || !closed(five[3]) || !closed(five[4]) {
		t.Errorf("%d wait, %d are kept", n, len(s.fds))
	}
	for _, fd := range s.resize(0) {
		_ = syscall.Close(fd)
	}
}

// A stack says when it is time to ask for more: once half is gone of what was full.
func TestAStackIsRefilledWhenHalfIsGone(t *testing.T) {
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
		t.Error("one that has sockets is asked for anew")
	}
	if n, _ := s.missing(); n != 3 {
		t.Errorf("%d are missing", n)
	}
	if rest := s.put([]int{12, 13, 14, 15, 16}); len(rest) != 2 || rest[0] != 15 {
		t.Errorf("%d are too many", rest)
	}
	for i, want := range []bool{false, false, true, false} {
		if n, _ := s.missing(); (n != 0) != (i == 3) {
			t.Errorf("%d are missing when %d were taken", n, i)
		}
		if fd, low := s.take(); low != want || fd != 14-i {
			t.Errorf("the one taken after %d others is %d; more are asked for: %t", i, fd, low)
		}
	}
	if s.anew(); s.round != round+1 || !s.empty() {
		t.Error("one without sockets is not asked for anew")
	}
	s.put([]int{21, 22, 23, 24})
	if rest := s.resize(2); len(rest) != 2 || rest[0] != 23 {
		t.Errorf("%d are too many", rest)
	}
	s.use(time.Now())
	s.take()
	s.take()
	if n, _ := s.missing(); n != 0 {
		t.Errorf("%d are missing of a kind nobody uses", n)
	}
}
