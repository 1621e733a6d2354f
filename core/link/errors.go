package link

import "errors"

// Errors of this package. They are always wrapped with details.
var (
	// ErrGone means that the connection was closed by either side or that the peer
	// died.
	ErrGone = errors.New("control connection is gone")
	// ErrProtocol means that the peer sent an invalid or unexpected message. The
	// connection is closed.
	ErrProtocol = errors.New("control message not understood")
	// ErrDenied means that a process of a user that is not allowed has connected.
	ErrDenied = errors.New("peer is not allowed to control this engine")
	// ErrTooLarge means that a message exceeds the limits of the protocol. Nothing was
	// sent.
	ErrTooLarge = errors.New("control message too large")
)
