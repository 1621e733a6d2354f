package loop

import "errors"

var (
	// ErrDry is returned by Read when the socket holds nothing now.
	ErrDry = errors.New("nothing to read")
	// ErrTimeout is the outcome of a Dial whose time-out passed.
	ErrTimeout = errors.New("connect timed out")
	// ErrClosed is returned for a connection or loop that is closed already.
	ErrClosed = errors.New("closed")
	// ErrPanic is given to Failed after the handler panicked.
	ErrPanic = errors.New("internal error in the connection's handler")
)
