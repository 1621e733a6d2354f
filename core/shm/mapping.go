package shm

import (
	"fmt"
	"math"
	"os"

	"golang.org/x/sys/unix"
)

// Mapping is memory of a memfd in this process. It outlives the descriptor it
// was made from.
type Mapping struct {
	mem []byte
}

// Bytes returns the whole memory, valid until Close; nil afterwards. Writing
// to a mapping that is not writable ends the process with a fault.
func (m *Mapping) Bytes() []byte { return m.mem }

// Close removes the mapping; every pointer into it becomes invalid. A second
// Close does nothing. It must not run at the same time as any use.
func (m *Mapping) Close() error {
	if m.mem == nil {
		return nil
	}
	mem := m.mem
	m.mem = nil
	if err := unix.Munmap(mem); err != nil {
		return fmt.Errorf("unmap memory: %w", err)
	}
	return nil
}

// MapSealed maps sealed memory for reading. It fails with ErrNotSealed unless
// every seal of Sealed is set, so that content and size are final. The caller
// still owns f and may close it at once.
func MapSealed(f *os.File) (*Mapping, error) {
	return mapFile(f, frozen, unix.PROT_READ)
}

// MapShared maps memory made by Shared, for reading or also for writing. It
// fails with ErrNotSealed when the size could still change, and with the
// kernel's error when f is open for reading only and writable is asked for.
// The caller still owns f and may close it at once.
func MapShared(f *os.File, writable bool) (*Mapping, error) {
	prot := unix.PROT_READ
	if writable {
		prot |= unix.PROT_WRITE
	}
	return mapFile(f, fixed, prot)
}

func mapFile(f *os.File, seals, prot int) (*Mapping, error) {
	m := &Mapping{}
	err := control(f, func(fd int) error {
		have, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0)
		if err != nil { // not a memfd: there is nothing to rely on
			return fmt.Errorf("%w: %w", ErrNotSealed, err)
		}
		if have&seals != seals {
			return fmt.Errorf("%w: it has seals %#x, %#x are needed", ErrNotSealed, have, seals)
		}
		// The size is asked for after the seals were seen: from here it is final.
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil {
			return err
		}
		if st.Size <= 0 || st.Size > math.MaxInt {
			return fmt.Errorf("size %d: %w", st.Size, ErrEmpty)
		}
		m.mem, err = unix.Mmap(fd, 0, int(st.Size), prot, unix.MAP_SHARED)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("map %s: %w", f.Name(), err)
	}
	return m, nil
}
