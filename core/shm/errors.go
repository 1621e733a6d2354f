package shm

import "errors"

// The errors of this package; all come wrapped with their circumstances.
var (
	// ErrNotSealed occurs when a descriptor lacks the seals its use relies on,
	// or is no memfd at all: its content or its size could change under the
	// reader.
	ErrNotSealed = errors.New("memory is not sealed")
	// ErrEmpty occurs when memory of no bytes is to be created or mapped, or an
	// empty message is to be sent (it could not be told from end of file).
	ErrEmpty = errors.New("empty")
	// ErrTooLarge occurs when a message exceeds MaxMessage or carries more than
	// MaxFiles descriptors.
	ErrTooLarge = errors.New("too large")
	// ErrTruncated occurs when the kernel had to cut a received message or the
	// descriptors with it: the buffer was too small, too many descriptors came,
	// or this process has no descriptor numbers left. What came was closed.
	ErrTruncated = errors.New("message truncated")
)
