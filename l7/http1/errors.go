package http1

// Error is why a head or a body was refused. All values are the sentinels
// below: compare with ==, never build one.
type Error struct {
	// Status is the answer to the client: 4xx or 5xx; 502 for whatever a
	// backend did wrong. For a Chunked error it is 400; a caller reading from a
	// backend answers 502 instead.
	Status int
	// Reason is a short fixed text for logs and counters.
	Reason string
}

// Error implements error.
func (e *Error) Error() string { return "http/1: " + e.Reason }
