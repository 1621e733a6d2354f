package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sluicelb/sluice/mgmt/validate/field"
)

// maxBody bounds all bodies except configuration documents, whose limit is document.MaxSize
// bytes.
const maxBody = 1 << 20

// jsonTypes and DocumentTypes are the accepted content types. A missing type counts as the
// first.
var (
	jsonTypes     = []string{"application/json", "text/plain"}
	DocumentTypes = []string{"application/yaml", "application/json", "text/plain", "application/x-yaml", "text/yaml"}
)

// ReadBody returns the whole body of r, at most limit bytes, if its content type is one of
// types.
func ReadBody(r *http.Request, limit int64, types []string) ([]byte, error) {
	b, err := ReadWhole(r, limit)
	if err != nil {
		return nil, err
	}
	if len(b) > 0 {
		if err := checkType(r.Header, types); err != nil {
			return nil, err
		}
	}
	return bytes.TrimPrefix(b, []byte(mark)), nil
}

// ReadWhole returns the body of r as received, at most limit bytes of any type.
func ReadWhole(r *http.Request, limit int64) ([]byte, error) {
	if r.ContentLength > limit {
		return nil, tooLarge(limit)
	}
	b, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, limit))
	return b, bodyError(err, limit)
}

// bodyError converts an error of reading a body with that limit.
func bodyError(err error, limit int64) error {
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		return tooLarge(limit)
	case err != nil:
		return &Rejection{Status: http.StatusBadRequest, Message: "the body is incomplete", Cause: err}
	}
	return nil
}

// mark is the byte order mark. Some Windows editors put it at the start of files, and
// clients send it unchanged. It is ignored.
const mark = "\ufeff"

// Upload is a body that is too large to hold in memory and is read as a stream.
type Upload struct {
	Body io.Reader
	// Size is the announced length, -1 if there was none.
	Size int64

	limit int64
	ended error // the read error, if the body ended early
}

// Upload returns the body of such a call, limited to limit bytes.
func (c *Call) Upload(limit int64, types []string) (*Upload, error) {
	if c.Request.ContentLength > limit {
		return nil, tooLarge(limit)
	}
	if err := checkType(c.Request.Header, types); err != nil {
		return nil, err
	}
	u := &Upload{Size: c.Request.ContentLength, limit: limit}
	u.Body = &uploaded{u, http.MaxBytesReader(nil, c.Request.Body, limit)}
	return u, nil
}

// Problem returns the read error of the body if that is the cause of err. Format readers
// report any early end as damage.
func (u *Upload) Problem(err error) error {
	if err == nil || u.ended == nil {
		return err
	}
	return bodyError(u.ended, u.limit)
}

// uploaded records how a body ended.
type uploaded struct {
	of   *Upload
	body io.Reader
}

// Read implements io.Reader.
func (r *uploaded) Read(p []byte) (int, error) {
	n, err := r.body.Read(p)
	if err != nil && err != io.EOF {
		r.of.ended = err
	}
	return n, err
}

func tooLarge(limit int64) error {
	return Refuse(http.StatusRequestEntityTooLarge, "the body is too large: allowed are %d bytes", limit)
}

func checkType(h http.Header, types []string) error {
	if coding := h.Get("Content-Encoding"); coding != "" && coding != "identity" {
		return Refuse(http.StatusUnsupportedMediaType, "content encoding %s: allowed is none", Quote(coding))
	}
	values := h.Values("Content-Type")
	if len(values) == 0 {
		return nil
	}
	kind, params, err := mime.ParseMediaType(values[0])
	charset := strings.ToLower(params["charset"])
	switch {
	case err != nil || len(values) > 1 || !slices.Contains(types, kind):
		return Refuse(http.StatusUnsupportedMediaType, "content type %q: allowed are %s", strings.Join(values, ", "), strings.Join(types, ", "))
	case charset != "" && charset != "utf-8" && charset != "us-ascii":
		return Refuse(http.StatusUnsupportedMediaType, "charset %q: allowed is utf-8", charset)
	}
	return nil
}

