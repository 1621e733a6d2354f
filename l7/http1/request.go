package http1

// Request is the head of a request. It is large: keep one per loop and reuse it.
//
// Upgrade means that the client asks for another protocol by Connection:
// upgrade and a single Upgrade field, on HTTP/1.1 and without a body. Upgrades
// to HTTP/2 or TLS are not offered: they would tunnel requests past us.
type Request struct {
	Head

	Method Span
	Verb   Verb
	Target Span // as the client sent it

	// Path is the canonical path and query, or "*": what routes are matched on
	// and what the backend gets. It aliases Buf when the target was canonical
	// already, else an array of r; either way it is valid until the next Parse.
	Path []byte
	// Host is the canonical authority: lower case, without a trailing dot,
	// with the port when the client gave one. Empty only on HTTP/1.0. Valid as
	// long as Path.
	Host []byte

	Expect100  bool // the client waits for 100 before it sends the body
	TETrailers bool // the client accepts trailers (TE: trailers, named by Connection)

	scratch [MaxTarget]byte
}

// Reset forgets what is left of an incomplete head. It is needed only when a
// Request that answered 0, nil goes on with another connection's bytes.
func (r *Request) Reset() {}

// Parse reads a request head from the start of b. It answers the number of
// bytes of the head, or 0 and nil when b does not hold all of it: call it again
// with the same bytes and more (b may have moved). Errors are *Error and final
// for the connection. After a whole head or an error the next call starts a new
// head. r.Buf aliases b afterwards.
func (r *Request) Parse(b []byte) (n int, err error) { return 0, nil }

// Body says how the body of the request is framed: BodyNone, BodyLength
// (ContentLength bytes, at least one) or BodyChunked.
func (r *Request) Body() Body { return BodyNone }
