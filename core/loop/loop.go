package loop

import (
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	gneterrors "github.com/panjf2000/gnet/v2/pkg/errors"
	"github.com/panjf2000/gnet/v2/pkg/netpoll"
	"github.com/panjf2000/gnet/v2/pkg/queue"
	"golang.org/x/sys/unix"
)

const (
	// Headroom is the free space in front of Loop.In: a head that was read and
	// rewritten longer can be put right before the body it came with, so that
	// both leave in one write without moving the body.
	Headroom = 8 << 10
	// ReadSize is the size of Loop.In. Long bodies are read 256 KiB at a time;
	// short reads touch only the first lines of it.
	ReadSize = 256 << 10
)

// Loop is one event loop. All methods but Post, Stop and Run must be called
// on the loop itself, from a Handler, a timer or a posted function.
type Loop struct {
	// In is the read buffer all connections of the loop share, behind
	// Headroom bytes of space. Its bytes are valid until the handler returns.
	In []byte
	// Scratch is a second buffer for building what is to be written, valid
	// until the handler returns.
	Scratch []byte
	// Buffers holds the pooled buffers of this loop.
	Buffers BufferPool

	space     []byte // Headroom + ReadSize, In is its tail
	poller    *netpoll.Poller
	conns     []*Conn // by descriptor number
	listeners map[int]*Listener
	wheel     wheel
	timerFD   int
	turnFD    int // an eventfd that says that again or more holds something
	ticking   bool
	now       int64 // see Now
	stale     bool  // now is of an earlier event
	base      time.Time
	again     []*Conn // connections whose turn was cut short
	running   []*Conn
	more      []*Listener // listeners whose turn was cut short
	called    bool        // turnFD was written and not reported yet
	values    *FreeList[Conn]
	pipes     pipes
	event     uint64 // counts events, so that FreeList knows when one is over
	addr      unix.RawSockaddrAny
	poll      [1]unix.PollFd
	count     Counters
	shakes    handshakes
	resting   []*coroutine   // without a handshake
	sealed    []byte         // ciphertext on its way from crypto/tls to a socket
	lent      []byte         // the buffer crypto/tls reads ciphertext into
	jobs      sync.WaitGroup // that workers do for handshakes
	marker    Marker
	stopped   atomic.Bool
	done      chan struct{}

	udp           *datagrams // nil before the first UDP socket
	udpListeners  map[int]*UDPListener
	udpConns      []*UDPConn // by descriptor number
	udpConnValues *FreeList[UDPConn]
	waiting       []turner // UDP sockets whose turn was cut short
}

// New returns a loop that runs nothing yet. counters may be nil.
func New(counters *Counters) (*Loop, error) {
	poller, err := netpoll.OpenPoller()
	if err != nil {
		return nil, fmt.Errorf("open poller: %w", err)
	}
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		_ = poller.Close()
		return nil, fmt.Errorf("timerfd_create: %w", err)
	}
	turn, err := unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	if err != nil {
		_ = unix.Close(fd)
		_ = poller.Close()
		return nil, fmt.Errorf("eventfd: %w", err)
	}
	l := &Loop{
		poller:       poller,
		space:        make([]byte, Headroom+ReadSize),
		Scratch:      make([]byte, 0, 128<<10),
		listeners:    map[int]*Listener{},
		udpListeners: map[int]*UDPListener{},
		timerFD:      fd,
		turnFD:       turn,
		base:         time.Now(),
		done:         make(chan struct{}),
	}
	readLimit()
	l.In = l.space[Headroom:]
	l.values = NewFreeList[Conn](l)
	l.udpConnValues = NewFreeList[UDPConn](l)
	if counters != nil {
		l.count = *counters
	}
	l.count.fill()
	l.shakes.init(l)
	l.tick()
	l.wheel.init(l.Now())
	for _, own := range []int{fd, turn} {
		if err := poller.AddRead(&netpoll.PollAttachment{FD: own}, true); err != nil {
			_ = unix.Close(fd)
			_ = unix.Close(turn)
			_ = poller.Close()
			return nil, err
		}
	}
	return l, nil
}

// Run serves events until Stop. It is the loop's goroutine.
func (l *Loop) Run() error {
	defer close(l.done)
	err := l.poller.Polling(l.dispatch)
	l.closeAll()
	if errors.Is(err, gneterrors.ErrEngineShutdown) {
		return nil
	}
	return err
}

// Stop ends Run after the current batch and closes what is open. Any
// goroutine but the loop's own may call it; it waits for the end.
func (l *Loop) Stop() {
	if l.stopped.CompareAndSwap(false, true) {
		_ = l.poller.Trigger(queue.HighPriority, func(any) error { return gneterrors.ErrEngineShutdown }, nil)
	}
	<-l.done
}

// Post runs fn on the loop, soon. Any goroutine may call it. fn is dropped
// when the loop stops first.
func (l *Loop) Post(fn func()) {
	if l.stopped.Load() {
		return // the poller's descriptor may be somebody else's by now
	}
	_ = l.poller.Trigger(queue.HighPriority, func(any) error {
		l.tick()
		l.guard(fn)
		return nil
	}, nil)
}

// Now is the loop's clock in nanoseconds, read at most once per event.
func (l *Loop) Now() int64 {
	if l.stale {
		l.read()
	}
	return l.now
}

func (l *Loop) read() {
	l.now = int64(time.Since(l.base))
	l.stale = false
}

// Time turns a value of the loop's clock into wall-clock time.
func (l *Loop) Time(now int64) time.Time { return l.base.Add(time.Duration(now)) }

