package loop

import (
	"encoding/binary"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// bundle is one message: a datagram, or several of one length.
type bundle struct {
	to, from Endpoint
	size     int // of each datagram
	bytes    int
	number   int  // of datagrams
	first    int  // vector
	plain    int  // bytes of control without the size of datagrams
	open     bool // more may join
}

// fill makes messages of the pieces from at on, as many as there is room for,
// and returns the first piece that is not in them completely.
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

// put puts a piece into messages, reporting false when there is no more room:
// p is what is left of it then.
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

// join adds datagrams of that size to the last message if it may have them.
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

// begin makes a new message.
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

// finish writes the headers of the messages.
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

// encode writes e for sendmsg and returns the size. The port of both families
// lies in the same place.
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
