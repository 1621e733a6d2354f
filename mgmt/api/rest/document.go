package rest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"sync"
)

// Document is something that is kept beside the configuration, as users are: it has
// a revision of its own, which is the ETag of the operations about it. One that
// changes it with an If-Match that is no longer the revision is refused with 412.
type Document struct {
	name     string
	revision func() string
	// turn is held from the look at If-Match to the end of the change: what was
	// looked at is what is changed.
	turn sync.Mutex
}

// NewDocument makes one of what is called by that name in sentences, in the plural.
func NewDocument(name string, revision func() string) *Document {
	return &Document{name: name, revision: revision}
}

// Digest is a revision of what has no number of its own: another value, another text.
func Digest(v any) string {
	b, _ := json.Marshal(v) // what answers are made of
	return digestOf(b)
}

func digestOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:8])
}

// Of says what the operation is about, when that is not the configuration.
func (o *Operation) Of(d *Document) *Operation { o.about = d; return o }

// About says of several operations what they are about.
func About(d *Document, all ...*Operation) []*Operation {
	for _, o := range all {
		o.Of(d)
	}
	return all
}

// Change changes the document outside of its own operations.
func (d *Document) Change(change func() error) error {
	d.turn.Lock()
	defer d.turn.Unlock()
	return change()
}

func (d *Document) etag() string { return `"` + d.revision() + `"` }

// within runs a handler that changes the document. The body is read before: nobody
// waits for a client that sends it slowly.
func within[O any](d *Document, c *Call, handler func(*Call) (O, error)) (out O, err error) {
	keepBody(c.Request)
	err = d.Change(func() error {
		if err := d.expected(c.Request); err != nil {
			return err
		}
		out, err = handler(c)
		c.etag = d.etag()
		return err
	})
	return out, err
}

// expected refuses a change of another revision than that of If-Match.
func (d *Document) expected(r *http.Request) error {
	if readMatch(r).of(d.revision()) {
		return nil
	}
	return Refuse(http.StatusPreconditionFailed, "%s were changed by someone else: read them again and repeat the change", d.name)
}

// keepBody reads the body of a request, as far as bodies go; who reads it again finds
// what was there, and how it ended.
func keepBody(r *http.Request) {
	b, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	r.Body = io.NopCloser(io.MultiReader(bytes.NewReader(b), ended{err}))
}

// ended is the end of a body.
type ended struct{ err error }

func (e ended) Read([]byte) (int, error) {
	if e.err != nil {
		return 0, e.err
	}
	return 0, io.EOF
}
