package proxy

import (
	"bytes"

	"github.com/sluicelb/sluice/l7/compress"
	"github.com/sluicelb/sluice/l7/http1"
)

// Field lines for compression. Vary is set wherever a service might compress, because the
// next client may accept other codings (RFC 9110 section 12.5.5).
var (
	varyLine    = []byte("Vary: Accept-Encoding\r\n")
	codingLines = [...][]byte{
		compress.Gzip:   []byte("Content-Encoding: gzip\r\n"),
		compress.Zstd:   []byte("Content-Encoding: zstd\r\n"),
		compress.Brotli: []byte("Content-Encoding: br\r\n"),
	}
)

// encoding is the encoding of a response body.
type encoding struct {
	encoder *compress.Encoder // nil without compression
	coding  compress.Coding   // the coding to use; None also if the service does not compress
	vary    bool              // varyLine is added
	line    []byte            // further line to add
}

// encodable holds the properties of a response that concern encoding.
type encodable struct {
	never  bool // it has a coding, is partial, or must not be transformed
	varies bool // Vary contains Accept-Encoding already
}

// readEncodable reads all fields. Fields removed by rules count, too, if they describe the
// body.
func readEncodable(h *http1.Head) (e encodable) {
	for i := range h.Fields[:h.NumFields] {
		name := h.Name(i)
		switch len(name) {
		case len("vary"):
			if compress.Is(name, "vary") && !h.Fields[i].Removed() {
				v := h.Value(i)
				e.varies = e.varies || lists(v, "accept-encoding") || lists(v, "*")
			}
		case len("content-range"):
			e.never = e.never || compress.Is(name, "content-range") || compress.Is(name, "cache-control") && lists(h.Value(i), "no-transform")
		case len("content-encoding"):
			e.never = e.never || compress.Is(name, "content-encoding")
		}
	}
	return e
}

// plan decides whether the current response is compressed, and gets an encoder if so.
// Parameter kind is the backend's framing. If head is true, the request was HEAD: the
// response has the fields of a GET but no framing, because the length is unknown.
func (e *encoding) plan(ex *exchange, kind http1.Body, head bool) {
	c, r := ex.service.Compress, &ex.w.resp
	e.vary, e.line = false, nil
	i := r.Find(http1.KnownContentType)
	if i < 0 || !mayEncode(r.Status) || !c.Wants(r.Value(i)) {
		return
	}
	about := readEncodable(&r.Head)
	if about.never {
		return
	}
	e.vary = !about.varies
	length := r.ContentLength // -1 if unknown
	switch {
	case e.coding == compress.None || length >= 0 && length < c.Min:
	case head:
		e.mark(ex.w, e.coding)
	case kind != http1.BodyNone:
		if e.encoder = ex.w.encoders.Get(e.coding, c.Level); e.encoder == nil {
			ex.stats().CompressFull++
		}
	}
}

// begin changes the head for a compressed body, given its first out bytes. If these
// are the whole body and too few, it stays uncompressed with a known length.
func (e *encoding) begin(ex *exchange, out int) {
	r := &ex.w.resp
	if ex.response.done() && int64(out) < ex.service.Compress.Min && len(ex.response.trailer()) == 0 {
		e.release(ex.w)
		r.Chunked, r.ContentLength = false, int64(out)
		return
	}
	ex.stats().Compressed++
	e.mark(ex.w, e.encoder.Coding())
	r.Chunked = !ex.peer.Frames
}

// mark changes the head for an encoded body: another representation without a known
// length or ranges. Digests of the original bytes are dropped. A strong ETag would claim
// identical bytes, so it becomes weak (RFC 9110 section 8.8.1).
func (e *encoding) mark(w *worker, c compress.Coding) {
	h := &w.resp.Head
	h.ContentLength, h.Chunked = -1, false
	e.line = codingLines[c]
	for i := range h.Fields[:h.NumFields] {
		name := h.Name(i)
		switch {
		case compress.Is(name, "etag"):
			if v := h.Value(i); len(v) > 0 && v[0] == '"' && !h.Fields[i].Removed() {
				w.etag = append(append(w.etag[:0], "W/"...), v...)
				if weak, ok := http1.CheckValue(w.etag); ok {
					h.Edit(i, weak)
				}
			}
		case compress.Is(name, "accept-ranges"), isDigest(name):
			h.Remove(i)
		}
	}
}

// isDigest reports whether a field or trailer is a digest of the body's bytes (RFC 9530 and
// its predecessors).
func isDigest(name []byte) bool {
	switch len(name) {
	case len("digest"):
		return compress.Is(name, "digest")
	case len("content-md5"):
		return compress.Is(name, "content-md5") || compress.Is(name, "repr-digest")
	case len("content-digest"):
		return compress.Is(name, "content-digest")
	}
	return false
}

// addLines appends the lines about compression to the lines of a response.
func (e *encoding) addLines(w *worker, add []byte) []byte {
	if e.vary {
		add = w.join(add, varyLine)
	}
	return w.join(add, e.line)
}

// mayEncode reports whether a response with that status may be encoded. A 206 is a part of
// the requested representation, and a 304 refers to the client's stored one.
func mayEncode(status int) bool {
	switch status {
	case 204, 205, 206, 226:
		return false
	}
	return status < 300 || status >= 400
}

// lists reports whether a comma-separated list contains the given lower-case word. Matches
// within quoted strings are possible but harmless here.
func lists(v []byte, word string) bool {
	for len(v) > 0 {
		element := v
		if i := bytes.IndexByte(v, ','); i >= 0 {
			element, v = v[:i], v[i+1:]
		} else {
			v = nil
		}
		if compress.Is(bytes.Trim(element, " \t"), word) {
			return true
		}
	}
	return false
}
