package loop

import (
	"net/netip"
	"os"
	"syscall"
	"unsafe"

	"github.com/panjf2000/gnet/v2/pkg/netpoll"
	"golang.org/x/sys/unix"
)

// UDPListenerHandler receives the events of a UDP listener, on its loop.
type UDPListenerHandler interface {
	// Received is called for each datagram; d is valid until it returns.
	Received(ln *UDPListener, d *Datagram)
	// Lost reports that count datagrams to a client were not sent.
	Lost(ln *UDPListener, to Endpoint, count int)
}

// UDPListener is a bound UDP socket that receives from clients, served by one loop.
type UDPListener struct {
	loop    *Loop
	fd      int
	handler UDPListenerHandler
	backlog backlog
	queued  bool // waits for another turn
	closed  bool

	moderated bool
	polled    bool // by the timer; not registered with the poller
}

// UDPConnHandler receives the events of a connected UDP socket, on its loop.
type UDPConnHandler interface {
	// Answered is called for each datagram; d is valid until it returns.
	Answered(c *UDPConn, d *Datagram)
	// Refused reports that a datagram did not reach the peer: its port is closed
	// (ECONNREFUSED) or it is unreachable. Earlier datagrams may have arrived.
	Refused(c *UDPConn, err error)
	// Unsent reports that count datagrams were not sent.
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

// ListenUDP serves a bound, non-blocking UDP socket. The loop owns a duplicate of f's
// descriptor; f remains the caller's. For a socket bound to all addresses, Datagram.To
// holds the address that the client used.
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

// Whole disables fragmentation: datagrams leave unfragmented or not at all, so no
// fragment can be forged on the way. The kernel then assigns no IP IDs, which saves
// some time.
func (ln *UDPListener) Whole() error {
	level, name := unix.IPPROTO_IP, unix.IP_MTU_DISCOVER
	if family, err := unix.GetsockoptInt(ln.fd, unix.SOL_SOCKET, unix.SO_DOMAIN); err == nil && family == unix.AF_INET6 {
		level, name = unix.IPPROTO_IPV6, unix.IPV6_MTU_DISCOVER
	}
	return os.NewSyscallError("setsockopt MTU_DISCOVER", unix.SetsockoptInt(ln.fd, level, name, unix.IP_PMTUDISC_PROBE))
}

// Handler returns the receiver of the listener's events.
func (ln *UDPListener) Handler() UDPListenerHandler { return ln.handler }

// Loop returns the loop of the listener.
func (ln *UDPListener) Loop() *Loop { return ln.loop }

// Close stops receiving. The socket itself closes with its last descriptor.
func (ln *UDPListener) Close() {
	if ln.closed {
		return
	}
	ln.closed = true
	delete(ln.loop.udpListeners, ln.fd)
	_ = ln.loop.poller.Delete(ln.fd) // close does not deregister a socket that has other descriptors
	countOpen(&descriptors.udpListeners, -1, ln.fd)
	sysClose(ln.fd)
}

// DialUDP connects a UDP socket to a peer. If it returns an error there is no socket,
// most likely because descriptors have run out.
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

// connectUDP creates the socket and connects it.
func (l *Loop) connectUDP(to netip.AddrPort, o DialOptions) (int, error) {
	v6 := family(to.Addr()) == unix.AF_INET6
	fd, err := l.udpSocket(v6, o.Mark)
	if err != nil {
		return -1, err
	}
	// Without it the kernel reports only a closed port, not an unreachable host.
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

// together makes the kernel coalesce datagrams (UDP_GRO). Kernels before 5.0 do not
// support it and deliver them one by one.
func together(fd int) { _ = unix.SetsockoptInt(fd, unix.SOL_UDP, unix.UDP_GRO, 1) }

// Handler returns the receiver of the socket's events.
func (c *UDPConn) Handler() UDPConnHandler { return c.handler }

// Closed reports whether Close was called.
func (c *UDPConn) Closed() bool { return c.closed }

// Close closes the socket; datagrams not yet sent are lost. The UDPConn may still be
// inspected until the current event ends. Then the loop reuses it.
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

// datagrams is the UDP state of a loop. It is allocated with the first UDP socket. The
// kernel backs its buffers with memory only once bytes are written to them.
type datagrams struct {
	space   []byte // datagramBatch slots
	plain   [datagramBatch]unix.Mmsghdr
	named   [datagramBatch]unix.Mmsghdr // the same, with the sender's address
	vectors [datagramBatch]unix.Iovec
	names   [datagramBatch]unix.RawSockaddrInet6
	control [datagramBatch][controlSize]byte
	current Datagram // the argument of the handler
	batch   bool     // a batch is being handled; datagrams sent wait for its end
	sending sending
	errors  [256]byte // ancillary data of one entry of the error queue
}

// datagrams returns the UDP state and allocates it on first use.
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
