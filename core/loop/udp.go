package loop

import (
	"net/netip"
	"os"
	"syscall"
	"unsafe"

	"github.com/panjf2000/gnet/v2/pkg/netpoll"
	"golang.org/x/sys/unix"
)

// UDPListenerHandler is what a UDP listener's events go to, on its loop.
type UDPListenerHandler interface {
	// Received is told of each datagram; d is valid until it returns.
	Received(ln *UDPListener, d *Datagram)
	// Lost says that count datagrams to a client did not leave.
	Lost(ln *UDPListener, to Endpoint, count int)
}

// UDPListener is a bound UDP socket that clients send to, served by one loop.
type UDPListener struct {
	loop    *Loop
	fd      int
	handler UDPListenerHandler
	backlog backlog
	queued  bool // waits for another turn
	closed  bool

	moderated bool
	polled    bool // by the clock: the poller does not tell of arrivals
}

// UDPConnHandler is what the events of a connected UDP socket go to, on its loop.
type UDPConnHandler interface {
	// Answered is told of each datagram; d is valid until it returns.
	Answered(c *UDPConn, d *Datagram)
	// Refused says that something sent did not reach the peer: the peer's port
	// is closed (ECONNREFUSED), or there is no way to it. What was sent before
	// may have arrived.
	Refused(c *UDPConn, err error)
	// Unsent says that count datagrams did not leave.
	Unsent(c *UDPConn, count int)
}

// UDPConn is a connected UDP socket on a loop.
type UDPConn struct {
	loop    *Loop
	handler UDPConnHandler
	fd      int32
	backlog backlog
	queued  bool // waits for another turn
	closed  bool
}

// ListenUDP serves a bound, non-blocking UDP socket. The loop owns a duplicate
// of f's descriptor; f stays the caller's. Answers leave from the address the
// client used.
func (l *Loop) ListenUDP(f *os.File, h UDPListenerHandler) (*UDPListener, error) {
	fd, err := dup(f)
	if err != nil {
		return nil, err
	}
	ln := &UDPListener{loop: l, fd: fd, handler: h, backlog: noBacklog}
	size := uint32(unix.SizeofSockaddrAny)
	if sysGetsockname(fd, &l.addr, &size) == 0 && decodeAddr(&l.addr).Addr().IsUnspecified() {
		if l.addr.Addr.Family == unix.AF_INET {
			err = unix.SetsockoptInt(fd, unix.SOL_IP, unix.IP_PKTINFO, 1)
		} else {
			err = unix.SetsockoptInt(fd, unix.SOL_IPV6, unix.IPV6_RECVPKTINFO, 1)
		}
		if err != nil {
			sysClose(fd)
			return nil, os.NewSyscallError("setsockopt PKTINFO", err)
		}
	}
	together(fd)
	l.datagrams()
	l.udpListeners[fd] = ln
	countOpen(&descriptors.udpListeners, 1, fd)
	if err := l.poller.AddRead(&netpoll.PollAttachment{FD: fd}, true); err != nil {
		ln.Close()
		return nil, err
	}
	return ln, nil
}

// Whole sends what leaves in one piece or not at all: nothing of it can be put in the
// place of a fragment on the way. The kernel numbers no packets then, which saves it
// some time.
func (ln *UDPListener) Whole() error {
	level, name := unix.IPPROTO_IP, unix.IP_MTU_DISCOVER
	if family, err := unix.GetsockoptInt(ln.fd, unix.SOL_SOCKET, unix.SO_DOMAIN); err == nil && family == unix.AF_INET6 {
		level, name = unix.IPPROTO_IPV6, unix.IPV6_MTU_DISCOVER
	}
	return os.NewSyscallError("setsockopt MTU_DISCOVER", unix.SetsockoptInt(ln.fd, level, name, unix.IP_PMTUDISC_PROBE))
}

// Handler returns who gets the listener's events.
func (ln *UDPListener) Handler() UDPListenerHandler { return ln.handler }

// Loop returns the loop the listener lives on.
func (ln *UDPListener) Loop() *Loop { return ln.loop }

// Close stops receiving. The socket itself closes when nobody else holds it.
func (ln *UDPListener) Close() {
	if ln.closed {
		return
	}
	ln.closed = true
	delete(ln.loop.udpListeners, ln.fd)
	_ = ln.loop.poller.Delete(ln.fd) // closing does not, while somebody else holds the socket
	countOpen(&descriptors.udpListeners, -1, ln.fd)
	sysClose(ln.fd)
}

