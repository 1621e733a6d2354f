package loop

import (
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
	// Data is valid until the handler returns; what is sent on is copied by
	// nobody, it leaves when the batch it came with is over.
	Data []byte
	// Segment is 0 when Data is one datagram, else the length of each of them;
	// only the last may be shorter. None is empty then.
	Segment int
	// From is the sender; not set for outlets, which have one.
	From Endpoint
	// To is the address of this machine it was sent to, without a port. Only
	// set by inlets that are bound to all addresses.
	To Endpoint
}

// Count is how many datagrams there are.
func (d *Datagram) Count() int {
	if d.Segment == 0 {
		return 1
	}
	return (len(d.Data) + d.Segment - 1) / d.Segment
}

// datagrams is what a loop needs for UDP. Nothing of it is there before the
// first inlet or outlet; buffers are memory of the system's until bytes lie in
// them.
type datagrams struct {
	space   []byte // datagramBatch slots
	plain   [datagramBatch]unix.Mmsghdr
	named   [datagramBatch]unix.Mmsghdr // the same, and who sent it
	vectors [datagramBatch]unix.Iovec
	names   [datagramBatch]unix.RawSockaddrInet6
	control [datagramBatch][controlSize]byte
	current Datagram // what the handler is shown
	batch   bool     // one is being handled: what is sent waits for its end
	sending sending
	errors  [256]byte // an ancillary message of an error
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
