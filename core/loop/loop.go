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
	// Headroom is the free space in front of Loop.In. A rewritten head that became
	// longer can be placed directly before its body. Both then leave in one write
	// without moving the body.
	Headroom = 8 << 10
	// ReadSize is the size of Loop.In. Long bodies are read 256 KiB at a time; short
	// reads touch only its first cache lines.
	ReadSize = 256 << 10
)

// Loop is one event loop. All methods except Post, Stop and Run must be called on the
// loop itself, i.e. from a Handler, a timer or a posted function.
type Loop struct {
	// In is the read buffer shared by all connections of the loop. Headroom bytes of
	// free space precede it. Its bytes are valid until the handler returns.
	In []byte
	// Scratch is a second buffer, for building output. It is valid until the handler
	// returns.
	Scratch []byte
	// Buffers holds the pooled buffers of this loop.
	Buffers BufferPool

	space     []byte // Headroom + ReadSize, In is its tail
	poller    *netpoll.Poller
	conns     []*Conn // by descriptor number
	listeners map[int]*Listener
	wheel     wheel
	timerFD   int
	turnFD    int // an eventfd that wakes the loop while again or more is not empty
	ticking   bool
	now       int64 // see Now
	stale     bool  // now was read for an earlier event
	base      time.Time
	again     []*Conn // connections whose turn was cut short
	running   []*Conn
	more      []*Listener // listeners whose turn was cut short
	called    bool        // turnFD was written and its event has not arrived yet
	values    *FreeList[Conn]
	pipes     pipes
	event     uint64 // counts events, so that FreeList detects the end of one
	addr      unix.RawSockaddrAny
	poll      [1]unix.PollFd
	count     Counters
	shakes    handshakes
	resting   []*coroutine   // coroutines without a handshake
	sealed    []byte         // ciphertext on its way from crypto/tls to a socket
	lent      []byte         // the buffer crypto/tls reads ciphertext into
	jobs      sync.WaitGroup // handshake jobs of workers
	marker    Marker
	lingers   map[*Conn]lingering
	stopped   atomic.Bool
	done      chan struct{}

	udp           *datagrams // nil before the first UDP socket
	udpListeners  map[int]*UDPListener
	udpConns      []*UDPConn // by descriptor number
	udpConnValues *FreeList[UDPConn]
	moderation    moderation
	waiting       []turner // UDP sockets whose turn was cut short
}

// New returns a loop that is not running yet. counters may be nil.
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

// Run serves events until Stop. Its goroutine is the loop's goroutine.
func (l *Loop) Run() error {
	defer close(l.done)
	err := l.poller.Polling(l.dispatch)
	l.closeAll()
	if errors.Is(err, gneterrors.ErrEngineShutdown) {
		return nil
	}
	return err
}

// Stop ends Run after the current batch, closes all open descriptors and waits for the
// end. It may be called from any goroutine except the loop's own.
func (l *Loop) Stop() {
	if l.stopped.CompareAndSwap(false, true) {
		_ = l.poller.Trigger(queue.HighPriority, func(any) error { return gneterrors.ErrEngineShutdown }, nil)
	}
	<-l.done
}

// Post schedules fn to run on the loop. Any goroutine may call it. fn is dropped if the
// loop stops first.
func (l *Loop) Post(fn func()) {
	if l.stopped.Load() {
		return // the poller's descriptor number may have been reused
	}
	_ = l.poller.Trigger(queue.HighPriority, func(any) error {
		l.tick()
		l.guard(fn)
		return nil
	}, nil)
}

func (l *Loop) closeAll() {
	l.Each(func(c *Conn) { c.Close() })
	l.jobs.Wait() // jobs post to the poller
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

// Each calls fn for every open connection. fn may close connections. A panic in fn
// closes the connection concerned; the others are still visited.
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

// Dry returns a loop without descriptors that cannot run. It has buffers and a stopped
// clock. Together with Imagine it allows simulations to call event handlers.
func Dry() *Loop { return &Loop{base: time.Now()} }

// Imagine returns a connection of a dry loop, without a socket. Only its peer address
// is available and, if secure is set, name as the server name (SNI).
func (l *Loop) Imagine(peer netip.AddrPort, secure bool, name string) *Conn {
	c := &Conn{loop: l, peer: peer, fd: -1}
	if secure {
		c.secure = &secured{agreed: TLS{ServerName: name}}
	}
	return c
}
