package loop

import (
	"os"
	"syscall"

	"github.com/panjf2000/gnet/v2/pkg/netpoll"
	"golang.org/x/sys/unix"
)

const (
	// acceptsPerTurn bounds the connections that one listener accepts before other
	// descriptors are served.
	acceptsPerTurn = 64
	// acceptPause is how long (in nanoseconds) accepting pauses when descriptors run
	// out.
	acceptPause = 50_000_000
)

// Acceptor is called for each new connection. It sets the handler and may close the
// connection. It runs on the loop.
type Acceptor func(c *Conn)

// Listener is a listening socket served by one loop.
type Listener struct {
	loop     *Loop
	fd       int
	acceptor Acceptor
	gate     Gate // nil: no limit
	retry    *Timer
	closed   bool
	short    bool // of descriptors: accepting pauses until one is free
}

// Listen serves a listening, non-blocking socket. The loop owns a duplicate of f's
// descriptor; f remains the caller's.
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

// Defer makes the kernel hold a connection back until its client has sent bytes, or for
// a second (TCP_DEFER_ACCEPT). It is for protocols in which the client speaks first.
// Accept and first read become one event, and a silent client costs no descriptor.
func (ln *Listener) Defer() error {
	err := unix.SetsockoptInt(ln.fd, unix.IPPROTO_TCP, unix.TCP_DEFER_ACCEPT, 1)
	return os.NewSyscallError("setsockopt TCP_DEFER_ACCEPT", err)
}

// Prompt reverts Defer, which a previous user of the socket may have set. It is for
// protocols in which the server speaks first.
func (ln *Listener) Prompt() error {
	err := unix.SetsockoptInt(ln.fd, unix.IPPROTO_TCP, unix.TCP_DEFER_ACCEPT, 0)
	return os.NewSyscallError("setsockopt TCP_DEFER_ACCEPT", err)
}

// Urgent delivers urgent bytes of clients inline (SO_OOBINLINE), for connections
// accepted from now on. Otherwise they are lost. Multipath TCP has no urgent bytes.
func (ln *Listener) Urgent() { _ = urgent(ln.fd) }

// File returns a duplicate of the listening socket.
func (ln *Listener) File() (*os.File, error) {
	fd, err := unix.FcntlInt(uintptr(ln.fd), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, os.NewSyscallError("fcntl", err)
	}
	return os.NewFile(uintptr(fd), "listener"), nil
}

// Close stops accepting. The socket itself closes with its last descriptor.
func (ln *Listener) Close() {
	if ln.closed {
		return
	}
	ln.closed = true
	ln.loop.StopTimer(ln.retry)
	delete(ln.loop.listeners, ln.fd)
	_ = ln.loop.poller.Delete(ln.fd) // close does not deregister a socket that has other descriptors
	countOpen(&descriptors.listeners, -1, ln.fd)
	sysClose(ln.fd)
}

// accept accepts waiting connections until none is left, the turn is over or
// descriptors run out.
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
		default: // EMFILE, ENFILE, ENOBUFS, ENOMEM: the backlog keeps the rest
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

// acceptMore gives another turn to listeners that used up theirs.
func (l *Loop) acceptMore() {
	for n := len(l.more); n > 0; n-- {
		ln := l.more[0]
		l.more = l.more[:copy(l.more, l.more[1:])]
		l.guard(ln.accept)
	}
}

// rest pauses accepting until descriptors are free.
func (ln *Listener) rest() {
	*ln.loop.count.AcceptErrors++
	ln.loop.StartTimer(ln.retry, acceptPause)
}

// room reports whether a descriptor below acceptLimit is free.
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
		c.readable() // a client that speaks first has often sent bytes by now
	}
}

// Gate limits the connections that a listener accepts. Its methods run on the loop.
type Gate interface {
	// Enter counts a connection that is about to be accepted. If it returns false, the
	// listener stops accepting until Resume; waiting connections stay in the kernel's
	// backlog.
	Enter() bool
	// Leave reverts Enter because there was no connection.
	Leave()
}

// Guard makes the listener call g before each accept from now on.
func (ln *Listener) Guard(g Gate) { ln.gate = g }

// Resume continues accepting after Gate.Enter returned false. It must be called on the
// loop.
func (ln *Listener) Resume() {
	if !ln.closed {
		ln.loop.guard(ln.accept)
	}
}
