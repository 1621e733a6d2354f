package shm

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// MaxMessage bounds one message in bytes. It fits the kernel's default
	// socket buffer three times, so one message never waits for itself.
	MaxMessage = 64 << 10
	// MaxFiles bounds the descriptors with one message; the kernel's own limit
	// is 253 (SCM_MAX_FD).
	MaxFiles = 250
)

// Send sends msg as one message over a unixpacket connection, with a copy of
// each file's descriptor. The caller keeps its files. It obeys the write
// deadline of c. Errors: ErrEmpty, ErrTooLarge, else the kernel's (EPIPE when
// the peer is gone); after an error nothing was sent.
func Send(c *net.UnixConn, msg []byte, files ...*os.File) error {
	fds, err := numbersOf(files)
	if err != nil {
		return fmt.Errorf("send descriptors: %w", err)
	}
	err = SendDescriptors(c, msg, fds)
	runtime.KeepAlive(files) // their descriptors are in fds as bare numbers
	return err
}

// SendDescriptors is Send for descriptors that are no files: sockets that
// nobody here polls.
func SendDescriptors(c *net.UnixConn, msg []byte, fds []int) error {
	switch {
	case len(msg) == 0:
		return fmt.Errorf("send message: %w", ErrEmpty)
	case len(msg) > MaxMessage:
		return fmt.Errorf("send message of %d bytes, at most %d are allowed: %w", len(msg), MaxMessage, ErrTooLarge)
	case len(fds) > MaxFiles:
		return fmt.Errorf("send %d descriptors, at most %d are allowed: %w", len(fds), MaxFiles, ErrTooLarge)
	}
	var rights []byte
	if len(fds) > 0 {
		rights = unix.UnixRights(fds...)
	}
	n, err := write(c, msg, rights)
	if err != nil {
		return fmt.Errorf("send message with %d descriptors: %w", len(fds), err)
	}
	if n != len(msg) { // a unixpacket socket never splits; anything else does not belong here
		return fmt.Errorf("send message: %d of %d bytes went out: %w", n, len(msg), ErrTruncated)
	}
	return nil
}

// crowded is how long Send waits for room when too many descriptors of the user
// are on their way: those of all its processes count together (unix(7),
// ETOOMANYREFS), so nobody here need be at fault.
const crowded = 2 * time.Second

func write(c *net.UnixConn, msg, rights []byte) (n int, err error) {
	for end := time.Now().Add(crowded); ; time.Sleep(10 * time.Millisecond) {
		n, _, err = c.WriteMsgUnix(msg, rights, nil)
		if !errors.Is(err, unix.ETOOMANYREFS) || time.Now().After(end) {
			return n, err
		}
	}
}

// DuplicateDescriptor returns a copy of the descriptor of a file that the runtime does not watch:
// for sockets that only wait to be sent.
func DuplicateDescriptor(f *os.File) (fd int, err error) {
	err = control(f, func(from int) (err error) {
		fd, err = unix.FcntlInt(uintptr(from), unix.F_DUPFD_CLOEXEC, 0)
		return err
	})
	return fd, err
}

func numbersOf(files []*os.File) ([]int, error) {
	fds := make([]int, len(files))
	for i, f := range files {
		err := control(f, func(fd int) error { fds[i] = fd; return nil })
		if err != nil {
			return nil, err
		}
	}
	return fds, nil
}

// Receive reads one message into buf, which should have room for MaxMessage
// bytes, and returns the descriptors that came with it, close-on-exec; the
// caller closes them. It obeys the read deadline of c.
//
// Errors: io.EOF when the peer is gone, ErrTruncated when not everything
// arrived, else the kernel's. With an error there are no files: what came was
// closed. An empty message counts as end of file, with or without descriptors.
func Receive(c *net.UnixConn, buf []byte) (n int, files []*os.File, err error) {
	n, fds, err := ReceiveDescriptors(c, buf)
	for _, fd := range fds {
		files = append(files, os.NewFile(uintptr(fd), "received"))
	}
	return n, files, err
}

// ReceiveDescriptors is Receive for descriptors that are to be no files.
func ReceiveDescriptors(c *net.UnixConn, buf []byte) (n int, fds []int, err error) {
	oob := make([]byte, unix.CmsgSpace(MaxFiles*4))
	n, oobn, flags, _, err := c.ReadMsgUnix(buf, oob)
	// Descriptors are installed whatever else went wrong, so they are taken
	// out first and closed on every error.
	fds, parseErr := descriptorsOf(oob[:oobn])
	switch {
	case errors.Is(err, io.EOF): // and any other message without a byte
		err = io.EOF
	case err != nil:
		err = fmt.Errorf("receive message: %w", err)
	case flags&unix.MSG_TRUNC != 0:
		err = fmt.Errorf("receive message into %d bytes: %w", len(buf), ErrTruncated)
	case flags&unix.MSG_CTRUNC != 0:
		err = fmt.Errorf("receive descriptors: more than %d came or the descriptor limit is reached: %w", MaxFiles, ErrTruncated)
	case parseErr != nil:
		err = fmt.Errorf("receive descriptors: %w", parseErr)
	}
	if err != nil {
		CloseDescriptors(fds)
		return 0, nil, err
	}
	return n, fds, nil
}

func descriptorsOf(oob []byte) (fds []int, err error) {
	if len(oob) == 0 {
		return nil, nil
	}
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil, err
	}
	for i := range messages {
		if messages[i].Header.Level != unix.SOL_SOCKET || messages[i].Header.Type != unix.SCM_RIGHTS {
			continue
		}
		some, err := unix.ParseUnixRights(&messages[i])
		if err != nil {
			return fds, err
		}
		fds = append(fds, some...)
	}
	return fds, nil
}

// CloseDescriptors closes what ReceiveDescriptors gave.
func CloseDescriptors(fds []int) {
	for _, fd := range fds {
		_ = unix.Close(fd)
	}
}

// PeerUID returns who was at the other end when the connection was made, as
// the kernel knows it (SO_PEERCRED); the peer cannot forge it. The pid may
// have died, and been given to another process, since.
func PeerUID(c *net.UnixConn) (uid uint32, pid int32, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, 0, fmt.Errorf("peer credentials: %w", err)
	}
	var cred *unix.Ucred
	var inner error
	err = raw.Control(func(fd uintptr) {
		cred, inner = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if err = errors.Join(err, inner); err != nil {
		return 0, 0, fmt.Errorf("peer credentials: %w", err)
	}
	return cred.Uid, cred.Pid, nil
}
