package http1

// Response is the head of a response. Upgrade means status 101 with
// Connection: upgrade and an Upgrade field. KeepAlive says what the head says;
// a body that ends with the connection overrides it.
type Response struct {
	Head

	Status int // 100-599
	Reason Span

	LocationIndex        int // index of the first Location field, -1 when there is none
	ContentLocationIndex int // the same for Content-Location
}

// Reset forgets what is left of an incomplete head; see Request.Reset.
func (r *Response) Reset() {}

// Parse reads a response head from the start of b, as Request.Parse does.
// Every error has status 502.
func (r *Response) Parse(b []byte) (n int, err error) { return 0, nil }

// Body is how the end of a body is found.
type Body uint8

// The ways.
const (
	BodyNone       Body = iota // no body at all
	BodyLength                 // ContentLength bytes, at least one
	BodyChunked                // Chunked finds the end
	BodyUntilClose             // all bytes until the backend closes
)

// Body says how the body that follows is framed (RFC 9112 section 6.3); head
// tells that the request was a HEAD. A 1xx or 204 that announces a body is an
// error.
func (r *Response) Body(head bool) (Body, error) { return BodyNone, nil }
