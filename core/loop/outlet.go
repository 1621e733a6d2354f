package loop

import (
	"encoding/binary"
	"net/netip"
	"os"
	"syscall"
	"unsafe"

	"github.com/panjf2000/gnet/v2/pkg/netpoll"
	"golang.org/x/sys/unix"
)

// OutletHandler is what an outlet's events go to, on its loop.
type OutletHandler interface {
	// Answered is told of each datagram; d is valid until it returns.
	Answered(o *Outlet, d *Datagram)
	// Refused says that something sent did not reach the peer: the peer's port
	// is closed (ECONNREFUSED), or there is no way to it. What was sent before
	// may have arrived.
	Refused(o *Outlet, err error)
	// Unsent says that count datagrams did not leave.
	Unsent(o *Outlet, count int)
}

// Outlet is a connected UDP socket on a loop.
type Outlet struct {
	loop    *Loop
	handler OutletHandler
	fd      int32
	head    int32 // what waits to be sent, in sending.pieces
	tail    int32
	limit   int32 // the longest datagram that is sent together with others
	turns   bool  // waits for another turn
	closed  bool
}

// Outlet connects a UDP socket to a peer. An error means that there is none,
// most likely for want of descriptors.
func (l *Loop) Outlet(to netip.AddrPort, h OutletHandler, o DialOptions) (*Outlet, error) {
	fd, err := l.outletSocket(to, o)
	if err != nil {
		return nil, err
	}
	l.datagrams()
	out := l.outletValues.Get()
	*out = Outlet{loop: l, handler: h, fd: int32(fd), head: none, limit: maxSegment}
	for fd >= len(l.outlets) {
		l.outlets = append(l.outlets, make([]*Outlet, max(64, len(l.outlets)/2))...)
	}
	l.outlets[fd] = out
	if err := l.poller.AddRead(&netpoll.PollAttachment{FD: fd}, true); err != nil {
		out.Close()
		return nil, err
	}
	return out, nil
}

