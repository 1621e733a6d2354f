package marks_test

import (
	"errors"
	"log/slog"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sluicelb/sluice/core/logtest"
	"github.com/sluicelb/sluice/core/marks"
	"github.com/sluicelb/sluice/core/shm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is the socket pair with a fake netd that needs no privilege: its sockets have
// no mark. Tests control its answers.
type bench struct {
	t       *testing.T
	ends    [2]*os.File
	log     logtest.Log
	code    atomic.Int32 // marks.Code
	silent  atomic.Bool
	asked   atomic.Int64
	made    atomic.Int64
	turns   chan struct{} // each answer takes one; nil means no limit
	reserve *marks.Reserve
	shut    func() // closes the reserve
}

func newBench(t *testing.T) *bench {
	b := &bench{t: t}
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_SEQPACKET|syscall.SOCK_CLOEXEC|syscall.SOCK_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i, fd := range fds {
		b.ends[i] = os.NewFile(uintptr(fd), "pair")
		t.Cleanup(func() { _ = b.ends[i].Close() })
	}
	return b
}

// conn returns a duplicate of an end, as a process inherits it.
func (b *bench) conn(end int) *net.UnixConn {
	c, err := net.FileConn(b.ends[end])
	if err != nil {
		b.t.Fatal(err)
	}
	return c.(*net.UnixConn)
}

// open starts an engine's reserve, which ends with the test.
func (b *bench) open() *marks.Reserve {
	b.reserve = marks.New(b.conn(0), slog.New(slog.NewTextHandler(&b.log, nil)))
	b.shut = sync.OnceFunc(b.reserve.Close)
	b.t.Cleanup(b.shut)
	return b.reserve
}

// serve starts a fake netd, which ends with the test or when stop is called.
func (b *bench) serve() (stop func()) {
	c, done := b.conn(1), make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, marks.MessageSize)
		for {
			n, _, err := shm.Receive(c, buf)
			if err != nil {
				return
			}
			r, err := marks.ParseRequest(buf[:n])
			if err != nil {
				b.t.Error(err)
				return
			}
			b.answer(c, r)
		}
	}()
	stop = sync.OnceFunc(func() { _ = c.Close(); <-done })
	b.t.Cleanup(stop)
	return stop
}

func (b *bench) answer(c *net.UnixConn, r marks.Request) {
	b.asked.Add(1)
	if b.turns != nil {
		<-b.turns
	}
	if b.silent.Load() {
		return
	}
	a := marks.Answer{Number: r.Number, Kind: r.Kind, Code: marks.Code(b.code.Load())}
	var fds []int
	if a.Code == marks.Made {
		for range r.Count {
			fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_NONBLOCK, 0)
			if err != nil {
				b.t.Error(err)
			}
			fds = append(fds, fd)
		}
		a.Count = len(fds)
		b.made.Add(int64(len(fds)))
	}
	if err := shm.SendDescriptors(c, a.AppendTo(nil), fds); err != nil && !errors.Is(err, net.ErrClosed) {
		b.t.Error(err)
	}
	shm.CloseDescriptors(fds)
}

// prepare waits for sockets of the kinds and fails without them.
func (b *bench) prepare(kinds ...marks.Kind) {
	b.t.Helper()
	if problems := b.reserve.Prepare(kinds, 5*time.Second); len(problems) > 0 {
		b.t.Fatal(problems)
	}
	b.reserve.Keep("test", kinds)
}

// take takes and closes n sockets. It returns the number obtained.
func (b *bench) take(k marks.Kind, n int) (got int) {
	for range n {
		fd, err := b.reserve.Socket(k.V6, k.Mark)
		if err != nil {
			if !errors.Is(err, marks.ErrNone) {
				b.t.Error(err)
			}
			return got
		}
		shm.CloseDescriptors([]int{fd})
		got++
	}
	return got
}

// full waits until the reserve has all sockets of the kinds; some may still be in
// transit.
func (b *bench) full(kinds ...marks.Kind) {
	b.t.Helper()
	for _, k := range kinds {
		eventually(b.t, "a reserve is full", func() bool { return b.reserve.Full(k) })
	}
}

