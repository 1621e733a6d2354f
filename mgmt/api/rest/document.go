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

// Document is an object stored beside the configuration, e.g. the users. Its own revision
// is the ETag of its operations. A change with an outdated If-Match is rejected with 412.
type Document struct {
	name     string
	revision func() string
	// turn is held from the If-Match check to the end of the change, so nothing changes in
	// between.
	turn sync.Mutex
}

// NewDocument returns a document. name is plural and appears in messages.
func NewDocument(name string, revision func() string) *Document {
	return &Document{name: name, revision: revision}
}

// Digest returns a revision for a value without one: a different value has a different
// digest.
func Digest(v any) string {
	b, _ := json.Marshal(v) // it is encodable, being part of responses
	return digestOf(b)
}

func digestOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:8])
}

// Of sets the operation's document, if it is not the configuration.
func (o *Operation) Of(d *Document) *Operation { o.about = d; return o }

// About sets the document of several operations.
func About(d *Document, all ...*Operation) []*Operation {
	for _, o := range all {
		o.Of(d)
	}
	return all
}

// Verifies declares that the handler verifies credentials or hashes passwords before it changes its
// document. A silent directory delays that by up to 30 s. Meanwhile others must be able to make changes,
// so the handler runs without the turn: it changes the document within Call.Turn.
func (o *Operation) Verifies() *Operation { o.verifies = true; return o }

// Change changes the document outside of its own operations.
func (d *Document) Change(change func() error) error {
	d.turn.Lock()
	defer d.turn.Unlock()
	return change()
}

func (d *Document) etag() string { return `"` + d.revision() + `"` }

// within runs a handler that changes the document. It reads the body first, so that a slow
// client does not block others.
func within[O any](d *Document, c *Call, handler func(*Call) (O, error)) (out O, err error) {
	keepBody(c.Request)
	if c.op.verifies {
		c.etag = d.etag()
		if err := d.expected(c.Request); err != nil { // checked again in the turn
			return out, err
		}
		return handler(c)
	}
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

// Turn runs a change of the operation's document in its turn. It is for operations that verify
// credentials before (Verifies). Others have the turn already.
func (c *Call) Turn(change func() error) error {
	return c.Finish(func() error {
		if d := c.op.about; d != nil && c.op.verifies {
			if err := d.expected(c.Request); err != nil {
				return err
			}
		}
		return change()
	})
}

// Finish is Turn without the check of If-Match. It is for changes that complete one outside of the
// document, which an earlier Turn has allowed and which cannot be undone.
func (c *Call) Finish(change func() error) error {
	d := c.op.about
	if d == nil || !c.op.verifies {
		return change()
	}
	return d.Change(func() error {
		err := change()
		c.etag = d.etag()
		return err
	})
}

// expected rejects a change whose If-Match does not match the revision.
func (d *Document) expected(r *http.Request) error {
	if readMatch(r).of(d.revision()) {
		return nil
	}
	return Refuse(http.StatusPreconditionFailed, "%s were changed by someone else: read them again and repeat the change", d.name)
}

// keepBody reads the body of a request, up to maxBody. Later readers get the same bytes and
// the same end.
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
