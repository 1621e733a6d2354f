package loop

import "errors"

// HandshakeError is the outcome of a Dial that connected but failed in the TLS
// handshake. The peer is reachable, but one side rejected the other.
type HandshakeError struct{ Err error }

func (e *HandshakeError) Error() string { return "TLS handshake: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *HandshakeError) Unwrap() error { return e.Err }

var (
	// ErrDry is returned by Read when the socket holds no bytes now.
	ErrDry = errors.New("nothing to read")
	// ErrTimeout is the outcome of a Dial that timed out and of a handshake that was
	// aborted to make room for others.
	ErrTimeout = errors.New("connect timed out")
	// ErrClosed is returned for a connection or loop that is closed.
	ErrClosed = errors.New("closed")
	// ErrPlain is the outcome of Secure when the peer does not speak TLS.
	ErrPlain = errors.New("peer does not speak TLS")
	// ErrBusy is the outcome of Secure when too many handshakes wait.
	ErrBusy = errors.New("too many handshakes")
	// ErrPanic is passed to Failed after a panic of the handler. It is also the outcome
	// of a handshake in which a callback of the configuration panicked.
	ErrPanic = errors.New("internal error in the connection's handler")
)
