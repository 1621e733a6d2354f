package loop

import (
	"net/netip"
	"syscall"
	"time"

	"github.com/panjf2000/gnet/v2/pkg/netpoll"
	"golang.org/x/sys/unix"
)

type flags uint16

const (
	flagReadable   flags = 1 << iota // the socket may hold bytes, an end or an error
	flagEnding                       // the peer ended a direction: a short read is not the last
	flagBroken                       // both directions ended, or an error waits
	flagConnecting                   // Dial is under way
	flagClosed
	flagShutdown  // send FIN when drained
	flagLinger    // throw away what arrives, close at its end
	flagAgain     // waits in the loop's run queue
	flagHungUp    // FIN was sent
	flagWatched   // the poller reports it
	flagWet       // flagReadable of the socket itself, below what makes it secure
	flagHandshake // Secure or Dial asked for a handshake that is not over
	flagHup       // an event said that the connection may be broken
	flagRoom      // the poller reports room to write, too
	flagUrgent    // urgent bytes came (tcp(7)): splicing stops and reads end there, a short one is not the last
)

// Conn is one TCP connection on a loop. See Handler for its events.
type Conn struct {
	loop    *Loop
	handler Handler
	out     []byte // what the kernel did not take, from out[sent:]
	sent    int
	peer    netip.AddrPort
	timer   Timer
	fd      int32
	flags   flags
	err     syscall.Errno // why writing failed
	secure  *secured      // nil for a plain connection
	pipe    *pipe         // what was spliced and has not left; nil without
}

// open makes a connection of a descriptor; the poller does not know it yet.
func (l *Loop) open(fd int, peer netip.AddrPort, h Handler, fl flags) *Conn {
	c := l.values.Get()
	*c = Conn{loop: l, handler: h, peer: peer, fd: int32(fd), flags: fl}
	c.timer.target = c
	for fd >= len(l.conns) {
		l.conns = append(l.conns, make([]*Conn, max(64, len(l.conns)/2))...)
	}
	l.conns[fd] = c
	descriptors.conns.Add(1)
	return c
}

// Loop returns the loop the connection lives on.
func (c *Conn) Loop() *Loop { return c.loop }

// Peer is the other side's address.
func (c *Conn) Peer() netip.AddrPort { return c.peer }

// SetHandler gives the connection's events to h from now on.
func (c *Conn) SetHandler(h Handler) { c.handler = h }

// Handler returns who gets the connection's events, nil once it lingers.
func (c *Conn) Handler() Handler { return c.handler }

// Closed reports whether the handler hears nothing more: Close, Abort or Linger
// was called, or the handshake failed.
func (c *Conn) Closed() bool { return c.flags&(flagClosed|flagLinger) != 0 }

// Connecting reports whether Dial has no outcome yet.
func (c *Conn) Connecting() bool {
	return c.flags&flagConnecting != 0 || c.flags&flagHandshake != 0 && c.secure.shake.client
}

// Readable reports whether Read is worth a try.
func (c *Conn) Readable() bool { return c.flags&flagReadable != 0 }

// Ending reports whether the peer has ended a direction or reset the
// connection; Read tells which once the bytes before it are read.
func (c *Conn) Ending() bool { return c.flags&flagEnding != 0 }

// Ended is Ending for certain, which is a question to the kernel: the event that
// said so may be about an earlier connection with the same descriptor.
func (c *Conn) Ended() bool {
	if c.flags&flagEnding != 0 && !c.polled(unix.POLLRDHUP|unix.POLLHUP|unix.POLLERR) {
		c.flags &^= flagEnding
	}
	return c.flags&flagEnding != 0
}

// Broken reports whether both directions ended or the connection was reset:
// nothing written to it arrives.
func (c *Conn) Broken() bool {
	if c.flags&(flagHup|flagBroken) == flagHup {
		c.flags &^= flagHup
		if c.polled(unix.POLLHUP | unix.POLLERR) { // see Ended

			c.flags |= flagBroken
		}
	}
	return c.flags&flagBroken != 0
}

