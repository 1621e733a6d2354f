// Package http2 implements HTTP/2 (RFC 9113) without sockets, for clients and backends.
// Received bytes become events. Output is appended to a buffer, which is written once per
// loop turn for all streams of a connection.
//
// # Data flow
//
//	Conn.Receive    bytes of a client  -> Handler.Head, Data, Trailers, Reset, …
//	Stream.Respond  HTTP/1.1 head      -> HEADERS;  Stream.Data, Trailers -> DATA, HEADERS
//	Conn.Output     bytes to write; Written, Resume
//
// Heads are HTTP/1.1 heads in both directions: a request becomes the bytes that
// http1.Request parses, and the output of http1.AppendResponse becomes a response. Routing,
// rules and all checks that are not specific to HTTP/2 thus exist only once. Anything that
// the HTTP/1.1 form could hide is refused before it is written (section 8): control bytes
// and surrounding blanks, connection-specific fields, missing, repeated or misplaced
// pseudo-header fields, a Host that contradicts :authority, and a Content-Length that
// differs from the length of the data.
//
// Bodies are raw bytes. Their length is given by Content-Length. Otherwise the head contains
// "transfer-encoding: chunked", and code that forwards the body over HTTP/1.1 writes the
// chunks with AppendChunk.
//
// # Ownership
//
// A Shared holds the common state of the connections of one loop. It, its connections and
// their streams belong to one goroutine. Streams are reused; Stream states when an owner
// must drop its reference. An idle connection holds its two HPACK tables, about a kilobyte
// each, and no buffer.
//
// # Back-pressure
//
// Sending: Data accepts as many bytes as the windows and the output limit allow. Room
// returns that number before bytes are fetched, and Writable reports new room. Streams take
// turns. Receiving: a window is refilled only after Consumed.
//
// # Limits
//
// All resources are bounded, see Limits. Each violation is counted under its Error, which
// has the code sent to the peer. Resets and frames without useful work consume tokens from
// buckets, which useful work refills.
//
// # Budget
//
// 0 allocations per request, response and frame in steady state.
package http2
