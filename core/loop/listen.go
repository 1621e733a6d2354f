package loop

import (
	"os"
	"syscall"

	"github.com/panjf2000/gnet/v2/pkg/netpoll"
	"golang.org/x/sys/unix"
)

const (
	// acceptsPerTurn bounds how many connections one listener may take before
	// the others have their turn.
	acceptsPerTurn = 64
	// acceptPause is how long accepting rests when descriptors run out.
	acceptPause = 50_000_000
)

// Acceptor is told of each new connection: it sets the handler, and may close
// it. It runs on the loop.
type Acceptor func(c *Conn)

// Listener is a listening socket served by one loop.
type Listener struct {
	loop     *Loop
	fd       int
	acceptor Acceptor
	gate     Gate // nil without one
	retry    *Timer
	closed   bool
	short    bool // of descriptors: accepting waits until there is room
}

// Listen serves a listening, non-blocking socket. The loop owns a duplicate
// of f's descriptor; f stays the caller's.
func (l *Loop) Listen(f *os.File, accept Acceptor) (*Listener, error) {
	fd, err := dup(f)
	if err != nil {
		return nil, err
	}
	ln := &Listener{loop: l, fd: fd, acceptor: accept}
	ln.retry = l.NewTimer(ln.accept)
	l.listeners[fd] = ln
	countOpen(&descriptors.listeners, 1, fd)
	if err := l.poller.AddRead(&netpoll.PollAttachment{FD: fd}, true); err != nil {
		ln.Close()
		return nil, err
	}
	return ln, nil
}

func dup(f *os.File) (int, error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return -1, err
	}
	fd := -1
	var dupErr error
	if err := raw.Control(func(s uintptr) { fd, dupErr = unix.FcntlInt(s, unix.F_DUPFD_CLOEXEC, 3) }); err != nil {
		return -1, err
	}
	return fd, os.NewSyscallError("fcntl", dupErr)
}

// Defer lets the kernel hold a connection back until its client has spoken, or
// a second has passed: for protocols in which the client speaks first. Accept
// and first read then are one event instead of two, and a client that says
// nothing costs no descriptor.
func (ln *Listener) Defer() error {
	err := unix.SetsockoptInt(ln.fd, unix.IPPROTO_TCP, unix.TCP_DEFER_ACCEPT, 1)
	return os.NewSyscallError("setsockopt TCP_DEFER_ACCEPT", err)
}

// Prompt takes Defer back, which the socket may have had from who used it
// before: for protocols in which the server speaks first.
func (ln *Listener) Prompt() error {
	err := unix.SetsockoptInt(ln.fd, unix.IPPROTO_TCP, unix.TCP_DEFER_ACCEPT, 0)
	return os.NewSyscallError("setsockopt TCP_DEFER_ACCEPT", err)
}

// Urgent lets the bytes that clients send as urgent ones come among the others,
// from the next accept on; else they are lost, as with Multipath TCP, which has
// none.
func (ln *Listener) Urgent() { _ = urgent(ln.fd) }

// File returns a duplicate of the listening socket.
func (ln *Listener) File() (*os.File, error) {
	fd, err := unix.FcntlInt(uintptr(ln.fd), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, os.NewSyscallError("fcntl", err)
	}
	return os.NewFile(uintptr(fd), "listener"), nil
}

// Close stops accepting. The socket itself closes when nobody else holds it.
func (ln *Listener) Close() {
	if ln.closed {
		return
	}
	ln.closed = true
	ln.loop.StopTimer(ln.retry)
	delete(ln.loop.listeners, ln.fd)
	_ = ln.loop.poller.Delete(ln.fd) // closing does not, while somebody else holds the socket
	countOpen(&descriptors.listeners, -1, ln.fd)
	sysClose(ln.fd)
}

// accept takes waiting connections until none is left, the turn is over or
// descriptors run short.
func (ln *Listener) accept() {
	l := ln.loop
	if ln.short && !ln.closed && !ln.room() {
		l.StartTimer(ln.retry, acceptPause)
		return
	}
	ln.short = false
	for range acceptsPerTurn {
		if ln.closed {
			return
		}
		if ln.gate != nil && !ln.gate.Enter() {
			return
		}
		fd, errno := sysAccept(ln.fd, &l.addr)
		if errno != 0 && ln.gate != nil {
			ln.gate.Leave()
		}
		switch errno {
		case 0:
		case syscall.EAGAIN:
			return
		case syscall.EINTR, syscall.ECONNABORTED:
			continue
		default: // EMFILE, ENFILE, ENOBUFS, ENOMEM: the queue keeps the rest
			readLimit()
			ln.rest()
			return
		}
		ln.admit(fd)
		if fd >= acceptLimit() {
			ln.short = true
			ln.rest()
			return
		}
	}
	l.more = append(l.more, ln)
	l.call()
}

// acceptMore gives the listeners whose turn was cut short another one.
func (l *Loop) acceptMore() {
	for n := len(l.more); n > 0; n-- {
		ln := l.more[0]
		l.more = l.more[:copy(l.more, l.more[1:])]
		l.guard(ln.accept)
	}
}

// rest lets accepting wait for descriptors.
func (ln *Listener) rest() {
	*ln.loop.count.AcceptErrors++
	ln.loop.StartTimer(ln.retry, acceptPause)
}

// room reports whether a descriptor is free that is not kept for connections
// to backends.
func (ln *Listener) room() bool {
	fd, err := unix.FcntlInt(uintptr(ln.fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return false
	}
	sysClose(fd)
	return fd < acceptLimit()
}

func (ln *Listener) admit(fd int) {
	l := ln.loop
	*l.count.Accepted++
	c := l.open(fd, decodeAddr(&l.addr), nil, flagReadable|flagWet)
	defer c.Contain()
	ln.acceptor(c)
	if c.flags&flagClosed == 0 {
		c.readable() // a client that speaks first often has spoken by now
	}
}

// Gate bounds how many connections a listener takes. It is asked on the loop.
type Gate interface {
	// Enter counts a connection in that is about to be accepted. After
	// false the listener accepts no more until Resume; what waits is left in the
	// kernel's queue.
	Enter() bool
	// Leave counts it out again: there was no connection.
	Leave()
}

// Guard has g asked before each accept, from now on.
func (ln *Listener) Guard(g Gate) { ln.gate = g }

// Resume goes on accepting after the gate said no. On the loop.
func (ln *Listener) Resume() {
	if !ln.closed {
		ln.loop.guard(ln.accept)
	}
}
