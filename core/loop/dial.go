package loop

import (
	"fmt"
	"net/netip"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// DialOptions are the options of one Dial. The zero value has defaults.
type DialOptions struct {
	// Source is the local address; the kernel chooses the port.
	Source netip.Addr
	// Mark is the packet mark (SO_MARK). Setting it requires CAP_NET_ADMIN, or MarkBy.
	Mark uint32
	// Security, if it has a Config, adds a TLS handshake after the connect. The outcome
	// and the timeout then cover both.
	Security Security
	// Urgent delivers urgent bytes inline (SO_OOBINLINE). Otherwise they are lost.
	Urgent bool
	// Preface is sent before everything else, including the TLS handshake. Dial copies
	// it.
	Preface []byte
}

// Dial starts a connection to addr. h.Connected receives the outcome within timeout
// nanoseconds. Bytes written before that are sent once the connection is established.
// If Dial returns an error, nothing was started.
func (l *Loop) Dial(addr netip.AddrPort, h Handler, timeout int64, o DialOptions) (*Conn, error) {
	fd, errno := -1, syscall.Errno(0)
	if o.Mark == 0 {
		fd, errno = sysSocket(family(addr.Addr()))
	} else {
		var err error
		if fd, err = l.marked(family(addr.Addr()), o.Mark); err != nil {
			return nil, err
		}
	}
	if errno != 0 {
		return nil, os.NewSyscallError("socket", errno)
	}
	if err := prepare(fd, o); err != nil {
		sysClose(fd)
		return nil, err
	}
	size := encodeAddr(&l.addr, addr)
	if errno := sysConnect(fd, &l.addr, size); errno != 0 && errno != syscall.EINPROGRESS {
		sysClose(fd)
		return nil, os.NewSyscallError("connect", errno)
	}
	c := l.open(fd, addr, h, flagConnecting)
	if o.Security.Config != nil {
		c.secure = newSecured(c, o.Security, true)
	}
	if len(o.Preface) > 0 {
		c.keep(o.Preface) // leaves with the first write
	}
	if err := c.watchRoom(); err != nil {
		c.Close()
		return nil, err
	}
	c.SetDeadline(l.Now() + timeout)
	return c, nil
}

// prepare sets the socket options that must precede connect.
func prepare(fd int, o DialOptions) error {
	if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1); err != nil {
		return os.NewSyscallError("setsockopt TCP_NODELAY", err)
	}
	if o.Urgent {
		if err := urgent(fd); err != nil {
			return err
		}
	}
	if !o.Source.IsValid() {
		return nil
	}
	// The kernel chooses the port at connect, when it knows the 4-tuple. One source
	// address can then have more than 64 Ki connections in total.
	_ = unix.SetsockoptInt(fd, unix.SOL_IP, unix.IP_BIND_ADDRESS_NO_PORT, 1)
	return os.NewSyscallError("bind", unix.Bind(fd, sockaddr(o.Source)))
}

func urgent(fd int) error {
	return os.NewSyscallError("setsockopt SO_OOBINLINE", unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_OOBINLINE, 1))
}

func sockaddr(a netip.Addr) unix.Sockaddr {
	if a.Is4() || a.Is4In6() {
		return &unix.SockaddrInet4{Addr: a.As4()}
	}
	return &unix.SockaddrInet6{Addr: a.As16()}
}

// finishConnect determines the outcome by calling connect again. Unlike SO_ERROR, this
// cannot mistake a stale event of an earlier descriptor for success. It reports whether
// the connection is established and still open.
func (c *Conn) finishConnect() bool {
	size := encodeAddr(&c.loop.addr, c.peer)
	switch errno := sysConnect(int(c.fd), &c.loop.addr, size); errno {
	case 0, syscall.EISCONN:
		c.flags &^= flagConnecting
		if c.secure != nil {
			c.flags |= flagHandshake
			c.shake()
			return c.flags&flagClosed == 0
		}
		c.SetDeadline(0)
		c.handler.Connected(c, nil)
		if c.flags&flagClosed == 0 && c.flags&flagShutdown != 0 && c.Pending() == 0 {
			c.hangUp()
		}
		return c.flags&flagClosed == 0
	case syscall.EALREADY, syscall.EINPROGRESS, syscall.EINTR:
		c.flags &^= flagEnding | flagReadable | flagWet
	default:
		h := c.handler
		c.Close()
		h.Connected(c, os.NewSyscallError("connect", errno))
	}
	return false
}

// Marker provides marked sockets to a process that lacks the privilege to set marks.
type Marker interface {
	// Socket returns an unconnected, non-blocking TCP socket with the mark. The caller
	// owns it. Any loop may call Socket, which must not block for long.
	Socket(v6 bool, mark uint32) (fd int, err error)
	// DatagramSocket is the same for UDP.
	DatagramSocket(v6 bool, mark uint32) (fd int, err error)
}

// MarkBy makes Dial and DialUDP obtain marked sockets from m. By default they set the
// mark themselves. It must be called before the first of them.
func (l *Loop) MarkBy(m Marker) { l.marker = m }

// marked returns a new TCP socket with the mark.
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

// CanMark returns nil if this process may set marks (DialOptions.Mark). The kernel
// requires CAP_NET_ADMIN or, since Linux 5.17, CAP_NET_RAW. The error wraps the
// system's error.
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
