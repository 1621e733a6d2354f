package loop

import (
	"os"
	"syscall"

	"github.com/panjf2000/gnet/v2/pkg/netpoll"
	"golang.org/x/sys/unix"
)

// InletHandler is what an inlet's events go to, on its loop.
type InletHandler interface {
	// Received is told of each datagram; d is valid until it returns.
	Received(in *Inlet, d *Datagram)
	// Lost says that count datagrams to a client did not leave.
	Lost(in *Inlet, to Endpoint, count int)
}

// Inlet is a bound UDP socket that clients send to, served by one loop.
type Inlet struct {
	loop    *Loop
	fd      int
	handler InletHandler
	backlog backlog
	turns   bool // waits for another turn
	closed  bool
}

// Inlet serves a bound, non-blocking UDP socket. The loop owns a duplicate of
// f's descriptor; f stays the caller's. Answers leave from the address the
// client used.
func (l *Loop) Inlet(f *os.File, h InletHandler) (*Inlet, error) {
	fd, err := dup(f)
	if err != nil {
		return nil, err
	}
	in := &Inlet{loop: l, fd: fd, handler: h, backlog: noBacklog}
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
	l.inlets[fd] = in
	countOpen(&descriptors.inlets, 1, fd)
	if err := l.poller.AddRead(&netpoll.PollAttachment{FD: fd}, true); err != nil {
		in.Close()
		return nil, err
	}
	return in, nil
}

// together lets the kernel give several datagrams at once. Kernels before 5.0
// cannot, and nothing is lost.
func together(fd int) { _ = unix.SetsockoptInt(fd, unix.SOL_UDP, unix.UDP_GRO, 1) }

// Handler returns who gets the inlet's events.
func (in *Inlet) Handler() InletHandler { return in.handler }

// Loop returns the loop the inlet lives on.
func (in *Inlet) Loop() *Loop { return in.loop }

// Close stops receiving. The socket itself closes when nobody else holds it.
func (in *Inlet) Close() {
	if in.closed {
		return
	}
	in.closed = true
	delete(in.loop.inlets, in.fd)
	_ = in.loop.poller.Delete(in.fd) // closing does not, while somebody else holds the socket
	countOpen(&descriptors.inlets, -1, in.fd)
	sysClose(in.fd)
}

// Send sends datagrams to a client, as Datagram has them: one, or with segment
// several. from is the address the client used, if the inlet knows it. Within a
// handler data must stay as it is until the batch is over. What the socket does
// not take is lost, and Lost is told.
func (in *Inlet) Send(data []byte, segment int, to, from *Endpoint) {
	if in.closed {
		return
	}
	d := in.loop.udp
	p, first := d.sending.add(&in.backlog, data, segment)
	p.to, p.from = *to, *from
	if first {
		d.sending.inlets = append(d.sending.inlets, in)
	}
	if !d.batch {
		in.loop.sendAll()
	}
}

// receive takes one batch.
func (in *Inlet) receive() {
	l, d := in.loop, in.loop.udp
	for range errorsPerTurn {
		if in.closed {
			return
		}
		n, errno := d.receive(in.fd, &d.named)
		switch errno {
		case 0:
		case syscall.EAGAIN:
			return
		default: // an error of an earlier answer, or a shortage that will pass
			if errno == syscall.EINTR || errno != syscall.ENOBUFS && errno != syscall.ENOMEM {
				continue
			}
			in.again()
			return
		}
		d.batch = true
		for i := 0; i < n; {
			i = in.deliver(i, n)
		}
		d.batch = false
		ready(&d.named, n, true)
		l.sendAll()
		if n == datagramBatch {
			in.again()
		}
		return
	}
	in.again()
}

// deliver hands slots to the handler from i on and returns where to go on: a
// panic costs one datagram.
func (in *Inlet) deliver(i, n int) (next int) {
	d := in.loop.udp
	defer func() {
		if next = n; i < n {
			if r := recover(); r != nil {
				in.loop.panicked(r)
				next = i + 1
			}
		}
	}()
	for ; i < n && !in.closed; i++ {
		if d.show(&d.named[i], i) && d.current.From.IsValid() {
			in.handler.Received(in, &d.current)
		}
	}
	i = n
	return n
}

// flush sends what waits.
func (in *Inlet) flush(s *sending) {
	at := in.backlog.take()
	for at != none && !in.closed {
		at = s.fill(at, int(in.backlog.limit))
		s.finish()
		in.push(s)
	}
}

// push sends the messages that were made.
func (in *Inlet) push(s *sending) {
	for i := 0; !in.closed; {
		next, errno := s.push(in.fd, i)
		if next == s.count {
			return
		}
		i = next
		b := &s.batch[i]
		switch {
		case full(errno):
			for ; i < s.count; i++ {
				in.handler.Lost(in, s.batch[i].to, s.batch[i].number)
			}
			return
		case indivisible(errno) && b.number > 1:
			in.backlog.limit = int32(b.size - 1)
			if lost := s.apart(in.fd, i); lost > 0 {
				in.handler.Lost(in, b.to, lost)
			}
		default:
			in.handler.Lost(in, b.to, b.number)
		}
		i++
	}
}

// again gives the inlet another turn after the others had theirs.
func (in *Inlet) again() { in.loop.later(in, &in.turns) }

func (in *Inlet) turn() {
	in.turns = false
	if !in.closed {
		in.receive()
	}
}
