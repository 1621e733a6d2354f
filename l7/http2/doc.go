// Package http2 is HTTP/2 (RFC 9113) without sockets, towards clients and
// towards backends: bytes that were read go in, events come out; what the owner
// wants to say is appended to a buffer, which is written once per loop turn for
// all streams of a connection.
//
// # The way through
//
//	Conn.Receive   bytes of a client   -> Handler.Head, Data, Trailers, Reset, …
//	Stream.Respond a head of HTTP/1.1  -> HEADERS;  Stream.Data, Trailers -> DATA, HEADERS
//	Conn.Output    what is to be written; Written, Resume
//
// Heads are heads of HTTP/1.1 in both directions: a request becomes the bytes
// http1.Request parses, and what http1.AppendResponse writes becomes a response.
// So there is one router, one set of rules and one place for every check that is
// not about HTTP/2 itself. What that form could hide is refused here, before a
// byte of it exists (section 8): control bytes and blanks, connection-specific
// fields, pseudo fields that are missing, repeated or out of place, a Host that
// contradicts :authority, a content-length that is not the length of the data.
//
// Bodies are bytes without framing. Their length is known from Content-Length,
// otherwise the head says "transfer-encoding: chunked": then whoever forwards it
// over HTTP/1.1 writes the chunks, see AppendChunk.
//
// # Who owns what
//
// A Shared holds what the connections of one loop have in common; it, its
// connections and their streams belong to one goroutine. Streams are reused:
// see Stream for when one must be let go of. A connection that rests holds its
// two tables of fields, about a kilobyte each, and no buffer.
//
// # Back-pressure
//
// Towards the peer: Data takes what the windows and the bound of the output
// allow; Room tells before bytes are fetched, Writable says when there is room
// again. Streams take turns. From the peer: a window is filled up again only
// when Consumed says that bytes are gone.
//
// # Limits
//
// All is bounded, see Limits; each bound that is reached is counted under its
// Error and has the code the peer is told. Frames that move nothing, and resets,
// are paid for from token buckets which useful work fills.
//
// # Budget
//
// 0 allocations per request, response and frame in steady state.
package http2
