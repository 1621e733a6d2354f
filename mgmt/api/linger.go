package api

import (
	"io"
	"net/http"
	"time"
)

// Who sends a body and looks for the answer only afterwards would lose it if the
// connection were closed at once: what arrives at a closed one is answered with a
// reset, which takes the answer out of the client's hands (RFC 9112, section 9.6).
// So the rest of a body that nobody read is taken and thrown away.
const (
	// shortRest is taken before the answer leaves, as net/http does by itself: the
	// connection can be used again.
	shortRest = 256 << 10
	// lingerBytes and lingerTime bound what is taken behind the answer. It costs copying
	// only, and no longer body is ever taken.
	lingerBytes = 1 << 30
	lingerTime  = 15 * time.Second
	// maxLingering are taken at the same time: more end at once.
	maxLingering = 8
)

// lingering has room for those whose rest is thrown away.
type lingering chan struct{}

func newLingering() lingering { return make(lingering, maxLingering) }

// over serves a request, and has the rest of its body out of the way once it is answered.
func (l lingering) over(w http.ResponseWriter, r *http.Request, serve func(http.ResponseWriter, *http.Request)) {
	if r.Body == nil || r.Body == http.NoBody {
		serve(w, r)
		return
	}
	body := &watched{ReadCloser: r.Body}
	with := *r // the server keeps its own, and knows that body by its kind
	with.Body = body
	serve(w, &with)
	if body.over || !body.begun && r.Header.Get("Expect") != "" {
		return // nothing is left, or the client waits to be asked for it
	}
	l.rest(w, body)
}

// rest throws away what is left of a body.
func (l lingering) rest(w http.ResponseWriter, body io.Reader) {
	if _, err := io.CopyN(io.Discard, body, shortRest); err != nil {
		return // it is over
	}
	select {
	case l <- struct{}{}:
		defer func() { <-l }()
	default:
		return
	}
	control := http.NewResponseController(w)
	// Otherwise net/http closes a chunked body as soon as the response is written. HTTP/2
	// reads and writes at the same time anyway and has no such switch.
	_ = control.EnableFullDuplex()
	if control.Flush() != nil || control.SetReadDeadline(time.Now().Add(lingerTime)) != nil {
		return
	}
	_, _ = io.CopyN(io.Discard, body, lingerBytes)
}

// watched is a body of which is known how far it was read.
type watched struct {
	io.ReadCloser
	begun, over bool
}

// Read reads on.
func (b *watched) Read(p []byte) (int, error) {
	b.begun = true
	n, err := b.ReadCloser.Read(p)
	b.over = b.over || err != nil
	return n, err
}
