package loop

import (
	"encoding/binary"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	// datagramBatch is how many datagrams one call receives, and one socket may
	// take of a turn.
	datagramBatch = 64
	// errorsPerTurn bounds the errors one socket may report in a turn.
	errorsPerTurn = 16
	// datagramSize takes the longest datagram whole, and what the kernel has
	// put together of several (UDP_GRO).
	datagramSize = 64 << 10
	// slotSize keeps the beginnings of slots out of each other's cache lines.
	slotSize    = datagramSize + 192
	controlSize = 96
)

// Datagram is what arrived: one datagram, or several of one sender at once.
type Datagram struct {
	// Data is valid until the handler returns; what is sent on is not copied, it
	// leaves when the batch it came with is over.
	Data []byte
	// Segment is 0 when Data is one datagram, else the length of each of them;
	// only the last may be shorter. None is empty then.
	Segment int
	// First says that it begins a batch: all that was sent on before has left.
	First bool
	// From is the sender; not set by connected sockets, which have one peer.
	From Endpoint
	// To is the address of this machine it was sent to, without a port. Only
	// set by listeners that are bound to all addresses.
	To Endpoint
}

// Count is how many datagrams there are.
func (d *Datagram) Count() int {
	if d.Segment == 0 {
		return 1
	}
	return (len(d.Data) + d.Segment - 1) / d.Segment
}

// receive fills slots from a socket and returns how many; they are read by show.
func (d *datagrams) receive(fd int, msgs *[datagramBatch]unix.Mmsghdr) (int, syscall.Errno) {
	n, _, e := syscall.RawSyscall6(unix.SYS_RECVMMSG, uintptr(fd), uintptr(unsafe.Pointer(&msgs[0])), datagramBatch, unix.MSG_DONTWAIT, 0, 0)
	if e != 0 {
		return 0, e
	}
	return int(n), 0
}

// ready makes the headers of the first n slots fit for receiving again. All
// are whenever something is received.
func ready(msgs *[datagramBatch]unix.Mmsghdr, n int, named bool) {
	for i := range n {
		msgs[i].Hdr.SetControllen(controlSize)
		if named {
			msgs[i].Hdr.Namelen = unix.SizeofSockaddrInet6
		}
	}
}

// show makes the datagram of a slot the current one. It reports false for what
// the kernel had to cut, which no datagram is long enough for.
func (d *datagrams) show(m *unix.Mmsghdr, i int) bool {
	c := &d.current
	c.Data, c.Segment, c.To = d.space[i*slotSize:][:m.Len:m.Len], 0, Endpoint{}
	if m.Hdr.Name != nil {
		c.From.decode(&d.names[i])
	}
	if n := int(m.Hdr.Controllen); n != 0 {
		c.readControl(d.control[i][:n])
	}
	return m.Hdr.Flags&unix.MSG_TRUNC == 0
}

// decode reads what recvmsg filled in.
func (e *Endpoint) decode(sa *unix.RawSockaddrInet6) {
	switch sa.Family {
	case unix.AF_INET:
		in := (*unix.RawSockaddrInet4)(unsafe.Pointer(sa))
		*e = Endpoint{port: binary.BigEndian.Uint16((*[2]byte)(unsafe.Pointer(&in.Port))[:]), kind: 4}
		copy(e.addr[:4], in.Addr[:])
	case unix.AF_INET6:
		*e = Endpoint{addr: sa.Addr, scope: sa.Scope_id, port: binary.BigEndian.Uint16((*[2]byte)(unsafe.Pointer(&sa.Port))[:]), kind: 6}
	default:
		*e = Endpoint{}
	}
}

