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

	"github.com/sluicelb/sluice/mgmt/validate"
)

// maxBody bounds every body but a configuration document, which may have
// document.MaxSize bytes.
const maxBody = 1 << 20

// jsonTypes and documentTypes are the content types an operation reads; an
// absent one counts as the first.
var (
	jsonTypes     = []string{"application/json", "text/plain"}
	DocumentTypes = []string{"application/yaml", "application/json", "text/plain", "application/x-yaml", "text/yaml"}
)

// ReadBody returns the whole body of r, at most limit bytes, when its content
// type is one of types.
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

// ReadWhole returns the body of r as it came, at most limit bytes of whatever type.
func ReadWhole(r *http.Request, limit int64) ([]byte, error) {
	if r.ContentLength > limit {
		return nil, tooLarge(limit)
	}
	b, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, limit))
	return b, bodyError(err, limit)
}

// bodyError says what became of a body that may have limit bytes.
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

// mark begins files some editors of Windows write, and clients send as they are. It
// stands for nothing.
const mark = "\ufeff"

// Upload is a body that is too long to be held in memory: it is read as it comes.
type Upload struct {
	Body io.Reader
	// Size is what was announced, -1 for nothing.
	Size int64

	limit int64
	ended error // how the body ended, if not where it was to
}

// Upload gives the body of such a call, of which limit bytes are read at most.
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

// Problem is why a body could not be read, where that is why reading it failed with
// err: who reads formats takes every end for a damage.
func (u *Upload) Problem(err error) error {
	if err == nil || u.ended == nil {
		return err
	}
	return bodyError(u.ended, u.limit)
}

// uploaded remembers how a body ended.
type uploaded struct {
	of   *Upload
	body io.Reader
}

// Read reads on.
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

// DecodeObject reads one JSON object whose fields are scalars or lists of
// scalars. A name that comes twice and anything after the object are refused:
// two readers of the body must not see two different things. What nests deeper
// becomes an empty object or list, which no rule allows: an unknown name is to
// be refused before it.
func DecodeObject(b []byte) (map[string]any, error) {
	if len(bytes.TrimSpace(b)) == 0 {
		return map[string]any{}, nil // as an empty object
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

// maxFields and maxItems bound a body before its names are looked at: no table
// and no list of a field is longer.
const (
	maxFields = 256
	maxItems  = 1024
)

// deepest is how many objects may stand in one another and still be read: a role is
// permissions in sections. What is deeper is an empty object.
const deepest = 1

// decodeFields reads the object that dec is in, to its end.
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

// plainNumber is a value, and a whole number as its digits alone, however it is written.
func plainNumber(value any) any {
	if n, is := value.(json.Number); is {
		return json.Number(validate.Whole(n))
	}
	return value
}

// decodeList reads the items of the list that dec is in.
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

// skip reads on to the end of the list or object that dec is in.
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
