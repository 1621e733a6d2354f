package backend

import (
	"errors"

	"github.com/sluicelb/sluice/l7/dial"
)

// Owner is the exchange that uses a transport and receives its events.
type Owner = dial.Owner

// Transport carries one exchange to its backend: over an HTTP/1 connection that the exchange
// has to itself, or over an HTTP/2 stream.
//
// Request bodies differ. For HTTP/1 they are chunked, with the trailer after the last chunk.
// For HTTP/2 they are raw, with the end and the trailer as separate arguments.
type Transport interface {
	// Send begins the request. b is an HTTP/1 head and the body received so far. end means
	// that only the trailer may follow.
	Send(b []byte, end bool, trailer []byte) error
	// SendBody sends more of the body, or bytes of a tunnel.
	SendBody(p []byte, end bool, trailer []byte) error
	// CloseWrite half-closes a tunnel.
	CloseWrite()
	// Read reads the response; loop.ErrDry means that no bytes are available yet.
	Read(p []byte) (int, error)
	// Complete reports whether the whole body of a response without chunks was read.
	// Trailers is valid from then on.
	Complete() bool
	Trailers() []byte
	// Truncated reports whether the end may be forged: TLS ended without close_notify.
	Truncated() bool

	// Pending is nonzero while no more of the body is accepted. BackendDrained follows.
	Pending() int
	// SetDeadline sets the time on the loop's clock after which BackendExpired is called; 0
	// unsets it.
	SetDeadline(t int64)
	// Wait requests BackendReadable when there is more to read. Again requests it in any
	// case, after the other connections had their turn.
	Wait()
	Again()

	// SetOwner passes the use, and all later events, to another owner.
	SetOwner(o Owner)
	// Reused reports whether the connection is older than the exchange. Only then may its
	// end be the backend's keep-alive timeout instead of a failure.
	Reused() bool
	// KeepFor sets the time, in nanoseconds, after which the backend closes the connection
	// if it is idle.
	KeepFor(nanos int64)
	// Reserve keeps other exchanges off the connection.
	Reserve()
	// Finish ends the use after a complete response. whole means that the request is
	// complete too and the connection is reusable. FinishFor keeps the connection for one
	// client if possible.
	Finish(whole bool)
	FinishFor(k *dial.Kept, service uint32, whole bool)
	// Discard ends an incomplete exchange. No events follow.
	Discard()
}

// Ask holds the parameters of a stream.
type Ask struct {
	Owner   Owner
	New     bool  // requires a connection that is still connecting; an established one may be dead
	Bare    bool  // the response body is read without chunks
	Upgrade bool  // to another protocol
	Began   int64 // start of the exchange
	Timeout int64 // for the backend's SETTINGS before an upgrade
}

// Error tells why an HTTP/2 transport ended before the response was complete.
type Error struct {
	Reason string
	// Lost: the connection ended. Repeatable requests may be repeated on another.
	Lost bool
	// Broke: the backend violated the protocol.
	Broke bool
	// Unprocessed: the backend has not processed the request.
	Unprocessed bool
}

func (e *Error) Error() string { return e.Reason }

// ErrorOf returns the Error in err, or nil if there is none.
func ErrorOf(err error) *Error {
	why, _ := errors.AsType[*Error](err)
	return why
}

// ErrLost means that the connection ended without notice.
var ErrLost = &Error{Reason: "connection ended before the answer", Lost: true}

var (
	errUnprocessed = &Error{Reason: "backend refuses the stream", Broke: true, Unprocessed: true}
	errForeign     = &Error{Reason: "backend does not speak HTTP/2", Broke: true}
	errNoALPN      = &Error{Reason: "backend does not agree on h2 (ALPN)", Broke: true}
	errNoTunnel    = &Error{Reason: "backend takes no WebSocket over HTTP/2 (RFC 8441)", Broke: true}
	errSilent      = &Error{Reason: "connection is dead: no answer to a PING", Lost: true}
	errOver        = &Error{Reason: "stream is over"}
)
