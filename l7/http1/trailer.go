package http1

// maxAnnounced bounds a Trailer field that is honoured.
const maxAnnounced = 256

// Trailers returns the names in the Trailer field of a chunked message, for forwarding.
// Trailers are accepted without announcement, which is only a SHOULD (RFC 9110 section
// 6.6.2). The result is empty without the field or if a listed name is forbidden in
// trailers.
func (h *Head) Trailers() []byte {
	i := -1
	if h.Chunked {
		i = h.Find(KnownTrailer)
	}
	if i < 0 {
		return nil
	}
	v := h.Value(i)
	if len(v) > maxAnnounced {
		return nil
	}
	for rest := v; len(rest) > 0; {
		var name []byte
		name, rest = cutList(rest)
		if len(name) >= trailerNameBytes || !isToken(name) {
			return nil
		}
		if k, _ := recogniseWhole(name); forbiddenTrailer.has(k) {
			return nil
		}
	}
	return v
}

// ParseTrailers parses the result of Chunked.Trailer, including its empty line, so that
// header rules can be applied. Only the fields of h are valid then. b is borrowed as in
// Request.Parse. It returns false if b is malformed or has too many lines.
func (h *Head) ParseTrailers(b []byte) bool {
	h.begin()
	n, err := h.parseFields(b, 0, 0, false)
	return n == len(b) && err == nil
}

// AppendTrailers appends the trailers left by rules and the empty line. It appends nothing if
// no trailer is left.
func (h *Head) AppendTrailers(dst []byte) []byte {
	at := len(dst)
	if dst = h.appendKept(dst, noRun, 0); len(dst) == at {
		return dst
	}
	return append(dst, "\r\n"...)
}

// recogniseWhole recognises a name in its own slice.
func recogniseWhole(name []byte) (Known, bool) {
	var pad [trailerNameBytes]byte
	copy(pad[:], name)
	return recognise(pad[:], len(name))
}

// cutList splits the first element, without blanks, off a comma list.
func cutList(v []byte) (first, rest []byte) {
	i := 0
	for i < len(v) && v[i] != ',' {
		i++
	}
	return trim(v[:i]), v[min(i+1, len(v)):]
}

// FromBackend configures c for the body of a response: trailers that would contradict
// decisions made from the head are dropped (RFC 9110 section 6.5.1), and folded ones are
// unfolded. In a request both are errors. The deviations in l are accepted. Call it after
// Reset.
func (c *Chunked) FromBackend(l Leniency) { c.strip, c.loose = true, l&LenientChunkSize != 0 }
