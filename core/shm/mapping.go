package shm

import (
	"fmt"
	"math"
	"os"

	"golang.org/x/sys/unix"
)

// Mapping is a mapping of a memfd. It outlives the descriptor.
type Mapping struct {
	mem []byte
}

// Bytes returns the whole memory, valid until Close, and nil afterwards. A write to a
// read-only mapping ends the process with a fault.
func (m *Mapping) Bytes() []byte { return m.mem }

// Close removes the mapping; pointers into it become invalid. A second call has no
// effect. It must not run concurrently with any use.
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

// MapSealed maps sealed memory for reading. It fails with ErrNotSealed unless all seals
// of Sealed are set, so content and size are final. The caller keeps f and may close
// it.
func MapSealed(f *os.File) (*Mapping, error) {
	return mapFile(f, frozen, unix.PROT_READ)
}

// MapShared maps memory made by Shared, read-only or writable. It fails with
// ErrNotSealed if the size could still change, and with the kernel's error if writable
// is set and f is open read-only. The caller keeps f and may close it.
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
		if err != nil { // not a memfd
			return fmt.Errorf("%w: %w", ErrNotSealed, err)
		}
		if have&seals != seals {
			return fmt.Errorf("%w: it has seals %#x, %#x are needed", ErrNotSealed, have, seals)
		}
		// After the check of the seals, the size is final.
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
