package http1

// Chunked follows the framing of one chunked body, whatever way its bytes are
// cut. The zero value is ready and drops all trailers.
type Chunked struct {
	done bool
}

// Reset makes c ready for another body. With keep, trailers of the allow-list
// are kept for Trailer.
func (c *Chunked) Reset(keep bool) {}

// Scan checks the next bytes of the body and cleans them in place: p[:in] was
// consumed and p[:out] is to be sent. Chunk extensions and trailers are taken
// out; without them in == out and nothing is copied. in is len(p) unless the
// body ended. Errors are *Error and final.
func (c *Chunked) Scan(p []byte) (in, out int, err error) { return 0, 0, nil }

// Decode is Scan for a receiver that does not know chunks: p[:out] is content
// only. A body is read by Scan or by Decode, not by both.
func (c *Chunked) Decode(p []byte) (in, out int, err error) { return 0, 0, nil }

// Done reports that the last CRLF of the body was consumed.
func (c *Chunked) Done() bool { return c.done }

// Trailer gives what has to be sent after the last p[:out] of Scan: kept
// trailer lines and the final CRLF. It is empty unless Reset(true) was called,
// the body is done and a trailer was kept; only then Scan leaves the final CRLF
// out. Valid until Reset.
func (c *Chunked) Trailer() []byte { return nil }
