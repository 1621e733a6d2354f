package loop

import (
	"net/netip"
	"syscall"

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
	backlog backlog
	turns   bool // waits for another turn
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
	*out = Outlet{loop: l, handler: h, fd: int32(fd), backlog: noBacklog}
	for fd >= len(l.outlets) {
		l.outlets = append(l.outlets, make([]*Outlet, max(64, len(l.outlets)/2))...)
	}
	l.outlets[fd] = out
	descriptors.outlets.Add(1)
	if err := l.poller.AddRead(&netpoll.PollAttachment{FD: fd}, true); err != nil {
		out.Close()
		return nil, err
	}
	return out, nil
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
	descriptors.outlets.Add(-1)
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
	if _, first := d.sending.add(&o.backlog, data, segment); first {
		d.sending.outlets = append(d.sending.outlets, o)
	}
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
		default: // it came after the event
			if found := o.complaint(); !unreachable(errno) {
				errno = found
			}
			if errno != 0 {
				o.refused(errno)
			}
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

// flush sends what waits.
func (o *Outlet) flush(s *sending) {
	at := o.backlog.take()
	if p := &s.pieces[at]; p.next == none && p.segment == 0 && !o.closed {
		if _, errno := sysSend(int(o.fd), p.data, 0); errno == 0 {
			return
		}
	}
	for at != none && !o.closed {
		at = s.fill(at, int(o.backlog.limit))
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
			o.backlog.limit = int32(b.size - 1)
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
	if !o.closed {
		o.loop.later(o, &o.turns)
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
