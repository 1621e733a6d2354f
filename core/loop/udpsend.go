package loop

import (
	"encoding/binary"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Datagrams that handlers send during a batch leave at its end. All datagrams of a
// socket leave in one call. Those of equal length to one client leave as one packet,
// which the kernel or the network card segments (UDP_SEGMENT). For that, the datagrams
// to a client are placed next to each other, in order.

const (
	none = int32(-1)
	// maxSegment is the longest datagram that is sent together with others.
	maxSegment = 32 << 10
	// maxSegments and maxTogether stay within the kernel's limits per message: 64
	// datagrams (UDP_MAX_SEGMENTS) and 65,507 bytes.
	maxSegments = 64
	maxTogether = 65000
	maxVectors  = 256
	// bucketBits gives a batch eight times as many hash buckets as datagrams.
	bucketBits = 9
)

// piece holds the datagrams of one Send.
type piece struct {
	data     []byte
	segment  int32
	next     int32 // index of the next piece of the same socket
	filling  int32 // of its backlog when it was appended
	to, from Endpoint
}

// sending holds the datagrams that wait for the end of a batch, and space for sending
// them.
type sending struct {
	pieces    []piece
	fillings  int32                  // counts backlogs filled so far
	last      [1 << bucketBits]int32 // the newest piece to clients, by Endpoint.bucket
	listeners []*UDPListener
	conns     []*UDPConn

	msgs    [datagramBatch]unix.Mmsghdr
	vectors [maxVectors]unix.Iovec
	names   [datagramBatch]unix.RawSockaddrInet6
	control [datagramBatch][controlSize]byte
	batch   [datagramBatch]bundle
	count   int // number of messages
	used    int // number of vectors
	alone   [1]unix.Iovec
}

func (s *sending) init() { s.pieces = make([]piece, 0, 2*datagramBatch) }

// backlog lists the datagrams that wait to leave by one socket.
type backlog struct {
	head, tail int32 // indices into sending.pieces
	filling    int32 // identifies the current content among all backlogs and batches
	limit      int32 // the longest datagram that is sent together with others
}

var noBacklog = backlog{head: none, limit: maxSegment}

// add appends a piece and reports whether the backlog was empty.
func (s *sending) add(q *backlog, data []byte, segment int) (p *piece, first bool) {
	at, first := s.append(q, data, segment)
	if !first {
		s.pieces[q.tail].next = at
	}
	q.tail = at
	return &s.pieces[at], first
}

// addTo inserts a piece after the newest one to the same client, if that is found, and
// reports whether the backlog was empty.
func (s *sending) addTo(q *backlog, data []byte, segment int, to, from *Endpoint) (first bool) {
	at, first := s.append(q, data, segment)
	p, newest := &s.pieces[at], &s.last[to.bucket()]
	p.to, p.from = *to, *from
	before := *newest
	*newest = at
	if !first && before < at && s.pieces[before].filling == q.filling && s.pieces[before].to == *to {
		p.next, s.pieces[before].next = s.pieces[before].next, at
		if q.tail != before {
			return false
		}
	} else if !first {
		s.pieces[q.tail].next = at
	}
	q.tail = at
	return first
}

// append creates a piece. It is linked only if it is the first of its backlog.
func (s *sending) append(q *backlog, data []byte, segment int) (at int32, first bool) {
	at = int32(len(s.pieces))
	if first = q.head == none; first {
		s.fillings++
		q.head, q.filling = at, s.fillings
	}
	s.pieces = append(s.pieces, piece{data: data, segment: int32(segment), next: none, filling: q.filling})
	return at, first
}

// bucket returns the index in sending.last for a client. Clients may share a bucket;
// then the earlier piece is not found and the datagrams leave separately.
func (e *Endpoint) bucket() int {
	h := uint32(e.port)*0x9e37 ^ binary.NativeEndian.Uint32(e.addr[:]) ^ binary.NativeEndian.Uint32(e.addr[12:])
	return int((h ^ h>>16) * 0x9e3779b1 >> (32 - bucketBits))
}

// take empties the backlog and returns its first piece.
func (q *backlog) take() (head int32) {
	head, q.head = q.head, none
	return head
}

// sendAll sends all backlogs, including datagrams that handlers send meanwhile.
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

// push sends the messages from i on. It returns the index at which it stopped, and the
// error.
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

// Send sends data to a client: one datagram or, if segment is not 0, several of that
// length (see Datagram). from is the local source address if known. Within a handler,
// data must not change before the end of the batch. Datagrams that the socket does not
// accept are lost and reported to Lost.
func (ln *UDPListener) Send(data []byte, segment int, to, from *Endpoint) {
	if ln.closed {
		return
	}
	d := ln.loop.udp
	if d.sending.addTo(&ln.backlog, data, segment, to, from) {
		d.sending.listeners = append(d.sending.listeners, ln)
	}
	if !d.batch {
		ln.loop.sendAll()
	}
}

// Send sends data: one datagram or, if segment is not 0, several of that length (see
// Datagram). Within a handler, data must not change before the end of the batch.
// Datagrams that the socket does not accept are lost and reported to Unsent.
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

// flush sends the backlog.
func (ln *UDPListener) flush(s *sending) {
	at := ln.backlog.take()
	for at != none && !ln.closed {
		at = s.fill(at, int(ln.backlog.limit))
		s.finish()
		ln.push(s)
	}
}

// flush sends the backlog.
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

// push sends the prepared messages.
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

// push sends the prepared messages.
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
			// The error belongs to earlier datagrams. This message was not tried yet.
			told = true
			c.readErrorQueue()
			c.refused(errno)
		default:
			c.handler.Unsent(c, b.number)
			i++
		}
	}
}

