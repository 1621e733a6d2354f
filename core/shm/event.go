package shm

import (
	"encoding/binary"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Event returns an eventfd, by which a Waker wakes a reader. A read returns 8 bytes
// after a wake-up or fails at the read deadline of the file. Several wake-ups may be
// merged. The name appears only in errors. The descriptor is closed on exec; the caller
// must close it.
func Event(name string) (*os.File, error) {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("create event %q: %w", name, err)
	}
	return os.NewFile(uintptr(fd), "event:"+name), nil
}

// Waker wakes the reader of an Event. The zero value is not usable.
type Waker struct{ fd int }

// NewWaker returns a Waker for f. It holds a duplicate descriptor until Close; f
// remains the caller's.
func NewWaker(f *os.File) (*Waker, error) {
	w := &Waker{}
	err := control(f, func(fd int) (err error) {
		w.fd, err = another(fd)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("waker of %s: %w", f.Name(), err)
	}
	return w, nil
}

var one = binary.NativeEndian.AppendUint64(nil, 1)

// Wake wakes the reader with one system call that neither blocks nor allocates. It is
// safe for concurrent use.
func (w *Waker) Wake() {
	_, _ = unix.Write(w.fd, one) // fails only after 2^64-2 unread wake-ups
}

// Close closes the descriptor. Wake must not be called afterwards.
func (w *Waker) Close() error { return unix.Close(w.fd) }
