package shm

import (
	"errors"
	"fmt"
	"sync/atomic"
	"unsafe"
)

// lineSize is the alignment required for overlays. Mapped memory has it. Structs may
// rely on it to place fields of different writers on separate cache lines.
const lineSize = 64

// Header is the beginning of memory with a struct overlay. It identifies the struct and
// its layout, because the memory may come from another version of the program.
type Header struct {
	magic  atomic.Uint64
	layout atomic.Uint64
}

// Create returns mem, shared memory mapped for writing, as a T that begins with a
// Header. It initialises zeroed memory with magic and layout. It fails if memory has
// another magic or layout.
func Create[T any](mem []byte, magic, layout uint64) (*T, error) {
	t, h, err := overlay[T](mem)
	if err != nil {
		return nil, err
	}
	if h.magic.Load() == 0 { // new; the magic is written last because it validates the rest
		h.layout.CompareAndSwap(0, layout)
		h.magic.CompareAndSwap(0, magic)
	}
	if err := h.check(magic, layout); err != nil {
		return nil, err
	}
	return t, nil
}

// Open is Create for memory that is only read. It fails if the memory has not been
// created.
func Open[T any](mem []byte, magic, layout uint64) (*T, error) {
	t, h, err := overlay[T](mem)
	if err != nil {
		return nil, err
	}
	if h.magic.Load() == 0 {
		return nil, errors.New("nobody has created it yet")
	}
	if err := h.check(magic, layout); err != nil {
		return nil, err
	}
	return t, nil
}

func overlay[T any](mem []byte) (*T, *Header, error) {
	if need := int(unsafe.Sizeof(*new(T))); len(mem) < need {
		return nil, nil, fmt.Errorf("the memory has %d bytes, %d are needed", len(mem), need)
	}
	p := unsafe.Pointer(&mem[0])
	if uintptr(p)%lineSize != 0 {
		return nil, nil, fmt.Errorf("the memory is not aligned to %d bytes", lineSize)
	}
	return (*T)(p), (*Header)(p), nil
}

func (h *Header) check(magic, layout uint64) error {
	if got := h.magic.Load(); got != magic {
		return fmt.Errorf("it starts with %#x", got)
	}
	if got := h.layout.Load(); got != layout {
		return fmt.Errorf("its layout is %d, this program reads %d", got, layout)
	}
	return nil
}