// bundle is one message of sendmmsg: a datagram, or several of equal length.
type bundle struct {
	to, from Endpoint
	size     int // of each datagram
	bytes    int
	number   int  // number of datagrams
	first    int  // index of the first vector
	plain    int  // bytes of ancillary data without UDP_SEGMENT
	open     bool // more datagrams may join
}

// fill builds messages from the list of pieces that begins at index at, as many as fit.
// It returns the first piece that is not completely included.
func (s *sending) fill(at int32, limit int) int32 {
	s.count, s.used = 0, 0
	for at != none {
		p := &s.pieces[at]
		if !s.put(p, limit) {
			break
		}
		at = p.next
	}
	return at
}

// put adds a piece to the messages. If there is no more room it returns false and
// leaves the rest in p.
func (s *sending) put(p *piece, limit int) bool {
	for {
		chunk, size := p.data, len(p.data)
		if p.segment != 0 {
			size = int(p.segment)
			fit := 1
			if size <= limit {
				fit = min(maxSegments, maxTogether/size)
			}
			chunk = chunk[:min(fit*size, len(chunk))]
			size = min(size, len(chunk))
		}
		if !s.join(p, chunk, size, limit) && !s.begin(p, chunk, size, limit) {
			return false
		}
		p.data = p.data[len(chunk):]
		if len(p.data) == 0 {
			return true
		}
	}
}

// join adds datagrams of length size to the last message, if that is possible.
func (s *sending) join(p *piece, chunk []byte, size, limit int) bool {
	if s.count == 0 || s.used == maxVectors || len(chunk) == 0 {
		return false
	}
	b := &s.batch[s.count-1]
	number := count(chunk, size)
	if !b.open || size > b.size || size < b.size && number > 1 ||
		b.number+number > maxSegments || b.bytes+len(chunk) > maxTogether || b.to != p.to || b.from != p.from {
		return false
	}
	b.number, b.bytes = b.number+number, b.bytes+len(chunk)
	b.open = len(chunk)%b.size == 0
	s.vector(chunk)
	return true
}

// begin starts a new message. It returns false if there is no room for one.
func (s *sending) begin(p *piece, chunk []byte, size, limit int) bool {
	if s.count == len(s.batch) || s.used == maxVectors {
		return false
	}
	s.batch[s.count] = bundle{
		to: p.to, from: p.from, size: size, bytes: len(chunk), number: count(chunk, size), first: s.used,
		open: size > 0 && size <= limit && len(chunk)%size == 0,
	}
	s.count++
	s.vector(chunk)
	return true
}