// tick starts a new event.
func (l *Loop) tick() {
	l.stale = true
	l.event++
}

// Front returns p with n bytes right before it, which are free: a rewritten head is
// put there so that it leaves in one write with the body that was read behind it. It
// reports false when p does not lie in In, or they do not fit.
func (l *Loop) Front(p []byte, n int) ([]byte, bool) {
	all := p[:cap(p)]
	if len(all) == 0 || &all[len(all)-1] != &l.space[len(l.space)-1] {
		return nil, false
	}
	at := len(l.space) - len(all)
	if n > at {
		return nil, false
	}
	return l.space[at-n : at+len(p)], true
}

// Each calls fn for every open connection. fn may close them; a panic in it
// costs the connection it was called for, and the others have their turn.
func (l *Loop) Each(fn func(c *Conn)) {
	for fd := range l.conns {
		if c := l.conns[fd]; c != nil {
			c.visit(fn)
		}
	}
}

func (c *Conn) visit(fn func(c *Conn)) {
	defer c.Contain()
	fn(c)
}

// dispatch is the poller's callback: one descriptor is perhaps ready.
func (l *Loop) dispatch(fd int, ev netpoll.IOEvent, _ netpoll.IOFlags) error {
	l.tick()
	*l.count.Events++
	if fd < len(l.conns) {
		if c := l.conns[fd]; c != nil {
			l.serve(c, uint32(ev))
			return nil
		}
	}
	if fd < len(l.udpConns) {
		if c := l.udpConns[fd]; c != nil {
			c.serve(uint32(ev))
			return nil
		}
	}
	switch fd {
	case l.timerFD:
		l.expire()
		return nil
	case l.turnFD:
		l.runAgain()
		return nil
	}
	if ln := l.listeners[fd]; ln != nil {
		l.guard(ln.accept)
	} else if ln := l.udpListeners[fd]; ln != nil {
		ln.receive()
	}
	return nil
}

// serve brings one event to one connection.
func (l *Loop) serve(c *Conn, ev uint32) {
	defer c.Contain()
	if ev&(unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0 {
		c.flags |= flagEnding
		if ev&(unix.EPOLLHUP|unix.EPOLLERR) != 0 && c.flags&(flagConnecting|flagLinger) == 0 {
			c.flags |= flagHup
		}
	}
	if ev&(unix.EPOLLIN|unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0 {
		c.flags |= flagReadable | flagWet
	}
	if ev&unix.EPOLLPRI != 0 {
		c.flags |= flagUrgent
	}
	if c.flags&flagConnecting != 0 && !c.finishConnect() {
		return
	}
	if (len(c.out) != 0 || c.pipe != nil) && ev&(unix.EPOLLOUT|unix.EPOLLHUP|unix.EPOLLERR) != 0 {
		c.flush()
	}
	if c.flags&(flagReadable|flagClosed) == flagReadable {
		c.readable()
	}
}

// Again gives c another turn after the others had theirs: for a handler that
// used up its budget while more waits.
func (l *Loop) Again(c *Conn) {
	if c.flags&flagAgain != 0 {
		return
	}
	c.flags |= flagAgain
	l.again = append(l.again, c)
	l.call()
}

// call brings runAgain about after one more look at all descriptors. A task
// of the poller would not do: it runs tasks that start tasks without a look in
// between, and one connection that always has more would starve the others.
// The eventfd is edge triggered, so its count needs no reading.
func (l *Loop) call() {
	if l.called {
		return
	}
	l.called = true
	_, _ = unix.Write(l.turnFD, one)
}

var one = binary.NativeEndian.AppendUint64(nil, 1)

func (l *Loop) runAgain() {
	l.called = false
	l.acceptMore()
	l.runDatagrams()
	if l.shakes.waiting.count != 0 || l.shakes.started != 0 {
		l.shakes.admit()
	}
	l.running, l.again = l.again, l.running[:0]
	for i, c := range l.running {
		l.running[i] = nil
		if c.flags&flagAgain == 0 {
			continue // closed meanwhile, perhaps even in use again
		}
		c.flags &^= flagAgain
		if c.flags&flagClosed == 0 {
			l.turn(c)
		}
	}
}

func (l *Loop) turn(c *Conn) {
	defer c.Contain()
	c.readable()
}

// Contain is deferred around all that is done for c: a panic costs c, never
// the loop. The loop does so for the events of c; who works for c in an event
// of another connection does so too, or that one is closed instead of c, and
// nobody at all when it was closed already. The event goes on after it.
func (c *Conn) Contain() {
	r := recover()
	if r == nil {
		return
	}
	l := c.loop
	l.panicked(r)
	if c.flags&flagClosed == 0 {
		h := c.handler
		c.Abort()
		if h != nil {
			l.guard(func() { h.Failed(c, ErrPanic) })
		}
	}
}

func (l *Loop) guard(fn func()) {
	defer func() {
		if r := recover(); r != nil {
			l.panicked(r)
		}
	}()
	fn()
}

func (l *Loop) panicked(r any) {
	*l.count.Panics++
	slog.Error("panic contained", "cause", r, "stack", string(debug.Stack()))
}

func (l *Loop) closeAll() {
	l.Each(func(c *Conn) { c.Close() })
	l.jobs.Wait() // they post to the poller
	l.stopCoroutines()
	for _, ln := range l.listeners {
		ln.Close()
	}
	for _, p := range l.pipes.free {
		p.close()
	}
	l.closeUDP()
	_ = unix.Close(l.timerFD)
	_ = unix.Close(l.turnFD)
	_ = l.poller.Close()
}
