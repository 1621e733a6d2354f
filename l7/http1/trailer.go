package http1

// maxAnnounced bounds a Trailer field that is honoured.
const maxAnnounced = 256

// Trailers returns the names in the Trailer field of a chunked message, which is
// announced onward. The announcement is only a SHOULD (RFC 9110 section 6.6.2):
// trailers pass without one. It is empty when there is none, or when one of the names is none a trailer
// may have.
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

// ParseTrailers reads what Chunked.Trailer gives, lines and the empty one behind
// them, so that rules for heads can be applied to it. Only the fields of h mean
// something then. b is borrowed as by Request.Parse. It answers false for what is
// no such block, or has too many lines.
func (h *Head) ParseTrailers(b []byte) bool {
	h.begin()
	n, err := h.parseFields(b, 0, 0, false)
	return n == len(b) && err == nil
}

// AppendTrailers appends what rules left of trailers, with the empty line; nothing
// when no line is left.
func (h *Head) AppendTrailers(dst []byte) []byte {
	at := len(dst)
	if dst = h.appendKept(dst, noRun, 0); len(dst) == at {
		return dst
	}
	return append(dst, "\r\n"...)
}

// recogniseWhole recognises a name that stands alone in its slice.
func recogniseWhole(name []byte) (Known, bool) {
	var pad [trailerNameBytes]byte
	copy(pad[:], name)
	return recognise(pad[:], len(name))
}

// cutList takes the first element, without blanks, from a comma list.
func cutList(v []byte) (first, rest []byte) {
	i := 0
	for i < len(v) && v[i] != ',' {
		i++
	}
	return trim(v[:i]), v[min(i+1, len(v)):]
}

// FromBackend is for the body of an answer: trailers that would change what was
// decided from the head are left out (RFC 9110 section 6.5.1), folded ones are put
// on one line. A request with either is refused. The deviations in l are
// accepted. Call it after Reset.
func (c *Chunked) FromBackend(l Leniency) { c.strip, c.loose = true, l&LenientChunkSize != 0 }