// DialUDP connects a UDP socket to a peer. An error means that there is no
// socket, most likely for want of descriptors.
func (l *Loop) DialUDP(to netip.AddrPort, h UDPConnHandler, o DialOptions) (*UDPConn, error) {
	fd, err := l.connectUDP(to, o)
	if err != nil {
		return nil, err
	}
	l.datagrams()
	c := l.udpConnValues.Get()
	*c = UDPConn{loop: l, handler: h, fd: int32(fd), backlog: noBacklog}
	for fd >= len(l.udpConns) {
		l.udpConns = append(l.udpConns, make([]*UDPConn, max(64, len(l.udpConns)/2))...)
	}
	l.udpConns[fd] = c
	descriptors.udpConns.Add(1)
	if err := l.poller.AddRead(&netpoll.PollAttachment{FD: fd}, true); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// connectUDP makes the socket and connects it.
func (l *Loop) connectUDP(to netip.AddrPort, o DialOptions) (int, error) {
	v6 := family(to.Addr()) == unix.AF_INET6
	fd, err := l.udpSocket(v6, o.Mark)
	if err != nil {
		return -1, err
	}
	// Without it the kernel reports a closed port only, not a machine that is gone.
	if v6 {
		_ = unix.SetsockoptInt(fd, unix.SOL_IPV6, unix.IPV6_RECVERR, 1)
	} else {
		_ = unix.SetsockoptInt(fd, unix.SOL_IP, unix.IP_RECVERR, 1)
	}
	together(fd)
	if o.Source.IsValid() {
		if err := unix.Bind(fd, sockaddr(o.Source)); err != nil {
			sysClose(fd)
			return -1, os.NewSyscallError("bind", err)
		}
	}
	size := encodeAddr(&l.addr, to)
	if errno := sysConnect(fd, &l.addr, size); errno != 0 {
		sysClose(fd)
		return -1, os.NewSyscallError("connect", errno)
	}
	return fd, nil
}

func (l *Loop) udpSocket(v6 bool, mark uint32) (int, error) {
	if mark != 0 && l.marker != nil {
		return l.marker.DatagramSocket(v6, mark)
	}
	domain := unix.AF_INET
	if v6 {
		domain = unix.AF_INET6
	}
	n, _, e := syscall.RawSyscall(unix.SYS_SOCKET, uintptr(domain), unix.SOCK_DGRAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if e != 0 {
		return -1, os.NewSyscallError("socket", e)
	}
	if mark != 0 {
		if err := unix.SetsockoptInt(int(n), unix.SOL_SOCKET, unix.SO_MARK, int(mark)); err != nil {
			sysClose(int(n))
			return -1, os.NewSyscallError("setsockopt SO_MARK", err)
		}
	}
	return int(n), nil
}

// together lets the kernel hand over several datagrams as one. Kernels before
// 5.0 cannot, and nothing is lost.
func together(fd int) { _ = unix.SetsockoptInt(fd, unix.SOL_UDP, unix.UDP_GRO, 1) }

// Handler returns who gets the socket's events.
func (c *UDPConn) Handler() UDPConnHandler { return c.handler }

// Closed reports whether Close was called.
func (c *UDPConn) Closed() bool { return c.closed }

// Close closes the socket; what waits to be sent is lost. The UDPConn may be
// looked at until the current event ends; then the loop uses it for another.
func (c *UDPConn) Close() {
	if c.closed {
		return
	}
	c.closed = true
	l := c.loop
	l.udpConns[c.fd] = nil
	sysClose(int(c.fd))
	descriptors.udpConns.Add(-1)
	if !c.queued {
		l.udpConnValues.Put(c)
	}
}

func (l *Loop) closeUDP() {
	for _, ln := range l.udpListeners {
		ln.Close()
	}
	for _, c := range l.udpConns {
		if c != nil {
			c.Close()
		}
	}
	l.moderation.close()
}

// datagrams is what a loop needs for UDP. Nothing of it exists before the first
// UDP socket; the buffers take no memory until bytes lie in them.
type datagrams struct {
	space   []byte // datagramBatch slots
	plain   [datagramBatch]unix.Mmsghdr
	named   [datagramBatch]unix.Mmsghdr // the same, with the sender's address
	vectors [datagramBatch]unix.Iovec
	names   [datagramBatch]unix.RawSockaddrInet6
	control [datagramBatch][controlSize]byte
	current Datagram // what the handler is shown
	batch   bool     // one is being handled: what is sent waits for its end
	sending sending
	errors  [256]byte // an ancillary message of the error queue
}

// datagrams makes what UDP needs, once.
func (l *Loop) datagrams() *datagrams {
	if l.udp != nil {
		return l.udp
	}
	d := &datagrams{space: make([]byte, datagramBatch*slotSize)}
	for i := range datagramBatch {
		d.vectors[i].Base = &d.space[i*slotSize]
		d.vectors[i].SetLen(datagramSize)
		for _, h := range []*unix.Msghdr{&d.plain[i].Hdr, &d.named[i].Hdr} {
			h.Iov = &d.vectors[i]
			h.SetIovlen(1)
			h.Control = &d.control[i][0]
		}
		d.named[i].Hdr.Name = (*byte)(unsafe.Pointer(&d.names[i]))
	}
	ready(&d.plain, datagramBatch, false)
	ready(&d.named, datagramBatch, true)
	d.sending.init()
	l.udp = d
	return d
}
