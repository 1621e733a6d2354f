package shm

import (
	"encoding/binary"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Event returns an eventfd: who holds it wakes, by a Waker, who reads it. A
// read takes 8 bytes and waits until somebody has woken, or for the read
// deadline of the file; several wakes may count as one. The name shows in
// errors only. The descriptor is closed on exec; the caller closes it.
func Event(name string) (*os.File, error) {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("create event %q: %w", name, err)
	}
	return os.NewFile(uintptr(fd), "event:"+name), nil
}

// Waker wakes the reader of an Event. The zero value must not be used.
type Waker struct{ fd int }

// NewWaker returns a Waker of f, of which it keeps a descriptor of its own until
// Close; the caller still owns f.
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

// Wake wakes the reader: one system call, which neither waits nor allocates.
// Any goroutine may call it.
func (w *Waker) Wake() {
	_, _ = unix.Write(w.fd, one) // it fails only when the reader has been woken 2^64-2 times
}

// Close gives the descriptor back; nobody may wake any more.
func (w *Waker) Close() error { return unix.Close(w.fd) }