// unhurried sets long timeouts, for tests that check the number of sockets and not the
// time.
func unhurried(t *testing.T) { t.Cleanup(marks.SetPatience(10 * time.Second)) }

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not in five seconds", what)
		}
	}
}

// descriptors returns the number of open descriptors of this process.
func descriptors(t *testing.T) int {
	t.Helper()
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skipf("not shown: %v", err)
	}
	return len(names)
}

var seven, eight = marks.Kind{Mark: 7}, marks.Kind{Mark: 8, V6: true}

func TestReserveIsFilledBeforeItIsNeededAndAfter(t *testing.T) {
	unhurried(t)
	b := newBench(t)
	b.open()
	b.serve()
	b.prepare(seven, eight)
	b.full(seven, eight)
	if got := b.take(seven, marks.First/2); got != marks.First/2 || b.made.Load() != 2*marks.First {
		t.Errorf("%d taken, %d were made", got, b.made.Load())
	}
	b.take(seven, 1)
	b.full(seven)
	if made := b.made.Load(); made != 2*marks.First+marks.First/2+1 {
		t.Errorf("%d were made", made)
	}
	if got := b.take(eight, 10*marks.First); got != 10*marks.First {
		t.Errorf("a burst got %d sockets", got)
	}
}

// A refill from earlier requests must not end the growth.
func TestExhaustedReserveGrows(t *testing.T) {
	unhurried(t)
	b := newBench(t)
	const once = marks.First / marks.MaxCount // number of answers that fill it
	b.turns = make(chan struct{}, once)
	for range once {
		b.turns <- struct{}{}
	}
	b.open()
	b.serve()
	release := sync.OnceFunc(func() { close(b.turns) })
	t.Cleanup(release)
	b.prepare(seven)
	b.full(seven)
	if got := b.take(seven, marks.First); got != marks.First {
		t.Fatalf("%d were there", got)
	}
	eventually(t, "more are asked for", func() bool { return b.asked.Load() > once })
	got := make(chan int)
	go func() { got <- b.take(seven, 1) }()
	eventually(t, "somebody finds none", func() bool { return b.reserve.Waiting() == 1 })
	b.turns <- struct{}{}
	if <-got != 1 {
		t.Error("the waiter got no socket")
	}
	release()
	eventually(t, "it holds twice as many", func() bool { return b.reserve.Held(seven) == 2*marks.First })
}

func TestEachSocketIsHandedOutOnce(t *testing.T) {
	unhurried(t)
	b := newBench(t)
	b.open()
	b.serve()
	b.prepare(seven)
	seen := map[int]bool{}
	for range 3 * marks.First {
		fd, err := b.reserve.Socket(false, 7)
		if err != nil || seen[fd] {
			t.Fatalf("socket %d (given before: %t), %v", fd, seen[fd], err)
		}
		seen[fd] = true
		if _, err := syscall.Getpeername(fd); err != syscall.ENOTCONN {
			t.Fatalf("socket %d: %v, want an unconnected one", fd, err)
		}
	}
	for fd := range seen {
		shm.CloseDescriptors([]int{fd})
	}
}

func TestRejectionsHaveTheirReason(t *testing.T) {
	b := newBench(t)
	b.open()
	b.serve()
	for code, want := range map[marks.Code]error{marks.NotPermitted: marks.ErrNotPermitted, marks.NoFamily: marks.ErrFamily, marks.TooMany: marks.ErrTooMany} {
		b.code.Store(int32(code))
		if problems := b.reserve.Prepare([]marks.Kind{seven, eight}, 5*time.Second); len(problems) != 2 || problems[seven] != want || problems[eight] != want {
			t.Errorf("%v: %v", code, problems)
		}
		b.reserve.Keep("test", nil)
	}
	if n := len(b.log.Lines("cannot be had")); n != 1 {
		t.Errorf("%d log lines about it", n)
	}
	b.code.Store(int32(marks.Made))
	b.prepare(seven)
	eventually(t, "the log says so", func() bool { return len(b.log.Lines("can be had again")) == 1 })
}

