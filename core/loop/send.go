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
	pieces  []piece
	inlets  []*Inlet
	outlets []*Outlet

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
	for i, j := 0, 0; i < len(s.outlets) || j < len(s.inlets); {
		if i < len(s.outlets) {
			s.outlets[i].flush(s)
			i++
			continue
		}
		s.inlets[j].flush(s)
		j++
	}
	clear(s.outlets)
	clear(s.inlets)
	s.outlets, s.inlets = s.outlets[:0], s.inlets[:0]
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

// indivisible reports whether an error may mean that the datagrams of a message
// have to be sent one by one: they are longer than the way can carry whole, or
// the network card cannot be given several.
func indivisible(errno syscall.Errno) bool {
	return errno == syscall.EINVAL || errno == syscall.EMSGSIZE || errno == syscall.EIO || errno == syscall.EOPNOTSUPP
}

// full reports whether an error says that nothing more can be sent now.
func full(errno syscall.Errno) bool {
	return errno == syscall.EAGAIN || errno == syscall.ENOBUFS || errno == syscall.ENOMEM
}

// apart sends the datagrams of message i one by one and returns how many did
// not leave.
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

// left counts the datagrams of the messages from i on.
func (s *sending) left(i int) (n int) {
	for ; i < s.count; i++ {
		n += s.batch[i].number
	}
	return n
}
