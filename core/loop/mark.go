package loop

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Marker has sockets with a mark for a process that may not set one itself.
type Marker interface {
	// Socket returns an unconnected, non-blocking TCP socket that has the mark;
	// the caller owns it. Any loop may call it, and it must not wait for long.
	Socket(v6 bool, mark uint32) (fd int, err error)
	// DatagramSocket is the same for UDP.
	DatagramSocket(v6 bool, mark uint32) (fd int, err error)
}

// MarkBy makes Dial and Outlet take sockets that have a mark from m. Without it
// they set the mark themselves. Call it before the first of them.
func (l *Loop) MarkBy(m Marker) { l.marker = m }

// marked is a new socket that has a mark.
func (l *Loop) marked(family int, mark uint32) (fd int, err error) {
	if l.marker != nil {
		return l.marker.Socket(family == unix.AF_INET6, mark)
	}
	fd, errno := sysSocket(family)
	if errno != 0 {
		return -1, os.NewSyscallError("socket", errno)
	}
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_MARK, int(mark)); err != nil {
		sysClose(fd)
		return -1, os.NewSyscallError("setsockopt SO_MARK", err)
	}
	return fd, nil
}

// CanMark reports whether connections may have a mark (DialOptions.Mark): the
// kernel wants CAP_NET_ADMIN for that or, from Linux 5.17 on, CAP_NET_RAW. The
// error wraps that of the system.
func CanMark() error {
	fd, errno := sysSocket(unix.AF_INET)
	if errno != 0 {
		return os.NewSyscallError("socket", errno)
	}
	defer sysClose(fd)
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_MARK, 1); err != nil {
		return fmt.Errorf("setting the mark of a connection needs CAP_NET_ADMIN: %w", err)
	}
	return nil
}
