package shm

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

const (
	// frozen are the seals of Sealed memory. F_SEAL_SEAL is not needed for safety, but
	// shows that the writer had finished.
	frozen = unix.F_SEAL_WRITE | fixed
	// fixed are the seals of Shared memory: its size cannot change.
	fixed = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_SEAL
)

// Sealed returns a memfd with a copy of data, one part behind the other, that cannot be
// modified or resized. The name appears in /proc only. The descriptor is closed on exec; the caller must close
// it. Empty data fails with ErrEmpty.
func Sealed(name string, data ...[]byte) (*os.File, error) {
	size := 0
	for _, b := range data {
		size += len(b)
	}
	if size == 0 {
		return nil, fmt.Errorf("sealed memory %q: %w", name, ErrEmpty)
	}
	f, err := create(name)
	if err != nil {
		return nil, err
	}
	// write(2) avoids a writable mapping, with which the kernel would refuse
	// F_SEAL_WRITE.
	for _, b := range data {
		if _, err := f.Write(b); err != nil {
			f.Close()
			return nil, fmt.Errorf("sealed memory %q: write %d bytes: %w", name, size, err)
		}
	}
	return finish(f, name, frozen)
}

// Shared returns a zeroed memfd of size bytes that holders of the descriptor can write
// and map but not resize. Pages take memory when first touched; on a memfd this
// includes reads. The descriptor is closed on exec; the caller must close it.
func Shared(name string, size int) (*os.File, error) {
	if size <= 0 {
		return nil, fmt.Errorf("shared memory %q of %d bytes: %w", name, size, ErrEmpty)
	}
	f, err := create(name)
	if err != nil {
		return nil, err
	}
	if err := f.Truncate(int64(size)); err != nil {
		f.Close()
		return nil, fmt.Errorf("shared memory %q: set size %d: %w", name, size, err)
	}
	return finish(f, name, fixed)
}

// Empty zeroes Shared memory and frees its pages.
func Empty(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 0, info.Size()); err != nil {
		return fmt.Errorf("empty shared memory: %w", err)
	}
	return nil
}

// create returns an empty memfd that only its creator's user may reopen. Otherwise a
// process with a read-only descriptor could obtain a writable one through
// /proc/self/fd.
func create(name string) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_NOEXEC_SEAL)
	if errors.Is(err, unix.EINVAL) { // kernels before 6.3 lack NOEXEC_SEAL
		fd, err = unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	}
	if err != nil {
		return nil, fmt.Errorf("create memory %q: %w", name, err)
	}
	f := os.NewFile(uintptr(fd), "memfd:"+name)
	if err := f.Chmod(0o600); err != nil {
		f.Close()
		return nil, fmt.Errorf("create memory %q: restrict its mode: %w", name, err)
	}
	return f, nil
}

func finish(f *os.File, name string, seals int) (*os.File, error) {
	err := control(f, func(fd int) error {
		_, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals)
		return err
	})
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("seal memory %q: %w", name, err)
	}
	return f, nil
}

// ReadOnly reopens the memory of f read-only. It needs /proc and the user that created
// the memory (or root). It must therefore be called in the creating process, before
// that loses access to the file system. The caller must close both files.
func ReadOnly(f *os.File) (*os.File, error) {
	var ro *os.File
	err := control(f, func(fd int) (err error) {
		ro, err = os.Open("/proc/self/fd/" + strconv.Itoa(fd))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("open %s again for reading: %w", f.Name(), err)
	}
	return ro, nil
}

// Detach closes f and returns a duplicate of its descriptor with close-on-exec set. The
// caller must close it with close(2). It is for custom pollers: a non-blocking
// descriptor inside an os.File is registered with the Go runtime's poller, which each
// of its events would wake.
func Detach(f *os.File) (fd int, err error) {
	defer f.Close()
	err = control(f, func(old int) error {
		fd, err = another(old)
		return err
	})
	if err != nil {
		return -1, fmt.Errorf("detach %s: %w", f.Name(), err)
	}
	return fd, nil
}

// Duplicate returns another descriptor of the same memory. The caller must close it.
func Duplicate(f *os.File) (out *os.File, err error) {
	err = control(f, func(fd int) error {
		copied, err := another(fd)
		if err == nil {
			out = os.NewFile(uintptr(copied), f.Name())
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("duplicate %s: %w", f.Name(), err)
	}
	return out, nil
}

// another duplicates a descriptor with close-on-exec set.
func another(fd int) (int, error) { return unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0) }

// control calls use with the descriptor of f. Unlike f.Fd it does not switch the
// descriptor to blocking mode, which would affect every process that shares it.
func control(f *os.File, use func(fd int) error) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var inner error
	if err := raw.Control(func(fd uintptr) { inner = use(int(fd)) }); err != nil {
		return err
	}
	return inner
}