// receive takes one batch.
func (ln *UDPListener) receive() {
	l, d := ln.loop, ln.loop.udp
	for range errorsPerTurn {
		if ln.closed {
			return
		}
		n, errno := d.receive(ln.fd, &d.named)
		switch errno {
		case 0:
		case syscall.EAGAIN:
			ln.received(0)
			return
		default: // an error of an earlier answer, or a shortage that will pass
			if errno == syscall.EINTR || errno != syscall.ENOBUFS && errno != syscall.ENOMEM {
				continue
			}
			ln.again()
			return
		}
		d.batch, d.current.First = true, true
		for i := 0; i < n; {
			i = ln.deliver(i, n)
		}
		d.batch = false
		ready(&d.named, n, true)
		l.sendAll()
		ln.received(n)
		return
	}
	ln.again()
}

// deliver hands slots to the handler from i on and returns where to go on: a
// panic costs one datagram.
func (ln *UDPListener) deliver(i, n int) (next int) {
	d := ln.loop.udp
	defer func() {
		if r := recover(); r != nil {
			ln.loop.panicked(r)
			next = i + 1
		}
	}()
	for ; i < n && !ln.closed; i++ {
		if d.show(&d.named[i], i) && d.current.From.kind != 0 {
			ln.handler.Received(ln, &d.current)
			d.current.First = false
		}
	}
	return n
}

// serve brings one event to the socket.
func (c *UDPConn) serve(ev uint32) {
	if ev&unix.EPOLLERR != 0 {
		if errno := c.readErrorQueue(); errno != 0 {
			c.refused(errno)
		}
	}
	c.receive()
}

// receive takes one batch.
func (c *UDPConn) receive() {
	l, d := c.loop, c.loop.udp
	for range errorsPerTurn {
		if c.closed {
			return
		}
		n, errno := d.receive(int(c.fd), &d.plain)
		switch errno {
		case 0:
		case syscall.EAGAIN:
			return
		case syscall.EINTR:
			continue
		case syscall.ENOBUFS, syscall.ENOMEM:
			c.again()
			return
		default: // it came after the event
			if found := c.readErrorQueue(); !unreachable(errno) {
				errno = found
			}
			if errno != 0 {
				c.refused(errno)
			}
			continue
		}
		d.batch = true
		for i := 0; i < n; {
			i = c.deliver(i, n)
		}
		d.batch = false
		ready(&d.plain, n, false)
		l.sendAll()
		if n == datagramBatch {
			c.again()
		}
		return
	}
	c.again()
}

// deliver does what UDPListener.deliver does.
func (c *UDPConn) deliver(i, n int) (next int) {
	d := c.loop.udp
	defer func() {
		if r := recover(); r != nil {
			c.loop.panicked(r)
			next = i + 1
		}
	}()
	for ; i < n && !c.closed; i++ {
		if d.show(&d.plain[i], i) {
			c.handler.Answered(c, &d.current)
		}
	}
	return n
}

func (c *UDPConn) refused(errno syscall.Errno) {
	c.loop.guard(func() { c.handler.Refused(c, errno) })
}

// turner is a UDP socket that waits for another turn.
type turner interface{ turn() }

// later gives t another turn; queued says whether it waits for one already.
func (l *Loop) later(t turner, queued *bool) {
	if !*queued {
		*queued = true
		l.waiting = append(l.waiting, t)
		l.call()
	}
}

// runDatagrams gives the sockets whose turn was cut short another one.
func (l *Loop) runDatagrams() {
	for n := len(l.waiting); n > 0; n-- {
		t := l.waiting[0]
		copy(l.waiting, l.waiting[1:])
		l.waiting[len(l.waiting)-1] = nil
		l.waiting = l.waiting[:len(l.waiting)-1]
		t.turn()
	}
}

// again gives the listener another turn after the others had theirs.
func (ln *UDPListener) again() { ln.loop.later(ln, &ln.queued) }

func (ln *UDPListener) turn() {
	ln.queued = false
	if !ln.closed {
		ln.receive()
	}
}

func (c *UDPConn) again() {
	if !c.closed {
		c.loop.later(c, &c.queued)
	}
}

func (c *UDPConn) turn() {
	c.queued = false
	if c.closed {
		c.loop.udpConnValues.Put(c)
		return
	}
	c.receive()
}
