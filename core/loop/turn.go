package loop

import (
	"encoding/binary"
	"log/slog"
	"math/bits"
	"runtime/debug"
	"time"

	"github.com/panjf2000/gnet/v2/pkg/netpoll"
	"golang.org/x/sys/unix"
)

// Now returns the loop's clock in nanoseconds. It is read at most once per event.
func (l *Loop) Now() int64 {
	if l.stale {
		l.read()
	}
	return l.now
}

func (l *Loop) read() {
	l.now = int64(time.Since(l.base))
	l.stale = false
}

// Time converts a value of the loop's clock to wall-clock time.
func (l *Loop) Time(now int64) time.Time { return l.base.Add(time.Duration(now)) }

// tick starts a new event.
func (l *Loop) tick() {
	l.stale = true
	l.event++
}

// dispatch is the poller's callback: descriptor fd may be ready.
func (l *Loop) dispatch(fd int, ev netpoll.IOEvent, _ netpoll.IOFlags) error {
	l.tick()
	*l.count.Events++
	if fd < len(l.conns) {
		if c := l.conns[fd]; c != nil {
			l.serve(c, uint32(ev))
			return nil
		}
	}
	if fd < len(l.udpConns) {
		if c := l.udpConns[fd]; c != nil {
			c.serve(uint32(ev))
			return nil
		}
	}
	switch fd {
	case l.timerFD:
		l.tickDue()
		return nil
	case l.turnFD:
		l.runAgain()
		return nil
	case l.moderation.timer:
		l.moderation.ring()
		return nil
	}
	if ln := l.listeners[fd]; ln != nil {
		l.guard(ln.accept)
	} else if ln := l.udpListeners[fd]; ln != nil {
		ln.receive()
	}
	return nil
}

