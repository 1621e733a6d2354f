package loop

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// ErrNoPipe is returned by Splice if no pipe is available or the kernel cannot splice
// the input. Read and Write still work.
var ErrNoPipe = errors.New("no pipe for splicing")

const (
	// PipeSize is the capacity requested for a pipe. It holds bytes that a peer does
	// not accept.
	PipeSize = 1 << 20
	// pipesMost bounds the pipes of a loop. The kernel limits the pipes of an
	// unprivileged user to 64 MiB in total (fs.pipe-user-pages-soft). A pipe stays
	// occupied until its peer accepts the bytes.
	pipesMost = 24
	// pipesKept is the number of idle pipes that are kept.
	pipesKept = 8
)

// pipe transfers bytes between two sockets within the kernel.
type pipe struct {
	r, w int
	held int // bytes in it
}

// pipes are the pipes of one loop.
type pipes struct {
	free []*pipe
	open int
	// refused means that the kernel denied a sufficiently large pipe.
	refused bool
}

func (p *pipes) get() *pipe {
	if n := len(p.free); n > 0 {
		one := p.free[n-1]
		p.free = p.free[:n-1]
		return one
	}
	if p.open == pipesMost || p.refused {
		return nil
	}
	one, err := newPipe()
	if err != nil {
		// A lack of descriptors is temporary, the limit on pipe memory is not.
		p.refused = errors.Is(err, syscall.EPERM)
		return nil
	}
	p.open++
	return one
}

func newPipe() (*pipe, error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_NONBLOCK|unix.O_CLOEXEC); err != nil {
		return nil, os.NewSyscallError("pipe2", err)
	}
	p := &pipe{r: fds[0], w: fds[1]}
	if _, err := unix.FcntlInt(uintptr(p.w), unix.F_SETPIPE_SZ, PipeSize); err != nil {
		p.close()
		return nil, os.NewSyscallError("fcntl F_SETPIPE_SZ", err)
	}
	return p, nil
}

// put returns a pipe. A pipe that still holds bytes is closed.
func (p *pipes) put(one *pipe) {
	if one.held == 0 && len(p.free) < pipesKept {
		p.free = append(p.free, one)
		return
	}
	one.close()
	p.open--
}

func (p *pipe) close() {
	sysClose(p.r)
	sysClose(p.w)
}

// Splice moves up to most bytes from src to c without copying them to this process.
// Both must be plain connections of one loop, and c must have nothing pending. Bytes
// that c does not accept now stay in a pipe and count as Pending until Drained. The
// result read is the error that src.Read would return, or ErrNoPipe. The result write
// is not nil if c is broken.
func (c *Conn) Splice(src *Conn, most int) (n int, read, write error) {
	if src.flags&flagReadable == 0 {
		return 0, src.dry(), nil
	}
	if src.flags&flagUrgent != 0 {
		return 0, ErrNoPipe, nil // splice(2) reports EAGAIN at an urgent byte
	}
	l := c.loop
	p := l.pipes.get()
	if p == nil {
		return 0, ErrNoPipe, nil
	}
	n, errno := splice(int(src.fd), p.w, most)
	switch {
	case n > 0:
	case errno == 0:
		l.pipes.put(p)
		if src.more() {
			return 0, ErrNoPipe, nil
		}
		return 0, src.end(), nil
	case errno == syscall.EAGAIN:
		l.pipes.put(p)
		src.flags &^= flagReadable
		return 0, src.dry(), nil
	default:
		l.pipes.put(p)
		return 0, errno, nil
	}
	p.held = n
	c.pipe = p
	if errno := c.drain(); errno != 0 && errno != syscall.EAGAIN {
		c.err = errno
		c.releasePipe()
		return n, nil, errno
	}
	if c.pipe != nil {
		write = c.watchRoom()
	}
	return n, nil, write
}

// more reports whether bytes follow where splice(2) reported the end. At an urgent byte
// it reports the end as well once the peer has ended its direction.
func (c *Conn) more() bool {
	var one [1]byte
	n, errno := sysPeek(int(c.fd), one[:])
	return errno == 0 && n > 0
}

// drain moves bytes from the pipe to the socket. It returns EAGAIN if the socket is
// full.
func (c *Conn) drain() syscall.Errno {
	for p := c.pipe; p.held > 0; {
		n, errno := splice(p.r, int(c.fd), p.held)
		switch {
		case errno != 0:
			return errno
		case n == 0:
			return syscall.EPIPE // cannot happen; waiting for it would be endless
		}
		p.held -= n
	}
	c.releasePipe()
	return 0
}

func (c *Conn) releasePipe() {
	if c.pipe != nil {
		c.loop.pipes.put(c.pipe)
		c.pipe = nil
	}
}

// splice calls splice(2) without blocking and retries after signals.
func splice(from, to, most int) (int, syscall.Errno) {
	for {
		n, _, errno := syscall.RawSyscall6(unix.SYS_SPLICE, uintptr(from), 0, uintptr(to), 0, uintptr(most), unix.SPLICE_F_MOVE|unix.SPLICE_F_NONBLOCK)
		if errno != syscall.EINTR {
			if errno != 0 {
				return 0, errno
			}
			return int(n), 0
		}
	}
}
