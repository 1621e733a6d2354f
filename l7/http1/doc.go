// Package http1 turns bytes into HTTP/1.0 and HTTP/1.1 heads, turns heads back
// into bytes, and keeps the framing of chunked bodies honest.
//
// # The way through
//
//	Request.Parse   bytes of a client  -> offsets, canonical path and host, body framing
//	AppendRequest   the same request   -> the head a backend gets
//	Response.Parse  bytes of a backend -> offsets, body framing
//	AppendResponse  the same response  -> the head the client gets
//	Chunked.Scan    chunked body bytes -> the same bytes, checked and cleaned in place
//	Chunked.Decode  chunked body bytes -> content only, for HTTP/1.0 clients
//
// The package does no I/O and knows no farms. A Request, a Response and a
// Chunked belong to one goroutine; heads are large and made to be reused, one
// of each per loop is enough.
//
// # Budget
//
// 0 allocations on every path but kept trailers; one pass over the bytes of a
// head: 250 ns to parse a request of eight fields, 150 ns to write it, 250 ns to
// do both for a response. Heads alias the buffer they were parsed from:
// offsets (Span) survive a move of the buffer, slices (Path, Host) do not.
//
// # Strictness
//
// The rules are RFC 9110 and RFC 9112, read so that no two parsers can come to
// different results about what we accept; everything else is refused with an
// *Error that names the status to answer. Where the RFCs leave a choice:
//
//   - Lines end in CRLF, never in a bare LF. Exactly one empty line before a
//     request line is skipped (RFC 9112 section 2.2), a second one is refused.
//   - Only HTTP/1.0 and HTTP/1.1 are spoken; another well-formed version is
//     answered 505, a malformed one 400.
//   - Transfer-Encoding is refused unless it is exactly "chunked", once, on
//     HTTP/1.1 and without Content-Length; a coding before it is answered 501.
//     Content-Length is at most 18 digits in a single field.
//   - Answers may do what has one reading all the same: give one Content-Length
//     several times, fold a field (it is put on one line), carry trailers that
//     may not be there (they are left out).
//   - Responses that have no body by definition (1xx, 204, 304, those to HEAD) end
//     with their head, whatever their framing fields say (RFC 9112 section 6.3).
//   - The request target and the Host have one canonical form, made here, which
//     decides the route and is what the backend gets: see target.go and host.go.
//   - An Expect other than 100-continue is answered 417.
//   - Identity fields a client could forge (X-Forwarded-*, Forwarded, X-Real-IP,
//     X-SSL-*) are forwarded for a trusted proxy only (Request.Trust), hop-by-hop
//     fields never, nor are their twins
//     that differ only in punctuation ("X_Forwarded_For"), which many backends
//     cannot tell apart.
//
// A request of an HTTP/1.0 client is sent on as HTTP/1.1. The answer may
// therefore come chunked and must then be decoded (Chunked.Decode) and its end
// marked by closing the connection; ResponseOptions.Unchunk says so in the head.
package http1
