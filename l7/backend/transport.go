package backend

import (
	"errors"

	"github.com/sluicelb/sluice/l7/dial"
)

// Owner is the exchange that uses a transport; it is told what happens to it.
type Owner = dial.Owner

// Transport carries one exchange to its backend: a connection of HTTP/1, which is
// the exchange's alone meanwhile, or a stream of HTTP/2.
//
// What is sent differs: HTTP/1 gets bodies in chunks, with the trailer behind the
// last one; HTTP/2 gets them as they are, is told their end and given the trailer
// apart.
type Transport interface {
	// Send begins the request: b is its head as HTTP/1.1 has it and what has come
	// of the body. end says that this is all but for the trailer.
	Send(b []byte, end bool, trailer []byte) error
	// SendBody sends more of the body, or bytes of a tunnel.
	SendBody(p []byte, end bool, trailer []byte) error
	// CloseWrite ends our direction of a tunnel.
	CloseWrite()
	// Read reads the answer; loop.ErrDry means that nothing is there now.
	Read(p []byte) (int, error)
	// Complete reports whether the whole body of an answer that is read without
	// chunks was read; its Trailers are there then.
	Complete() bool
	Trailers() []byte
	// Truncated reports whether the end that was read may be somebody else's
	// doing: TLS was not closed.
	Truncated() bool

	// Pending is other than 0 while no more of the body is taken; then
	// BackendDrained follows.
	Pending() int
	// SetDeadline has BackendExpired called once the loop's clock has passed t;
	// 0 unsets it.
	SetDeadline(t int64)
	// Wait asks for BackendReadable when there is more to read, Again for it in
	// any case, after others had their turn.
	Wait()
	Again()

	// Reused reports whether the connection was there before the exchange. Only
	// then may its end be the backend's keep-alive time-out and no failure.
	Reused() bool
	// Reserve keeps other exchanges from the connection.
	Reserve()
	// Finish ends the use after a complete answer; whole says that the request is
	// complete too and the connection may carry another. With FinishFor it is kept
	// for one client, where it can be.
	Finish(whole bool)
	FinishFor(k *dial.Kept, service uint32, whole bool)
	// Discard ends what is not complete. Nothing is heard of it any more.
	Discard()
}

// Ask is what an exchange wants of a stream.
type Ask struct {
	Owner   Owner
	New     bool  // a connection that is established proves nothing, or may be dead
	Bare    bool  // the body of the answer is read without chunks
	Upgrade bool  // to another protocol
	Began   int64 // when the exchange did
	Timeout int64 // for the backend to say whether it takes an upgrade
}

// Error is why a transport over HTTP/2 ended before the answer was complete.
type Error struct {
	Reason string
	// Lost: its connection ended; what could be repeated on another may be.
	Lost bool
	// Broke: the backend broke the rules.
	Broke bool
	// Unprocessed: the backend has not looked at the request.
	Unprocessed bool
}

func (e *Error) Error() string { return e.Reason }

// ErrorOf is the Error in err; nil when there is none.
func ErrorOf(err error) *Error {
	why, _ := errors.AsType[*Error](err)
	return why
}

// ErrLost is the end of a connection that nobody announced.
var ErrLost = &Error{Reason: "connection ended before the answer", Lost: true}

var (
	errUnprocessed = &Error{Reason: "backend refuses the stream", Broke: true, Unprocessed: true}
	errForeign     = &Error{Reason: "backend does not speak HTTP/2", Broke: true}
	errNoALPN      = &Error{Reason: "backend does not agree on h2 (ALPN)", Broke: true}
	errNoTunnel    = &Error{Reason: "backend takes no WebSocket over HTTP/2 (RFC 8441)", Broke: true}
	errSilent      = &Error{Reason: "connection is dead: no answer to a PING", Lost: true}
	errOver        = &Error{Reason: "stream is over"}
)