// polled asks the kernel whether one of these events holds.
func (c *Conn) polled(events int16) bool {
	p := c.loop.poll[:]
	p[0] = unix.PollFd{Fd: c.fd, Events: events}
	n, err := unix.Poll(p, 0)
	return err == nil && n == 1 && p[0].Revents&events != 0
}

// Local asks the kernel for this side's address.
func (c *Conn) Local() netip.AddrPort {
	sa := &c.loop.addr
	size := uint32(unix.SizeofSockaddrAny)
	if sysGetsockname(int(c.fd), sa, &size) != 0 {
		return netip.AddrPort{}
	}
	return decodeAddr(sa)
}

func (c *Conn) readable() {
	switch {
	case c.flags&(flagLinger|flagHandshake) == 0:
		c.handler.Readable(c)
	case c.flags&flagHandshake != 0:
		c.shake()
	default:
		c.discard()
	}
}

// SetDeadline calls Handler.Expired once now passed deadline (nanoseconds on
// the loop's clock), to the tenth of a second; 0 unsets it. Moving it later
// costs one store.
func (c *Conn) SetDeadline(deadline int64) {
	if deadline == 0 {
		c.timer.deadline = 0
		return
	}
	c.loop.setTimer(&c.timer, deadline)
}

// SetIdle is SetDeadline for so long (nanoseconds) from now, for what is called
// with everything that is read: it mostly does without the clock, and Expired
// comes up to a tenth of a second later for it. What the loop knows of the time
// is a tick old at most while there are timers.
func (c *Conn) SetIdle(nanos int64) {
	if c.timer.linked() {
		c.loop.wheel.set(&c.timer, c.loop.now+tickNanos+nanos)
		return
	}
	c.SetDeadline(c.loop.Now() + nanos)
}

func (c *Conn) expire() {
	switch {
	case c.flags&flagLinger != 0:
		c.Close()
	case c.Connecting():
		h, shakes := c.handler, c.flags&flagHandshake != 0
		c.Close()
		if shakes {
			h.Connected(c, &HandshakeError{ErrTimeout})
			return
		}
		h.Connected(c, ErrTimeout)
	default:
		c.handler.Expired(c)
	}
}

// Dry returns a loop that runs nothing and has no descriptors: buffers, and a
// clock that does not move. With Imagine it lets what was written for
// events of connections be called without any.
func Dry() *Loop { return &Loop{base: time.Now()} }

// Imagine returns a connection of a dry loop, of no socket: all it can do is
// tell its peer, whether it is secured, and then the name it was asked for.
func (l *Loop) Imagine(peer netip.AddrPort, secure bool, name string) *Conn {
	c := &Conn{loop: l, peer: peer, fd: -1}
	if secure {
		c.secure = &secured{agreed: TLS{ServerName: name}}
	}
	return c
}

// watch makes the poller report what can be read, from what is there now on. An
// accepted connection is watched from the first time it has to wait for its
// client: one that is served and closed at once never is, which saves it a
// system call and an event. It is not asked for room to write until it needs
// some (watchRoom): there is some at once, which would be an event for nothing.
func (c *Conn) watch() error {
	if c.flags&flagWatched != 0 {
		return nil
	}
	pa := netpoll.PollAttachment{FD: int(c.fd)}
	if err := c.loop.poller.AddRead(&pa, true); err != nil {
		return c.unwatched(err)
	}
	c.watched()
	return nil
}

// Watched reports whether what the peer does next is an event: what it did before
// the connection was watched is one then.
func (c *Conn) Watched() bool { return c.flags&flagWatched != 0 }

