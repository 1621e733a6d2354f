package loop

import "errors"

// HandshakeError is the outcome of a Dial that connected, and whose TLS
// handshake failed: the peer is there, but one side rejected the other.
type HandshakeError struct{ Err error }

func (e *HandshakeError) Error() string { return "TLS handshake: " + e.Err.Error() }

// Unwrap returns why.
func (e *HandshakeError) Unwrap() error { return e.Err }

var (
	// ErrDry is returned by Read when the socket holds nothing now.
	ErrDry = errors.New("nothing to read")
	// ErrTimeout is the outcome of a Dial whose time-out passed, and of a
	// handshake that had to make room for others.
	ErrTimeout = errors.New("connect timed out")
	// ErrClosed is returned for a connection or loop that is closed already.
	ErrClosed = errors.New("closed")
	// ErrPlain is the outcome of Secure when the peer does not speak TLS.
	ErrPlain = errors.New("peer does not speak TLS")
	// ErrBusy is the outcome of Secure when too many handshakes wait.
	ErrBusy = errors.New("too many handshakes")
	// ErrPanic is given to Failed after the handler panicked, and the
	// outcome of a handshake in which the configuration's callbacks did.
	ErrPanic = errors.New("internal error in the connection's handler")
)
