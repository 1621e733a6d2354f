package shm

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

const (
	// frozen are the seals of Sealed memory. F_SEAL_SEAL adds nothing to the
	// reader's safety, but shows that the writer had finished.
	frozen = unix.F_SEAL_WRITE | fixed
	// fixed are the seals of Shared memory: the size never changes.
	fixed = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_SEAL
)

// Sealed returns a memfd that holds a copy of data and that nobody can change
// or resize any more. The name shows in /proc only. The descriptor is closed
// on exec; the caller closes it. Empty data is refused with ErrEmpty.
func Sealed(name string, data []byte) (*os.File, error) {
	if len(data) == 0 {
		return nil, fmt.Errorf("sealed memory %q: %w", name, ErrEmpty)
	}
	f, err := create(name)
	if err != nil {
		return nil, err
	}
	// Written by write(2), so there never is a writable mapping that would
	// make the kernel refuse F_SEAL_WRITE.
	if _, err := f.Write(data); err != nil {
		f.Close()
		return nil, fmt.Errorf("sealed memory %q: write %d bytes: %w", name, len(data), err)
	}
	return finish(f, name, frozen)
}

// Shared returns a zeroed memfd of size bytes that can be written and mapped
// by everyone who holds the descriptor, but never resized. It costs no memory
// until pages are touched; note that on a memfd even reading a mapped page
// for the first time takes a page of real memory. The descriptor is closed on
// exec; the caller closes it.
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

// Empty makes Shared memory zeroed again, and gives back what it took.
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

// create makes an empty memfd that only its creator's user may open again: a
// process that was handed a read-only descriptor must not get a writable one
// through /proc/self/fd.
func create(name string) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_NOEXEC_SEAL)
	if errors.Is(err, unix.EINVAL) { // kernels before 6.3 do not know NOEXEC_SEAL
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

// ReadOnly opens the memory of f again for reading only. It needs /proc, and
// must run as the user that created the memory (or as root), so call it in the
// creating process, before that gives up its file system. The caller closes
// both files.
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

// Detach takes the descriptor out of f, which is closed, and returns it with
// close-on-exec set; the caller closes it with close(2). It serves pollers of
// their own: a non-blocking descriptor inside an os.File is registered with
// the Go runtime's poller, which would be woken by each of its events too.
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

// Duplicate is another descriptor of the same memory, which the caller closes.
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

// another is a descriptor of the same, close-on-exec.
func another(fd int) (int, error) { return unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0) }

// control lends the descriptor of f to use. Unlike f.Fd it never switches the
// descriptor to blocking mode, which every process sharing it would feel.
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