// watchRoom is watch for both directions: something waits to be written.
func (c *Conn) watchRoom() error {
	if c.flags&flagRoom != 0 {
		return nil
	}
	pa, known := netpoll.PollAttachment{FD: int(c.fd)}, c.flags&flagWatched != 0
	add := c.loop.poller.AddReadWrite
	if known {
		add = c.loop.poller.ModReadWrite
	}
	if err := add(&pa, true); err != nil {
		return c.unwatched(err)
	}
	c.flags |= flagRoom
	if !known {
		c.watched()
	}
	return nil
}

// unwatched gives up a connection of which nothing would be heard.
func (c *Conn) unwatched(err error) error {
	c.err = syscall.ENOMEM
	c.flags |= flagBroken
	c.SetDeadline(c.loop.Now())
	return err
}

// watched notes that the poller reports what the socket holds.
func (c *Conn) watched() {
	if c.secure == nil {
		c.flags &^= flagReadable // else there may be plaintext
	}
	c.flags = c.flags&^flagWet | flagWatched
}

// Wait says that the handler has read enough for now and wants Readable when
// there is more, at once if there is some already.
func (c *Conn) Wait() {
	switch {
	case c.flags&flagWatched == 0:
		if c.watch() == nil && c.secure != nil && c.flags&flagReadable != 0 {
			c.loop.Again(c)
		}
	case c.flags&flagReadable != 0:
		c.loop.Again(c)
	}
}

// dry is what Read reports when there is nothing now; from then on the poller
// tells when there is.
func (c *Conn) dry() error {
	if c.watch() != nil {
		return c.err
	}
	return ErrDry
}

// Handler is what a connection's events go to. All methods run on the
// connection's loop. A handler may close the connection, or any other of the
// same loop, at any time; no method is called for a connection after Close.
type Handler interface {
	// Readable says that Read is worth a try: bytes, an end or an error wait.
	// It is called once per edge: a handler that stops before Read returned
	// ErrDry must come back by itself: when its reason to stop is gone, or by
	// Conn.Wait. An accepted connection is Readable once at the start.
	Readable(c *Conn)
	// Drained says that everything handed to Write has left, after Pending
	// was not zero.
	Drained(c *Conn)
	// Connected reports the outcome of Dial or Secure: nil, or why it failed.
	// After a failure, unless it is ErrPlain, Conn.Closed holds already, and the
	// handler lets go of the connection.
	Connected(c *Conn, err error)
	// Expired says that the deadline passed. The deadline is unset then.
	Expired(c *Conn)
	// Failed says that the handler panicked. The connection is closed
	// already; the handler lets go of it.
	Failed(c *Conn, err error)
}

// Counters is where a loop counts; the fields may live in shared memory and
// are written by the loop alone. What is nil is counted nowhere.
type Counters struct {
	Events, Accepted, AcceptErrors, Panics *uint64
	// Handshakes of accepted connections: complete, of these resumed, failed,
	// closed because too many waited, and connections that did not speak TLS.
	Handshakes, HandshakesResumed, HandshakesFailed, HandshakesRefused, PlainOnTLS *uint64
	// Handshakes of dialled connections: complete, and of these resumed.
	DialHandshakes, DialHandshakesResumed *uint64
}

// fill gives every counter memory, those the owner of c leaves nil too.
func (c *Counters) fill() {
	for _, p := range [...]**uint64{
		&c.Events, &c.Accepted, &c.AcceptErrors, &c.Panics,
		&c.Handshakes, &c.HandshakesResumed, &c.HandshakesFailed, &c.HandshakesRefused, &c.PlainOnTLS,
		&c.DialHandshakes, &c.DialHandshakesResumed,
	} {
		if *p == nil {
			*p = new(uint64)
		}
	}
}

// countShaken counts a complete handshake.
func (l *Loop) countShaken(dialled, resumed bool) {
	all, again := l.count.Handshakes, l.count.HandshakesResumed
	if dialled {
		all, again = l.count.DialHandshakes, l.count.DialHandshakesResumed
	}
	*all++
	if resumed {
		*again++
	}
}
