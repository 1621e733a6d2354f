package loop

import (
	"math/bits"
)

// Buffer classes: powers of two from 512 B to 512 KiB. A connection holds a
// buffer only while bytes wait in it.
const (
	minClass   = 9
	maxClass   = 19
	classCount = maxClass - minClass + 1

	// MaxBuffer is the largest buffer Get hands out.
	MaxBuffer = 1 << maxClass
)

// keepPerClass bounds the idle bytes a pool keeps: 64 KiB in each class or at
// least two buffers, about 3 MiB per loop at the very most.
func keepPerClass(class int) int { return max(2, 1<<16>>(class+minClass)) }

// BufferPool hands out byte buffers in size classes. It belongs to one loop
// and is not safe for use from elsewhere.
type BufferPool struct {
	free [classCount][][]byte
}

// Get returns an empty buffer with room for at least n bytes, n ≤ MaxBuffer.
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

// Put gives b back. The caller must not use it any more.
func (p *BufferPool) Put(b []byte) {
	c := cap(b)
	if c < 1<<minClass || c > MaxBuffer || c&(c-1) != 0 {
		return // not one of ours: grown by append, leave it to the collector
	}
	class := bits.TrailingZeros(uint(c)) - minClass
	if len(p.free[class]) < keepPerClass(class) {
		p.free[class] = append(p.free[class], b[:0])
	}
}

// Grow returns a buffer that holds b's bytes and has room for n more; b goes
// back to the pool when it had to move. b may be nil.
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

// FreeList reuses values of one kind on one loop. What was put back rests
// until a later event, because code further up the stack may still look at it.
type FreeList[T any] struct {
	loop    *Loop
	free    []*T
	resting []*T
	event   uint64
}

// NewFreeList returns the empty list of l.
func NewFreeList[T any](l *Loop) *FreeList[T] { return &FreeList[T]{loop: l} }

// Get returns a value from the list, or a new one; it is as it was put back.
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

// Put gives v back. The caller has cleared what must not leak.
func (f *FreeList[T]) Put(v *T) {
	f.resting = append(f.resting, v)
	f.event = f.loop.event
}
