// Package poll is the thin layer of system calls below the bench's own load generator and
// backend: edge-triggered epoll, non-blocking IPv4 sockets and a periodic timer.
//
// Both tools share one CPU core and bound the request rate of every measured proxy, so they
// must be cheap: one loop on one thread and no allocation per event. Nonblocking calls use
// RawSyscall, which bypasses the Go scheduler. Only Wait may block and uses Syscall. Nothing
// here is safe for concurrent use, and nothing is meant for the product, whose event loop is
// core/loop.
package poll

import (
	"syscall"
	"time"
)

// Bits of an event, as epoll reports them.
const (
	In     = syscall.EPOLLIN
	Out    = syscall.EPOLLOUT
	Closed = syscall.EPOLLRDHUP | syscall.EPOLLHUP | syscall.EPOLLERR
)

// edge is EPOLLET; package syscall declares it as a negative number.
const edge = 1 << 31

// Event is one readiness report. Token and Generation are the arguments of Add. If a
// token is reused, the generation identifies stale events.
type Event struct {
	Bits       uint32
	Token      int32
	Generation int32
}

// Poller is one epoll instance. The zero value is not usable: call Open.
type Poller struct {
	fd     int
	events []syscall.EpollEvent
}

// Open creates a poller that reports at most batch events per Wait.
func Open(batch int) (*Poller, error) {
	fd, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	return &Poller{fd: fd, events: make([]syscall.EpollEvent, batch)}, nil
}

// Close releases the epoll instance, not the descriptors added to it.
func (p *Poller) Close() error { return syscall.Close(p.fd) }

// Add registers fd permanently for both directions, edge-triggered, so that no further
// epoll_ctl is needed.
func (p *Poller) Add(fd int, token, generation int32) error {
	return p.add(fd, token, generation, In|Out|syscall.EPOLLRDHUP|edge)
}

// AddReader registers fd level triggered for reading: listeners, timers, pipes.
func (p *Poller) AddReader(fd int, token int32) error {
	return p.add(fd, token, 0, In)
}

func (p *Poller) add(fd int, token, generation int32, bits uint32) error {
	ev := syscall.EpollEvent{Events: bits, Fd: token, Pad: generation}
	return syscall.EpollCtl(p.fd, syscall.EPOLL_CTL_ADD, fd, &ev)
}

// Wait blocks until events are ready, at most for the given time (rounded up to a
// millisecond; negative: no limit), and returns their number.
func (p *Poller) Wait(atMost time.Duration) (int, error) {
	ms := -1
	if atMost >= 0 {
		ms = int((atMost + time.Millisecond - 1) / time.Millisecond)
	}
	n, err := syscall.EpollWait(p.fd, p.events, ms)
	if err == syscall.EINTR {
		return 0, nil
	}
	return n, err
}

// Event returns event i of the last Wait.
func (p *Poller) Event(i int) Event {
	e := &p.events[i]
	return Event{Bits: e.Events, Token: e.Fd, Generation: e.Pad}
}

var origin = time.Now()

// Now returns the monotonic time in nanoseconds since the process started.
func Now() int64 { return int64(time.Since(origin)) }
