package loop

import (
	"errors"
	"fmt"
	"net/netip"
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
	moderation    moderation
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
		moderation:   moderation{timer: -1},
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

// Dry returns a loop that runs nothing and has no descriptors: buffers, and a
// clock that does not move. With Imagine it lets what was written for
// events of connections be called without any.
func Dry() *Loop { return &Loop{base: time.Now()} }

// Imagine returns a connection of a dry loop, of no socket: all it can do is
// tell its peer, whether it is secured, and then the name it was asked for.
func (l *Loop) Imagine(peer netip.AddrPort, secure bool, name string) *Conn {
	c := &Conn{loop: l, peer: peer, fd: -1}
	if secure {
		c.secure = &secured{agreed: TLS{ServerName: name}}
	}
	return c
}