// serve handles an event of a connection.
func (l *Loop) serve(c *Conn, ev uint32) {
	defer c.Contain()
	if ev&(unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0 {
		c.flags |= flagEnding
		if ev&(unix.EPOLLHUP|unix.EPOLLERR) != 0 && c.flags&(flagConnecting|flagLinger) == 0 {
			c.flags |= flagHup
		}
	}
	if ev&(unix.EPOLLIN|unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0 {
		c.flags |= flagReadable | flagWet
	}
	if ev&unix.EPOLLPRI != 0 {
		c.flags |= flagUrgent
	}
	if c.flags&flagConnecting != 0 && !c.finishConnect() {
		return
	}
	if (len(c.out) != 0 || c.pipe != nil) && ev&(unix.EPOLLOUT|unix.EPOLLHUP|unix.EPOLLERR) != 0 {
		c.flush()
	}
	if c.flags&(flagReadable|flagClosed) == flagReadable {
		c.readable()
	}
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

// Again gives c another turn after the other connections. It is for handlers that have
// used up their budget while more input waits.
func (l *Loop) Again(c *Conn) {
	if c.flags&flagAgain != 0 {
		return
	}
	c.flags |= flagAgain
	l.again = append(l.again, c)
	l.call()
}

// call schedules runAgain after the next poll of all descriptors. A task of the poller
// is unsuitable: tasks that start tasks run without polling in between, so one busy
// connection would starve the others. The eventfd is edge triggered, so its counter
// need not be read.
func (l *Loop) call() {
	if l.called {
		return
	}
	l.called = true
	_, _ = unix.Write(l.turnFD, one)
}

var one = binary.NativeEndian.AppendUint64(nil, 1)

func (l *Loop) runAgain() {
	l.called = false
	l.acceptMore()
	l.runDatagrams()
	if l.shakes.waiting.count != 0 || l.shakes.started != 0 {
		l.shakes.admit()
	}
	l.running, l.again = l.again, l.running[:0]
	for i, c := range l.running {
		l.running[i] = nil
		if c.flags&flagAgain == 0 {
			continue // closed meanwhile, and possibly reused
		}
		c.flags &^= flagAgain
		if c.flags&flagClosed == 0 {
			l.turn(c)
		}
	}
}

func (l *Loop) turn(c *Conn) {
	defer c.Contain()
	c.readable()
}

// Contain is deferred around all work for c. A panic then closes c and never ends the
// loop. The loop does this for events of c. Code that works for c during an event of
// another connection must do so as well: otherwise the panic closes the other
// connection instead, or none if that was closed already. The other event continues
// afterwards.
func (c *Conn) Contain() {
	r := recover()
	if r == nil {
		return
	}
	l := c.loop
	l.panicked(r)
	if c.flags&flagClosed == 0 {
		h := c.handler
		c.Abort()
		if h != nil {
			l.guard(func() { h.Failed(c, ErrPanic) })
		}
	}
}

func (l *Loop) guard(fn func()) {
	defer func() {
		if r := recover(); r != nil {
			l.panicked(r)
		}
	}()
	fn()
}

func (l *Loop) panicked(r any) {
	*l.count.Panics++
	slog.Error("panic contained", "cause", r, "stack", string(debug.Stack()))
}

// Front returns p extended by n free bytes in front of it. A rewritten head is placed
// there, so that it leaves in one write with the body read after it. It returns false
// if p does not lie in In or the space is insufficient.
func (l *Loop) Front(p []byte, n int) ([]byte, bool) {
	all := p[:cap(p)]
	if len(all) == 0 || &all[len(all)-1] != &l.space[len(l.space)-1] {
		return nil, false
	}
	at := len(l.space) - len(all)
	if n > at {
		return nil, false
	}
	return l.space[at-n : at+len(p)], true
}

// FreeList recycles values of one type on one loop. A value that was put back is reused
// only in a later event, because code further up the stack may still read it.
type FreeList[T any] struct {
	loop    *Loop
	free    []*T
	resting []*T
	event   uint64
}

// NewFreeList returns an empty list that belongs to l.
func NewFreeList[T any](l *Loop) *FreeList[T] { return &FreeList[T]{loop: l} }

// Get returns a value from the list, unchanged since Put, or a new one.
func (f *FreeList[T]) Get() *T {
	if len(f.resting) != 0 && f.event != f.loop.event {
		f.free = append(f.free, f.resting...)
		clear(f.resting)
		f.resting = f.resting[:0]
	}
	if n := len(f.free); n > 0 {
		v := f.free[n-1]
		f.free = f.free[:n-1]
		return v
	}
	return new(T)
}

// Put returns v to the list. The caller must have cleared sensitive data.
func (f *FreeList[T]) Put(v *T) {
	f.resting = append(f.resting, v)
	f.event = f.loop.event
}

// Buffer classes are powers of two from 512 B to 512 KiB. A connection holds a buffer
// only while bytes wait in it.
const (
	minClass   = 9
	maxClass   = 19
	classCount = maxClass - minClass + 1

	// MaxBuffer is the capacity of the largest buffer that Get returns.
	MaxBuffer = 1 << maxClass
)

// keepPerClass returns the number of idle buffers kept in a class. The limit is 64 KiB
// per class or two buffers, whichever is more, and about 3 MiB per loop in total.
func keepPerClass(class int) int { return max(2, 1<<16>>(class+minClass)) }

// BufferPool provides byte buffers in size classes. It belongs to one loop and is not
// safe for concurrent use.
type BufferPool struct {
	free [classCount][][]byte
}

// Get returns an empty buffer with room for at least n bytes. n must not exceed
// MaxBuffer.
func (p *BufferPool) Get(n int) []byte {
	class := classOf(n)
	free := p.free[class]
	if len(free) == 0 {
		return make([]byte, 0, 1<<(class+minClass))
	}
	b := free[len(free)-1]
	p.free[class] = free[:len(free)-1]
	return b
}

// Put returns b to the pool. The caller must not use it afterwards.
func (p *BufferPool) Put(b []byte) {
	c := cap(b)
	if c < 1<<minClass || c > MaxBuffer || c&(c-1) != 0 {
		return // not from a pool, e.g. grown by append: left to the garbage collector
	}
	class := bits.TrailingZeros(uint(c)) - minClass
	if len(p.free[class]) < keepPerClass(class) {
		p.free[class] = append(p.free[class], b[:0])
	}
}

// Grow returns a buffer with the bytes of b and room for n more. If it had to move, b
// returns to the pool. b may be nil.
func (p *BufferPool) Grow(b []byte, n int) []byte {
	if cap(b)-len(b) >= n {
		return b
	}
	next := append(p.Get(len(b)+n), b...)
	if b != nil {
		p.Put(b)
	}
	return next
}

func classOf(n int) int {
	if n <= 1<<minClass {
		return 0
	}
	return min(bits.Len(uint(n-1))-minClass, classCount-1)
}
