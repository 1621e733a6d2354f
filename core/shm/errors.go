package shm

import "errors"

// Errors of this package. They are always wrapped with details.
var (
	// ErrNotSealed means that a descriptor lacks required seals or is not a memfd, so
	// its content or size could change during use.
	ErrNotSealed = errors.New("memory is not sealed")
	// ErrEmpty means that the size of memory to create or map is 0, or that a message
	// to send is empty (the peer could not distinguish it from end of file).
	ErrEmpty = errors.New("empty")
	// ErrTooLarge means that a message exceeds MaxMessage or MaxFiles.
	ErrTooLarge = errors.New("too large")
	// ErrTruncated means that the kernel truncated a received message or its
	// descriptors. The buffer was too small, there were too many descriptors, or this
	// process has no descriptor numbers left. Received descriptors were closed.
	ErrTruncated = errors.New("message truncated")
)
