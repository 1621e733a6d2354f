package loop

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
