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
	// MaxMessage is the maximum size of a message in bytes. The kernel's default socket
	// buffer holds three of them, so a single message never has to wait for space.
	MaxMessage = 64 << 10
	// MaxFiles is the maximum number of descriptors with one message. The kernel's
	// limit is 253 (SCM_MAX_FD).
	MaxFiles = 250
)

// Send sends msg as one message over a unixpacket connection, with duplicates of the
// files' descriptors. The files remain the caller's. It obeys the write deadline of c.
// It returns ErrEmpty, ErrTooLarge or the kernel's error (EPIPE if the peer is gone).
// After an error nothing was sent.
func Send(c *net.UnixConn, msg []byte, files ...*os.File) error {
	fds, err := numbersOf(files)
	if err != nil {
		return fmt.Errorf("send descriptors: %w", err)
	}
	err = SendDescriptors(c, msg, fds)
	runtime.KeepAlive(files) // fds holds their bare numbers
	return err
}

// SendDescriptors is Send for raw descriptors, e.g. of sockets that this process does
// not poll.
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
	if n != len(msg) { // a unixpacket socket never splits a message, other kinds are not supported
		return fmt.Errorf("send message: %d of %d bytes went out: %w", n, len(msg), ErrTruncated)
	}
	return nil
}

// crowded is how long Send waits if too many descriptors of the user are in transit.
// The limit covers all processes of the user (unix(7), ETOOMANYREFS), so this process
// need not be the cause.
const crowded = 2 * time.Second

func write(c *net.UnixConn, msg, rights []byte) (n int, err error) {
	for end := time.Now().Add(crowded); ; time.Sleep(10 * time.Millisecond) {
		n, _, err = c.WriteMsgUnix(msg, rights, nil)
		if !errors.Is(err, unix.ETOOMANYREFS) || time.Now().After(end) {
			return n, err
		}
	}
}

// DuplicateDescriptor returns a duplicate of a file's descriptor that is not registered
// with the runtime's poller, e.g. for sockets that are only passed on.
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

// Receive reads one message into buf, which should have room for MaxMessage bytes. It
// returns the attached descriptors with close-on-exec set; the caller must close them.
// It obeys the read deadline of c.
//
// It returns io.EOF if the peer is gone, ErrTruncated if not everything arrived, or the
// kernel's error. With an error there are no files, as received ones are closed. An
// empty message counts as end of file, with or without descriptors.
func Receive(c *net.UnixConn, buf []byte) (n int, files []*os.File, err error) {
	n, fds, err := ReceiveDescriptors(c, buf)
	for _, fd := range fds {
		files = append(files, os.NewFile(uintptr(fd), "received"))
	}
	return n, files, err
}

// ReceiveDescriptors is Receive for raw descriptors.
func ReceiveDescriptors(c *net.UnixConn, buf []byte) (n int, fds []int, err error) {
	oob := make([]byte, unix.CmsgSpace(MaxFiles*4))
	n, oobn, flags, _, err := c.ReadMsgUnix(buf, oob)
	// Descriptors are installed even if the call fails otherwise, so they are extracted
	// first and closed on every error.
	fds, parseErr := descriptorsOf(oob[:oobn])
	switch {
	case errors.Is(err, io.EOF): // also any other message without a byte
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

// CloseDescriptors closes descriptors.
func CloseDescriptors(fds []int) {
	for _, fd := range fds {
		_ = unix.Close(fd)
	}
}

// PeerUID returns the user and process ID of the peer when the connection was made, as
// recorded by the kernel (SO_PEERCRED). The peer cannot forge them. The process may
// have died since, and its ID may have been reused.
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
