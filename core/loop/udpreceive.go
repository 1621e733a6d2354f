package loop

import (
	"encoding/binary"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	// datagramBatch is the number of datagrams received by one call, and by one socket
	// per turn.
	datagramBatch = 64
	// errorsPerTurn bounds the errors reported for one socket per turn.
	errorsPerTurn = 16
	// datagramSize holds the longest datagram, or several coalesced by the kernel
	// (UDP_GRO).
	datagramSize = 64 << 10
	// slotSize is padded so that the beginnings of slots lie in different cache sets.
	slotSize    = datagramSize + 192
	controlSize = 96
)

// Datagram is one received datagram, or several from one sender coalesced by UDP_GRO.
type Datagram struct {
	// Data is valid until the handler returns. Forwarded bytes are not copied: they
	// leave at the end of the batch.
	Data []byte
	// Segment is 0 if Data is one datagram. Otherwise it is the length of each of them;
	// only the last may be shorter, and none is empty.
	Segment int
	// First means that d begins a batch: all earlier datagrams that were forwarded have
	// left.
	First bool
	// From is the sender. It is not set for connected sockets.
	From Endpoint
	// To is the local destination address, without a port. It is only set by listeners
	// bound to all addresses.
	To Endpoint
}

// Count returns the number of datagrams in d.
func (d *Datagram) Count() int {
	if d.Segment == 0 {
		return 1
	}
	return (len(d.Data) + d.Segment - 1) / d.Segment
}

// receive fills slots from a socket and returns their number. show reads them.
func (d *datagrams) receive(fd int, msgs *[datagramBatch]unix.Mmsghdr) (int, syscall.Errno) {
	n, _, e := syscall.RawSyscall6(unix.SYS_RECVMMSG, uintptr(fd), uintptr(unsafe.Pointer(&msgs[0])), datagramBatch, unix.MSG_DONTWAIT, 0, 0)
	if e != 0 {
		return 0, e
	}
	return int(n), 0
}

// ready resets the headers of the first n slots. All headers must be reset before each
// receive.
func ready(msgs *[datagramBatch]unix.Mmsghdr, n int, named bool) {
	for i := range n {
		msgs[i].Hdr.SetControllen(controlSize)
		if named {
			msgs[i].Hdr.Namelen = unix.SizeofSockaddrInet6
		}
	}
}

// show makes the datagram of slot i the current one. It returns false if the kernel
// truncated it, which no valid datagram causes.
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

// decode reads a sockaddr filled in by recvmsg.
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

// receive handles one batch.
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
		default: // the ICMP error of an earlier response, or a temporary shortage
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

// deliver passes the slots from i on to the handler and returns the index to continue
// at. A panic loses only one datagram.
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

// serve handles an event of the socket.
func (c *UDPConn) serve(ev uint32) {
	if ev&unix.EPOLLERR != 0 {
		if errno := c.readErrorQueue(); errno != 0 {
			c.refused(errno)
		}
	}
	c.receive()
}

// receive handles one batch.
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
		default: // the error arrived after the event
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

// deliver works like UDPListener.deliver.
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

// later schedules another turn for t unless *queued is set, which means that one is
// scheduled already.
func (l *Loop) later(t turner, queued *bool) {
	if !*queued {
		*queued = true
		l.waiting = append(l.waiting, t)
		l.call()
	}
}

// runDatagrams gives another turn to sockets that used up theirs.
func (l *Loop) runDatagrams() {
	for n := len(l.waiting); n > 0; n-- {
		t := l.waiting[0]
		copy(l.waiting, l.waiting[1:])
		l.waiting[len(l.waiting)-1] = nil
		l.waiting = l.waiting[:len(l.waiting)-1]
		t.turn()
	}
}

// again schedules another turn for the listener, after other sockets.
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