func count(chunk []byte, size int) int {
	if size == 0 {
		return 1
	}
	return (len(chunk) + size - 1) / size
}

func (s *sending) vector(chunk []byte) {
	v := &s.vectors[s.used]
	v.Base = unsafe.SliceData(chunk)
	v.SetLen(len(chunk))
	s.used++
}

// finish writes the message headers.
func (s *sending) finish() {
	for i := range s.count {
		b := &s.batch[i]
		end := s.used
		if i+1 < s.count {
			end = s.batch[i+1].first
		}
		h := &s.msgs[i].Hdr
		*h = unix.Msghdr{Iov: &s.vectors[b.first]}
		h.SetIovlen(end - b.first)
		if b.to.kind != 0 {
			h.Name, h.Namelen = (*byte)(unsafe.Pointer(&s.names[i])), b.to.encode(&s.names[i])
		}
		control := s.control[i][:0]
		if b.from.kind != 0 {
			control = pktinfo(control, &b.from)
		}
		b.plain = len(control)
		if b.number > 1 {
			at := len(control)
			control = control[:at+aligned(headerSize+2)]
			setHeader(control[at:], unix.SOL_UDP, unix.UDP_SEGMENT, 2)
			binary.NativeEndian.PutUint16(control[at+headerSize:], uint16(b.size))
		}
		if len(control) > 0 {
			h.Control = &control[0]
			h.SetControllen(len(control))
		}
	}
}

// indivisible reports whether an error may mean that the datagrams of a message have to
// be sent one by one. They exceed the path MTU, or the network card does not support
// segmentation.
func indivisible(errno syscall.Errno) bool {
	return errno == syscall.EINVAL || errno == syscall.EMSGSIZE || errno == syscall.EIO || errno == syscall.EOPNOTSUPP
}

// full reports whether an error means that the socket accepts no more datagrams now.
func full(errno syscall.Errno) bool {
	return errno == syscall.EAGAIN || errno == syscall.ENOBUFS || errno == syscall.ENOMEM
}

// apart sends the datagrams of message i one by one and returns the number that failed.
func (s *sending) apart(fd, i int) (lost int) {
	b := &s.batch[i]
	h := s.msgs[i].Hdr
	vectors := unsafe.Slice(h.Iov, h.Iovlen)
	h.Iov = &s.alone[0]
	h.SetIovlen(1)
	h.SetControllen(b.plain)
	for _, v := range vectors {
		for data := unsafe.Slice(v.Base, v.Len); len(data) > 0; data = data[min(b.size, len(data)):] {
			s.alone[0].Base = unsafe.SliceData(data)
			s.alone[0].SetLen(min(b.size, len(data)))
			if sysSendmsg(fd, &h) != 0 {
				lost++
			}
		}
	}
	return lost
}

func sysSendmsg(fd int, h *unix.Msghdr) syscall.Errno {
	_, _, e := syscall.RawSyscall(unix.SYS_SENDMSG, uintptr(fd), uintptr(unsafe.Pointer(h)), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
	return e
}

// left returns the number of datagrams in the messages from i on.
func (s *sending) left(i int) (n int) {
	for ; i < s.count; i++ {
		n += s.batch[i].number
	}
	return n
}

// encode writes e as a sockaddr for sendmsg and returns its size. The port has the same
// offset in both families.
func (e *Endpoint) encode(sa *unix.RawSockaddrInet6) uint32 {
	binary.BigEndian.PutUint16((*[2]byte)(unsafe.Pointer(&sa.Port))[:], e.port)
	if e.kind == 4 {
		in := (*unix.RawSockaddrInet4)(unsafe.Pointer(sa))
		in.Family = unix.AF_INET
		copy(in.Addr[:], e.addr[:4])
		return unix.SizeofSockaddrInet4
	}
	sa.Family, sa.Flowinfo, sa.Addr, sa.Scope_id = unix.AF_INET6, 0, e.addr, e.scope
	return unix.SizeofSockaddrInet6
}
