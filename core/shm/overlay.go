package shm

import (
	"errors"
	"fmt"
	"sync/atomic"
	"unsafe"
)

// lineSize is what memory that is read as a struct has to be aligned to: mapped
// memory is, and a struct may keep what processes write apart on cache lines.
const lineSize = 64

// Header begins memory that processes read as a struct. It says what that is and
// how its words lie: a program may find what another version of it left.
type Header struct {
	magic  atomic.Uint64
	layout atomic.Uint64
}

// Create returns mem, shared memory mapped for writing, as a T that begins with a
// Header. Zeroed memory becomes one with that magic and layout. The error says
// what is wrong with any other memory.
func Create[T any](mem []byte, magic, layout uint64) (*T, error) {
	t, h, err := overlay[T](mem)
	if err != nil {
		return nil, err
	}
	if h.magic.Load() == 0 { // new; the magic goes last, it vouches for the rest
		h.layout.CompareAndSwap(0, layout)
		h.magic.CompareAndSwap(0, magic)
	}
	if err := h.check(magic, layout); err != nil {
		return nil, err
	}
	return t, nil
}

// Open is Create for memory that is only read: somebody has to have created it.
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
