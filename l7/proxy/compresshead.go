package proxy

import (
	"bytes"

	"github.com/sluicelb/sluice/l7/compress"
	"github.com/sluicelb/sluice/l7/http1"
)

// The lines that tell of compression. Vary stands wherever a service might
// compress, whether it does or not: the next client may accept something else
// (RFC 9110 section 12.5.5).
var (
	varyLine    = []byte("Vary: Accept-Encoding\r\n")
	codingLines = [...][]byte{
		compress.Gzip:   []byte("Content-Encoding: gzip\r\n"),
		compress.Zstd:   []byte("Content-Encoding: zstd\r\n"),
		compress.Brotli: []byte("Content-Encoding: br\r\n"),
	}
)

// encoding is what happens to an answer's body on its way.
type encoding struct {
	encoder *compress.Encoder // nil when it stays as it is
	coding  compress.Coding   // the client takes, None also when the service compresses nothing
	vary    bool              // the answer gets varyLine
	told    []byte            // and this line
}

// encodable is what the fields of an answer say about encoding it.
type encodable struct {
	never  bool // it has a coding, is a part, or must stay as it is
	varies bool // Vary names Accept-Encoding already
}

// readEncodable reads all fields. Those that rules took out count too where
// they tell what the body is.
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

// planEncoding decides whether the answer at hand is compressed and, if so,
// gets an encoder. kind is how the backend frames the body; head tells that
// there is none because the request was a HEAD, which gets the fields a GET
// would get, but no framing: nobody knows the length.
func (ex *exchange) planEncoding(kind http1.Body, head bool) {
	c, r := ex.service.Compress, &ex.w.resp
	ex.vary, ex.told = false, nil
	i := r.Find(http1.KnownContentType)
	if i < 0 || !mayEncode(r.Status) || !c.Wants(r.Value(i)) {
		return
	}
	e := readEncodable(&r.Head)
	if e.never {
		return
	}
	ex.vary = !e.varies
	length := r.ContentLength // -1 when unknown
	switch {
	case ex.coding == compress.None || length >= 0 && length < c.Min:
	case head:
		ex.markEncoded(ex.coding)
	case kind != http1.BodyNone:
		if ex.encoder = ex.w.encoders.Get(ex.coding, c.Level); ex.encoder == nil {
			ex.stats().CompressFull++
		}
	}
}

// setEncoding changes the head for a body that is compressed, after its
// first out bytes were looked at. If those are all there is, and too few, the
// body stays as it is; now its length is known.
func (ex *exchange) setEncoding(out int) {
	r := &ex.w.resp
	if ex.response.done() && int64(out) < ex.service.Compress.Min && len(ex.response.trailer()) == 0 {
		ex.returnEncoder()
		r.Chunked, r.ContentLength = false, int64(out)
		return
	}
	ex.stats().Compressed++
	ex.markEncoded(ex.encoder.Coding())
	r.Chunked = !ex.peer.Frames
}

// markEncoded makes the head one of an encoded body: another representation of
// the resource, with no length known and no parts to be had. What was computed
// over the bytes of the backend's would be wrong; a strong validator says that
// bytes are the same, so it becomes a weak one (RFC 9110 section 8.8.1).
func (ex *exchange) markEncoded(c compress.Coding) {
	w := ex.w
	h := &w.resp.Head
	h.ContentLength, h.Chunked = -1, false
	ex.told = codingLines[c]
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

// isDigest finds fields and trailers computed over the bytes of a body (RFC
// 9530, and what came before it).
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

// withEncoding adds what tells of compression to the lines an answer gets.
func (ex *exchange) withEncoding(add []byte) []byte {
	if ex.vary {
		add = ex.w.join(add, varyLine)
	}
	return ex.w.join(add, ex.told)
}

// mayEncode reports whether the answer to a request may have another coding,
// as far as its status tells. Parts of a representation (206) are of the one
// that was asked for, and 304 is about the one that is stored.
func mayEncode(status int) bool {
	switch status {
	case 204, 205, 206, 226:
		return false
	}
	return status < 300 || status >= 400
}

// lists reports whether a comma list has the given word, in lower case. Within
// a quoted string it may find one that is none, which does no harm here.
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
