package api

import (
	"io"
	"net/http"
	"time"
)

// A client that reads the response only after sending its whole body would lose it if the
// connection were closed early. Data arriving at a closed socket triggers a reset, which
// discards the response at the client (RFC 9112 §9.6). So the unread rest of a body is
// consumed and discarded.
const (
	// shortRest bounds what is consumed before the response is sent, as net/http does. The
	// connection can be reused.
	shortRest = 256 << 10
	// lingerBytes and lingerTime bound what is consumed after the response. It only costs
	// copying; no larger body is ever accepted.
	lingerBytes = 1 << 30
	lingerTime  = 15 * time.Second
	// maxLingering bounds the number of concurrent lingering connections; others are closed
	// at once.
	maxLingering = 8
)

// lingering holds a slot for each connection whose rest is being discarded.
type lingering chan struct{}

func newLingering() lingering { return make(lingering, maxLingering) }

// over serves a request and then disposes of the rest of its body.
func (l lingering) over(w http.ResponseWriter, r *http.Request, serve func(http.ResponseWriter, *http.Request)) {
	if r.Body == nil || r.Body == http.NoBody {
		serve(w, r)
		return
	}
	body := &watched{ReadCloser: r.Body}
	with := *r // the server keeps its own request, whose body it recognises by type
	with.Body = body
	serve(w, &with)
	if body.over || !body.begun && r.Header.Get("Expect") != "" {
		return // nothing is left, or the client waits for 100 Continue
	}
	l.rest(w, body)
}

// rest discards the remainder of a body.
func (l lingering) rest(w http.ResponseWriter, body io.Reader) {
	if _, err := io.CopyN(io.Discard, body, shortRest); err != nil {
		return // the body has ended
	}
	select {
	case l <- struct{}{}:
		defer func() { <-l }()
	default:
		return
	}
	control := http.NewResponseController(w)
	// Otherwise net/http closes a chunked body as soon as the response is written. HTTP/2
	// is always full-duplex and has no such switch.
	_ = control.EnableFullDuplex()
	if control.Flush() != nil || control.SetReadDeadline(time.Now().Add(lingerTime)) != nil {
		return
	}
	_, _ = io.CopyN(io.Discard, body, lingerBytes)
}

// watched records how far a body has been read.
type watched struct {
	io.ReadCloser
	begun, over bool
}

// Read implements io.Reader.
func (b *watched) Read(p []byte) (int, error) {
	b.begun = true
	n, err := b.ReadCloser.Read(p)
	b.over = b.over || err != nil
	return n, err
}
