package ctl

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/sluicelb/sluice/core/shm"
)

// Handler implements one operation of a part. The body is the raw JSON of the request
// (see Strict). The files are its attachments and are closed when the handler returns.
// The reply must encode as JSON. An *Error is sent unchanged; any other error gets
// CodeFailed. Requests may be concurrent, and may be repeated.
type Handler func(ctx context.Context, body []byte, files []*os.File) (reply any, err error)

// Parts are the operations of netd other than those on sockets.
type Parts map[Op]Handler

const (
	// askTime bounds an Ask whose context has no earlier deadline.
	askTime = 30 * time.Second
	// maxInline is the maximum size of a reply in the message, in bytes. Longer ones
	// travel in attached sealed memory.
	maxInline = 32 << 10
	// maxBody bounds a reply in sealed memory, in bytes.
	maxBody = 256 << 20
)

// Strict decodes body, which must be exactly one JSON value without unknown fields.
// Errors have CodeInvalid.
func Strict(body []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return rejection(CodeInvalid, "request cannot be read: %v", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return rejection(CodeInvalid, "request is followed by other data")
	}
	return nil
}

// About returns a Handler for a function that takes a body and no files.
func About[Q, A any](f func(context.Context, Q) (A, error)) Handler {
	return func(ctx context.Context, body []byte, files []*os.File) (any, error) {
		var q Q
		if err := Strict(body, &q); err != nil {
			return nil, err
		}
		if len(files) != 0 {
			return nil, rejection(CodeInvalid, "no descriptors are expected")
		}
		return f(ctx, q)
	}
}

// ask calls the part and encodes its result.
func (s *server) ask(ctx context.Context, r Request, files []*os.File) (Reply, []*os.File) {
	part := s.parts[r.Op]
	if part == nil {
		return failure(rejection(CodeInvalid, "operation %q is not known here", r.Op)), nil
	}
	answer, err := part(ctx, r.Body, files)
	if err != nil {
		s.log.Debug("request failed", "op", r.Op, "reason", err)
		return failure(err), nil
	}
	if files, is := answer.(attached); is {
		return Reply{made: true}, files
	}
	b, err := json.Marshal(answer)
	switch {
	case err != nil:
		return failure(err), nil
	case len(b) <= maxInline:
		return Reply{Body: b}, nil
	}
	f, err := shm.Sealed("sluice-reply", b)
	if err != nil {
		return failure(err), nil
	}
	return Reply{Sealed: true}, []*os.File{f}
}

// askFiles is Ask for operations that return only files, which the caller owns.
func (c *Client) askFiles(ctx context.Context, op Op, body any) ([]*os.File, error) {
	b, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	_, files, err := c.callWith(ctx, askTime, Request{Op: op, Body: b}, nil)
	return files, err
}

// Ask calls an operation of a part. body is sent as JSON with files attached. The result
// is decoded into reply, which may be nil. A rejection is an *Error.
func (c *Client) Ask(ctx context.Context, op Op, body, reply any, files ...*os.File) error {
	b, err := json.Marshal(body)
	if err != nil {
		return err
	}
	answer, attached, err := c.callWith(ctx, askTime, Request{Op: op, Body: b}, files)
	defer closeFiles(attached)
	if err != nil {
		return err
	}
	text := []byte(answer.Body)
	if answer.Sealed {
		if len(attached) != 1 {
			return errors.New("netd: the reply is missing in its answer")
		}
		m, err := shm.MapSealed(attached[0])
		if err != nil {
			return fmt.Errorf("netd: reply: %w", err)
		}
		defer m.Close()
		if text = m.Bytes(); len(text) > maxBody {
			return fmt.Errorf("netd: reply of %d bytes", len(text))
		}
	}
	if reply == nil {
		return nil
	}
	if err := json.Unmarshal(text, reply); err != nil {
		return fmt.Errorf("netd: reply: %w", err)
	}
	return nil
}
