package link

import "errors"

// The errors of this package; all come wrapped with their circumstances.
var (
	// ErrGone occurs when the other side closed the connection or died, or when
	// the connection was closed here.
	ErrGone = errors.New("control connection is gone")
	// ErrProtocol occurs when the other side sent what is no message of this
	// protocol, or one out of turn. The connection is closed.
	ErrProtocol = errors.New("control message not understood")
	// ErrDenied occurs when a process of another user connects.
	ErrDenied = errors.New("peer is not allowed to control this engine")
	// ErrTooLarge occurs when a message to be sent exceeds what the other side
	// would accept. Nothing was sent.
	ErrTooLarge = errors.New("control message too large")
)