// outletSocket makes the socket and connects it.
func (l *Loop) outletSocket(to netip.AddrPort, o DialOptions) (int, error) {
	v6 := family(to.Addr()) == unix.AF_INET6
	fd, err := l.datagramSocket(v6, o.Mark)
	if err != nil {
		return -1, err
	}
	// Without it only a closed port is told of, and not that a machine is gone.
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

func (l *Loop) datagramSocket(v6 bool, mark uint32) (int, error) {
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

// Handler returns who gets the outlet's events.
func (o *Outlet) Handler() OutletHandler { return o.handler }

// Closed reports whether Close was called.
func (o *Outlet) Closed() bool { return o.closed }

// Close closes the socket; what waits to be sent is lost. The Outlet may be
// looked at until the current event ends; then the loop uses it for another.
func (o *Outlet) Close() {
	if o.closed {
		return
	}
	o.closed = true
	l := o.loop
	l.outlets[o.fd] = nil
	sysClose(int(o.fd))
	if !o.turns {
		l.outletValues.Put(o)
	}
}

// Send sends datagrams, as Datagram has them: one, or with segment several.
// Within a handler data must stay as it is until the batch is over. What the
// socket does not take is lost, and Unsent is told.
func (o *Outlet) Send(data []byte, segment int) {
	if o.closed {
		return
	}
	d := o.loop.udp
	d.sending.piece(data, segment)
	if o.head == none {
		o.head = d.sending.last()
		d.sending.outlets = append(d.sending.outlets, o)
	} else {
		d.sending.pieces[o.tail].next = d.sending.last()
	}
	o.tail = d.sending.last()
	if !d.batch {
		o.loop.sendAll()
	}
}

// receive takes one batch.
func (o *Outlet) receive() {
	l, d := o.loop, o.loop.udp
	for range errorsPerTurn {
		if o.closed {
			return
		}
		n, errno := d.receive(int(o.fd), &d.plain)
		switch errno {
		case 0:
		case syscall.EAGAIN:
			return
		case syscall.EINTR:
			continue
		case syscall.ENOBUFS, syscall.ENOMEM:
			o.again()
			return
		default:
			o.complaint()
			o.refused(errno)
			continue
		}
		d.batch = true
		for i := 0; i < n; {
			i = o.deliver(i, n)
		}
		d.batch = false
		ready(&d.plain, n, false)
		l.sendAll()
		if n == datagramBatch {
			o.again()
		}
		return
	}
	o.again()
}

// serve brings one event to the outlet.
func (o *Outlet) serve(ev uint32) {
	if ev&unix.EPOLLERR != 0 {
		if errno := o.complaint(); errno != 0 {
			o.refused(errno)
		}
	}
	o.receive()
}

// complaint empties the queue of errors and returns the first that says that
// the peer cannot be reached; 0 for none.
func (o *Outlet) complaint() (found syscall.Errno) {
	d := o.loop.udp
	for range datagramBatch {
		h := unix.Msghdr{Control: &d.errors[0]}
		h.SetControllen(len(d.errors))
		if _, _, e := syscall.RawSyscall(unix.SYS_RECVMSG, uintptr(o.fd), uintptr(unsafe.Pointer(&h)), unix.MSG_ERRQUEUE|unix.MSG_DONTWAIT); e != 0 {
			break
		}
		if errno := readComplaint(d.errors[:h.Controllen]); found == 0 && unreachable(errno) {
			found = errno
		}
	}
	// The error itself waits too, though the queue told of it.
	n, err := unix.GetsockoptInt(int(o.fd), unix.SOL_SOCKET, unix.SO_ERROR)
	if errno := syscall.Errno(n); err == nil && found == 0 && unreachable(errno) {
		found = errno
	}
	return found
}

// readComplaint is the errno in the ancillary message of an error (ip(7),
// IP_RECVERR); 0 when there is none.
func readComplaint(b []byte) syscall.Errno {
	for len(b) >= headerSize {
		h := (*unix.Cmsghdr)(unsafe.Pointer(unsafe.SliceData(b)))
		n := int(h.Len)
		if n < headerSize || n > len(b) {
			return 0
		}
		if (h.Level == unix.SOL_IP && h.Type == unix.IP_RECVERR || h.Level == unix.SOL_IPV6 && h.Type == unix.IPV6_RECVERR) && n >= headerSize+4 {
			return syscall.Errno(binary.NativeEndian.Uint32(b[headerSize:]))
		}
		b = b[min(aligned(n), len(b)):]
	}
	return 0
}

// unreachable reports whether an error says that the peer cannot be reached,
// rather than something of one datagram.
func unreachable(errno syscall.Errno) bool {
	switch errno {
	case syscall.ECONNREFUSED, syscall.EHOSTUNREACH, syscall.ENETUNREACH, syscall.EHOSTDOWN, syscall.ENOPROTOOPT, syscall.ENONET, syscall.ENETDOWN, syscall.EADDRNOTAVAIL:
		return true
	}
	return false
}

// flush sends what waits.
func (o *Outlet) flush(s *sending) {
	at := o.head
	o.head = none
	if p := &s.pieces[at]; p.next == none && p.segment == 0 && !o.closed {
		if _, errno := sysSend(int(o.fd), p.data, 0); errno == 0 {
			return
		}
	}
	for at != none && !o.closed {
		at = s.fill(at, int(o.limit))
		s.finish()
		o.push(s)
	}
}

// push sends the messages that were made.
func (o *Outlet) push(s *sending) {
	told := false
	for i := 0; !o.closed; {
		next, errno := s.push(int(o.fd), i)
		if next == s.count {
			return
		}
		i = next
		b := &s.batch[i]
		switch {
		case full(errno):
			o.handler.Unsent(o, s.left(i))
			return
		case indivisible(errno) && b.number > 1:
			o.limit = int32(b.size - 1)
			if lost := s.apart(int(o.fd), i); lost > 0 {
				o.handler.Unsent(o, lost)
			}
			i++
		case unreachable(errno) && !told:
			// It says so of what was sent before; this was not tried yet.
			told = true
			o.complaint()
			o.refused(errno)
		default:
			o.handler.Unsent(o, b.number)
			i++
		}
	}
}

func (o *Outlet) refused(errno syscall.Errno) {
	o.loop.guard(func() { o.handler.Refused(o, errno) })
}

// deliver does what Inlet.deliver does.
func (o *Outlet) deliver(i, n int) (next int) {
	d := o.loop.udp
	defer func() {
		if next = n; i < n {
			if r := recover(); r != nil {
				o.loop.panicked(r)
				next = i + 1
			}
		}
	}()
	for ; i < n && !o.closed; i++ {
		if d.show(&d.plain[i], i) {
			o.handler.Answered(o, &d.current)
		}
	}
	i = n
	return n
}

func (o *Outlet) again() {
	if !o.turns && !o.closed {
		o.turns = true
		o.loop.waiting = append(o.loop.waiting, o)
		o.loop.call()
	}
}

func (o *Outlet) turn() {
	o.turns = false
	if o.closed {
		o.loop.outletValues.Put(o)
		return
	}
	o.receive()
}