// DecodeObject reads one JSON object whose fields are scalars or lists of scalars. It
// rejects duplicate names and data after the object, so that two readers of the body never
// disagree. Deeper nesting becomes an empty object or list, which no rule allows; unknown
// names are thus rejected first.
func DecodeObject(b []byte) (map[string]any, error) {
	if len(bytes.TrimSpace(b)) == 0 {
		return map[string]any{}, nil // same as an empty object
	}
	if !utf8.Valid(b) {
		return nil, BadRequest("broken JSON: not UTF-8")
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	if t, err := dec.Token(); err != nil {
		return nil, brokenJSON(b, dec, err)
	} else if t != json.Delim('{') {
		return nil, BadRequest("the body must be a JSON object, as {\"name\": \"value\"}")
	}
	out, err := decodeFields(dec, deepest)
	if err != nil {
		return nil, brokenJSON(b, dec, err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, BadRequest("broken JSON: something follows the object")
	}
	return out, nil
}

// maxFields and maxItems bound a body before its names are examined. They exceed every
// table and every list.
const (
	maxFields = 256
	maxItems  = 1024
)

// deepest is the nesting depth of objects that are read: a role holds permissions in
// sections. Deeper objects become empty.
const deepest = 1

// decodeFields reads the fields of the current object of dec, to its end.
func decodeFields(dec *json.Decoder, depth int) (map[string]any, error) {
	out := make(map[string]any)
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, err
		}
		if err := decodeField(out, name.(string), dec, depth); err != nil {
			return nil, err
		}
	}
	_, err := dec.Token()
	return out, err
}

func decodeField(out map[string]any, name string, dec *json.Decoder, depth int) error {
	if _, twice := out[name]; twice {
		return BadRequest("%s: given twice", Quote(name))
	}
	if len(out) == maxFields {
		return BadRequest("the body has more than %d fields", maxFields)
	}
	value, err := dec.Token()
	if err != nil {
		return err
	}
	switch value {
	case json.Delim('['):
		value, err = decodeList(name, dec)
	case json.Delim('{'):
		if depth > 0 {
			value, err = decodeFields(dec, depth-1)
			break
		}
		value, err = map[string]any{}, skip(dec)
	}
	out[name] = plainNumber(value)
	return err
}

// plainNumber returns value. An integer in any notation becomes plain digits.
func plainNumber(value any) any {
	if n, is := value.(json.Number); is {
		return json.Number(field.Whole(n))
	}
	return value
}

// decodeList reads the items of the current list of dec.
func decodeList(name string, dec *json.Decoder) ([]any, error) {
	items := []any{}
	for dec.More() {
		if len(items) == maxItems {
			return nil, BadRequest("%s: the list has more than %d items", Quote(name), maxItems)
		}
		item, err := dec.Token()
		switch item {
		case json.Delim('['):
			item, err = []any{}, skip(dec)
		case json.Delim('{'):
			item, err = map[string]any{}, skip(dec)
		}
		if err != nil {
			return nil, err
		}
		items = append(items, plainNumber(item))
	}
	_, err := dec.Token()
	return items, err
}

// skip reads to the end of the current list or object of dec.
func skip(dec *json.Decoder) error {
	for depth := 1; depth > 0; {
		t, err := dec.Token()
		if err != nil {
			return err
		}
		switch t {
		case json.Delim('['), json.Delim('{'):
			depth++
		case json.Delim(']'), json.Delim('}'):
			depth--
		}
	}
	return nil
}

func brokenJSON(b []byte, dec *json.Decoder, err error) error {
	var known *Rejection
	if errors.As(err, &known) {
		return known
	}
	at := min(int(dec.InputOffset()), len(b))
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		at = min(int(syntax.Offset), len(b))
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return BadRequest("broken JSON: the body ends too early")
	}
	line := 1 + bytes.Count(b[:at], []byte{'\n'})
	return BadRequest("broken JSON in line %d near byte %d", line, at)
}
