package loop

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What handlers send while a batch is handled leaves when it is over: all that
// goes the same way then leaves in one call, and datagrams of one length as one
// packet that the kernel, or the network card, cuts apart (UDP_SEGMENT).

const (
	none = int32(-1)
	// maxSegment is the longest datagram that is sent together with others.
	maxSegment = 32 << 10
	// maxSegments and maxTogether bound what the kernel takes at once: 64 datagrams
	// (UDP_MAX_SEGMENTS) of 65,507 bytes in all.
	maxSegments = 64
	maxTogether = 65000
	maxVectors  = 256
)

// piece is one Send.
type piece struct {
	data     []byte
	segment  int32
	next     int32 // of the same socket
	to, from Endpoint
}

// sending is what waits for the end of a batch, and room for sending it.
type sending struct {
	pieces    []piece
	listeners []*UDPListener
	conns     []*UDPConn

	msgs    [datagramBatch]unix.Mmsghdr
	vectors [maxVectors]unix.Iovec
	names   [datagramBatch]unix.RawSockaddrInet6
	control [datagramBatch][controlSize]byte
	batch   [datagramBatch]bundle
	count   int // messages
	used    int // vectors
	alone   [1]unix.Iovec
}

func (s *sending) init() { s.pieces = make([]piece, 0, 2*datagramBatch) }

// backlog is what waits to leave by one socket.
type backlog struct {
	head, tail int32 // in sending.pieces
	limit      int32 // the longest datagram that is sent together with others
}

var noBacklog = backlog{head: none, limit: maxSegment}

// add appends a piece and reports whether there was nothing before.
func (s *sending) add(q *backlog, data []byte, segment int) (p *piece, first bool) {
	at := int32(len(s.pieces))
	s.pieces = append(s.pieces, piece{data: data, segment: int32(segment), next: none})
	if first = q.head == none; first {
		q.head = at
	} else {
		s.pieces[q.tail].next = at
	}
	q.tail = at
	return &s.pieces[at], first
}

// take empties the backlog and returns its first piece.
func (q *backlog) take() (head int32) {
	head, q.head = q.head, none
	return head
}

// sendAll sends what waits. What handlers send meanwhile is sent too.
func (l *Loop) sendAll() {
	d := l.udp
	s := &d.sending
	if len(s.pieces) == 0 {
		return
	}
	was := d.batch
	d.batch = true
	for i, j := 0, 0; i < len(s.conns) || j < len(s.listeners); {
		if i < len(s.conns) {
			s.conns[i].flush(s)
			i++
			continue
		}
		s.listeners[j].flush(s)
		j++
	}
	clear(s.conns)
	clear(s.listeners)
	s.conns, s.listeners = s.conns[:0], s.listeners[:0]
	for i := range s.pieces {
		s.pieces[i].data = nil
	}
	s.pieces = s.pieces[:0]
	d.batch = was
}

// push sends the messages from i on. It returns where it stopped, and why.
func (s *sending) push(fd, i int) (int, syscall.Errno) {
	for i < s.count {
		n, _, e := syscall.RawSyscall6(unix.SYS_SENDMMSG, uintptr(fd), uintptr(unsafe.Pointer(&s.msgs[i])), uintptr(s.count-i), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, 0, 0)
		switch e {
		case 0:
			i += int(n)
		case syscall.EINTR:
		default:
			return i, e
		}
	}
	return i, 0
}

// Send sends datagrams to a client, as Datagram has them: one, or with segment
// several. from is the address the client used, if the listener knows it. Within a
// handler data must stay as it is until the batch is over. What the socket does
// not take is lost, and Lost is told.
func (ln *UDPListener) Send(data []byte, segment int, to, from *Endpoint) {
	if ln.closed {
		return
	}
	d := ln.loop.udp
	p, first := d.sending.add(&ln.backlog, data, segment)
	p.to, p.from = *to, *from
	if first {
		d.sending.listeners = append(d.sending.listeners, ln)
	}
	if !d.batch {
		ln.loop.sendAll()
	}
}

// Send sends datagrams, as Datagram has them: one, or with segment several.
// Within a handler data must stay as it is until the batch is over. What the
// socket does not take is lost, and Unsent is told.
func (c *UDPConn) Send(data []byte, segment int) {
	if c.closed {
		return
	}
	d := c.loop.udp
	if _, first := d.sending.add(&c.backlog, data, segment); first {
		d.sending.conns = append(d.sending.conns, c)
	}
	if !d.batch {
		c.loop.sendAll()
	}
}

// flush sends what waits.
func (ln *UDPListener) flush(s *sending) {
	at := ln.backlog.take()
	for at != none && !ln.closed {
		at = s.fill(at, int(ln.backlog.limit))
		s.finish()
		ln.push(s)
	}
}

// flush sends what waits.
func (c *UDPConn) flush(s *sending) {
	at := c.backlog.take()
	if p := &s.pieces[at]; p.next == none && p.segment == 0 && !c.closed {
		if _, errno := sysSend(int(c.fd), p.data, 0); errno == 0 {
			return
		}
	}
	for at != none && !c.closed {
		at = s.fill(at, int(c.backlog.limit))
		s.finish()
		c.push(s)
	}
}

// push sends the messages that were made.
func (ln *UDPListener) push(s *sending) {
	for i := 0; !ln.closed; {
		next, errno := s.push(ln.fd, i)
		if next == s.count {
			return
		}
		i = next
		b := &s.batch[i]
		switch {
		case full(errno):
			for ; i < s.count; i++ {
				ln.handler.Lost(ln, s.batch[i].to, s.batch[i].number)
			}
			return
		case indivisible(errno) && b.number > 1:
			ln.backlog.limit = int32(b.size - 1)
			if lost := s.apart(ln.fd, i); lost > 0 {
				ln.handler.Lost(ln, b.to, lost)
			}
		default:
			ln.handler.Lost(ln, b.to, b.number)
		}
		i++
	}
}

// push sends the messages that were made.
func (c *UDPConn) push(s *sending) {
	told := false
	for i := 0; !c.closed; {
		next, errno := s.push(int(c.fd), i)
		if next == s.count {
			return
		}
		i = next
		b := &s.batch[i]
		switch {
		case full(errno):
			c.handler.Unsent(c, s.left(i))
			return
		case indivisible(errno) && b.number > 1:
			c.backlog.limit = int32(b.size - 1)
			if lost := s.apart(int(c.fd), i); lost > 0 {
				c.handler.Unsent(c, lost)
			}
			i++
		case unreachable(errno) && !told:
			// It says so of what was sent before; this was not tried yet.
			told = true
			c.readErrorQueue()
			c.refused(errno)
		default:
			c.handler.Unsent(c, b.number)
			i++
		}
	}
}
