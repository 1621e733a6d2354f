package loop

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// ErrNoPipe is returned by Splice when no pipe can be had, or the kernel does not
// splice what is there: bytes may still be read and written.
var ErrNoPipe = errors.New("no pipe for splicing")

const (
	// PipeSize is what a pipe is asked to hold: bytes that a peer does not take
	// wait in it.
	PipeSize = 1 << 20
	// pipesMost bounds the pipes of a loop. The kernel lets the pipes of an
	// ordinary user hold 64 MiB in all (fs.pipe-user-pages-soft), and one whose
	// peer takes nothing is occupied until it does.
	pipesMost = 24
	// pipesKept is how many are kept while nothing is spliced.
	pipesKept = 8
)

// pipe is the way from one socket to another within the kernel.
type pipe struct {
	r, w int
	held int // bytes in it
}

// pipes are those of a loop.
type pipes struct {
	free []*pipe
	open int
	// refused: the kernel made none that is large enough.
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
		// A limit of descriptors passes, that of memory for pipes does not.
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

// put takes a pipe back. One in which bytes are left is of no use any more.
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

// Splice moves up to most bytes from src to c without bringing them into this
// process; both are plain connections of one loop, and c has nothing pending.
// What c does not take now waits in a pipe, counts as Pending, and is followed
// by Drained. read is what src.Read would return besides n, or ErrNoPipe; write
// says that c is broken.
func (c *Conn) Splice(src *Conn, most int) (n int, read, write error) {
	if src.flags&flagReadable == 0 {
		return 0, src.dry(), nil
	}
	if src.flags&flagUrgent != 0 {
		return 0, ErrNoPipe, nil // at an urgent byte it says that there is nothing
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

// more reports whether bytes wait behind what splice(2) took for the end: it
// says so at an urgent byte, too, once the peer has ended its direction.
func (c *Conn) more() bool {
	var one [1]byte
	n, errno := sysPeek(int(c.fd), one[:])
	return errno == 0 && n > 0
}

// drain moves what the pipe holds to the socket; EAGAIN says that it is full.
func (c *Conn) drain() syscall.Errno {
	for p := c.pipe; p.held > 0; {
		n, errno := splice(p.r, int(c.fd), p.held)
		switch {
		case errno != 0:
			return errno
		case n == 0:
			return syscall.EPIPE // cannot be, and must not be waited for
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

// splice is splice(2) without blocking, again after signals.
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