func TestWaitForSilentNetdIsBounded(t *testing.T) {
	b := newBench(t)
	b.open()
	b.silent.Store(true)
	b.serve()
	problems := b.reserve.Prepare([]marks.Kind{seven}, 300*time.Millisecond)
	if problems[seven] != marks.ErrSilent {
		t.Errorf("problems: %v", problems)
	}
	b.silent.Store(false)
	b.prepare(seven) // requested again
}

func TestPendingRequestsAreAnsweredByTheNextNetd(t *testing.T) {
	b := newBench(t)
	b.open()
	problems := make(chan map[marks.Kind]error)
	go func() { problems <- b.reserve.Prepare([]marks.Kind{seven}, 5*time.Second) }()
	eventually(t, "a request waits", func() bool {
		n, _, _ := syscall.Recvfrom(int(b.ends[1].Fd()), make([]byte, marks.MessageSize), syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		return n == marks.MessageSize
	})
	b.serve()
	if got := <-problems; len(got) > 0 {
		t.Error(got)
	}
}

func TestNextEngineIsServedOverTheSamePair(t *testing.T) {
	unhurried(t)
	b := newBench(t)
	first := b.open()
	stop := b.serve()
	b.prepare(seven)
	stop()
	first.Prepare([]marks.Kind{eight}, 50*time.Millisecond) // leaves requests behind
	b.shut()
	b.serve()
	b.open()
	b.prepare(seven)
	if got := b.take(seven, 2*marks.First); got != 2*marks.First {
		t.Errorf("%d sockets", got)
	}
}

func TestEmptyReserveWithoutNetdFailsAtOnce(t *testing.T) {
	b := newBench(t)
	b.open()
	stop := b.serve()
	b.prepare(seven)
	b.full(seven)
	stop()
	if got := b.take(seven, 2*marks.First); got != marks.First {
		t.Errorf("%d sockets were left", got)
	}
	for range 1000 {
		if _, err := b.reserve.Socket(false, 7); err != marks.ErrNone {
			t.Fatalf("from an empty reserve: %v", err)
		}
	}
	eventually(t, "the log says so, once", func() bool { return len(b.log.Lines("cannot be had")) == 1 })
	b.serve()
	eventually(t, "the next netd fills it", func() bool { return b.take(seven, 1) == 1 })
}

func TestUnusedMarksAreClosed(t *testing.T) {
	t.Cleanup(marks.SetLinger(20 * time.Millisecond))
	b := newBench(t)
	b.open()
	b.serve()
	before := descriptors(t)
	b.prepare(seven)
	eventually(t, "it is full", func() bool { return descriptors(t) >= before+marks.First })
	b.prepare(seven, eight)
	b.reserve.Keep("test", []marks.Kind{eight})
	eventually(t, "one is left", func() bool { n := descriptors(t) - before; return n > marks.First/2 && n <= marks.First })
	if _, err := b.reserve.Socket(false, 7); err != marks.ErrNone {
		t.Errorf("a socket of an unused mark: %v", err)
	}
	if got := b.take(eight, 10); got != 10 {
		t.Errorf("%d sockets of the mark in use", got)
	}
	b.reserve.Keep("test", nil)
	eventually(t, "none is left", func() bool { return descriptors(t) <= before })
}

func TestMarksShareTheCapacity(t *testing.T) {
	b := newBench(t)
	b.open()
	b.serve()
	before := descriptors(t)
	var kinds []marks.Kind
	for i := range 500 {
		kinds = append(kinds, marks.Kind{Mark: uint32(i + 1)})
	}
	b.prepare(kinds...)
	eventually(t, "all are full", func() bool { return b.made.Load() >= 8000 })
	if n := descriptors(t) - before; n > 8192+100 {
		t.Errorf("%d descriptors", n)
	}
	for _, k := range kinds {
		if b.take(k, 1) != 1 {
			t.Errorf("none of %v", k)
		}
	}
}

func TestTakingAllocatesNothing(t *testing.T) {
	b := newBench(t)
	b.open()
	b.serve()
	b.prepare(seven)
	b.full(seven)
	one := make([]int, 1)
	if n := testing.AllocsPerRun(marks.First/2-10, func() {
		one[0], _ = b.reserve.Socket(false, 7)
		shm.CloseDescriptors(one)
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
