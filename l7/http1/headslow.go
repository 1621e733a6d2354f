package http1

import "github.com/sluicelb/sluice/core/ascii"

// recogniseSlow checks a name that is not in the table for prefixes and variants.
func recogniseSlow(name []byte) (k Known, ok bool) {
	kinds := uint8(0)
	for _, c := range name {
		kinds |= token[c]
	}
	switch {
	case kinds&tokenNot != 0 || len(name) == 0:
		return KnownNone, false
	case kinds&tokenOdd != 0:
		return knownTwin(name), true
	case name[0]|0x20 == 'x':
		return knownX(name), true
	}
	return KnownNone, true
}

// knownX distinguishes the X-* prefixes.
func knownX(name []byte) Known {
	switch {
	case len(name) >= 6 && foldIs(name[:6], "x-ssl-"):
		return KnownXSSL
	case len(name) >= 12 && foldIs(name[:12], "x-forwarded-"):
		return KnownXForwarded
	}
	return KnownNone
}

// knownTwin detects variants of dropped fields, such as X_Forwarded_For and Content.Length.
// CGI-like backends replace all punctuation by '_'.
func knownTwin(name []byte) Known {
	plain, n := plainName(name)
	if k, _ := recognise(plain[:], n); dropRequest.has(k) {
		return KnownTwin
	}
	return KnownNone
}

// plainName returns a token, or its beginning, with '-' in place of other punctuation.
func plainName(name []byte) (plain [maxName]byte, n int) {
	n = min(len(name), len(plain)) // no name in the table is longer; prefixes decide about others
	for i, c := range name[:n] {
		if token[c] == tokenOdd {
			c = '-'
		}
		plain[i] = c
	}
	return plain, n
}

// unfold joins the line at b[h.next:], which begins with a blank, to the previous field. One
// blank replaces the line end and the blanks around it (RFC 9112 section 5.2), and the rest
// of the space becomes blanks at the end of the line. It returns the length of the line, or
// 0 if bytes are missing.
func (h *Head) unfold(b []byte) (int, error) {
	line := b[h.next:]
	end := textEnd(line)
	for end+1 >= len(line) || line[end] != '\r' || line[end+1] != '\n' {
		again, err := h.deviantValue(line, end, h.Fields[h.NumFields-1].Known)
		if !again {
			return 0, err
		}
		end = textEnd(line)
	}
	v := &h.Fields[h.NumFields-1].Value
	at := int(v.End)
	if more := trim(line[:end]); len(more) > 0 {
		if v.Len() == 0 {
			at = h.next - 2
			v.Off = uint32(at + 1)
		}
		b[at] = ' '
		at += 1 + copy(b[at+1:], more)
		v.End = uint32(at)
	}
	for i := at; i < h.next+end; i++ {
		b[i] = ' '
	}
	return end + 2, nil
}

// nameError returns why p does not start with a field name and a colon, or nil if bytes are
// missing.
func nameError(p []byte) error {
	i := 0
	for i < len(p) && token[p[i]] != tokenNot {
		i++
	}
	if i >= len(p) || p[i] == '\r' && i == 0 && i+1 >= len(p) {
		return nil
	}
	switch c := p[i]; {
	case c == '\n', c == '\r' && i == 0:
		return ErrLineEnd
	case i == 0 && (c == ' ' || c == '\t'):
		return ErrFold
	}
	return ErrFieldName
}

// valueError returns why the value that stopped at b[i] does not end in CRLF, or nil if
// bytes are missing.
func valueError(b []byte, i int) error {
	if i >= len(b) || b[i] == '\r' && i+1 >= len(b) {
		return nil
	}
	if b[i] == '\r' || b[i] == '\n' {
		return ErrLineEnd
	}
	return ErrFieldValue
}

// codingError distinguishes a chunked body with an unknown coding (RFC 9112 section 6.1)
// from one without a definite end.
func (h *Head) codingError() error {
	if h.twice.has(KnownTransferEncoding) {
		return ErrCoding
	}
	for v := h.Value(int(h.first[KnownTransferEncoding])); ; {
		var coding []byte
		coding, v = cutList(v)
		chunks := ascii.Is(coding, "chunked")
		switch {
		case !isToken(coding) || chunks != (len(v) == 0):
			return ErrCoding
		case chunks:
			return ErrCodingUnknown
		}
	}
}

// Connection options (RFC 9110 section 7.6.1).
const (
	optClose = 1 << iota
	optKeepAlive
	optUpgrade
	optTE
)

// maxNamed bounds the fields listed in Connection. Each is compared with every field, and an
// attacker must not control that effort.
const maxNamed = 16

// options parses one Connection value.
func (h *Head) options(v []byte, options uint8, named int) (uint8, int, error) {
	for len(v) > 0 {
		i := 0
		for i < len(v) && v[i] != ',' {
			i++
		}
		t := trim(v[:i])
		v = v[min(i+1, len(v)):]
		switch {
		case len(t) == 0: // empty list elements are ignored
		case foldIs(t, "keep-alive"):
			options |= optKeepAlive
		case foldIs(t, "close"):
			options |= optClose
		case !isToken(t):
			return 0, 0, ErrConnection
		case foldIs(t, "upgrade"):
			options |= optUpgrade
		case foldIs(t, "te"):
			options |= optTE
		default:
			if named++; named > maxNamed {
				return 0, 0, ErrConnection
			}
			h.dropNamed(t)
		}
	}
	return options, named, nil
}

// dropNamed drops the fields with that name.
func (h *Head) dropNamed(name []byte) {
	for i := range h.Fields[:h.NumFields] {
		if f := &h.Fields[i]; !unnamed.has(f.Known) && ascii.EqualFold(h.Name(i), name) {
			f.state |= dropped | named
		}
	}
}

// finishRare handles Upgrade, Expect, TE and the method TRACE.
func (r *Request) finishRare(options uint8) error {
	body := r.Body() != BodyNone
	if r.Verb == VerbTRACE && body {
		return ErrTraceBody
	}
	if err := r.checkUpgrade(options, body); err != nil {
		return err
	}
	if i := r.Find(KnownTE); i >= 0 {
		r.TETrailers = r.Minor == 1 && options&optTE != 0 && hasTrailers(r.Value(i))
	}
	if i := r.Find(KnownExpect); i >= 0 {
		if r.Minor == 1 && (r.twice.has(KnownExpect) || !ascii.Is(r.Value(i), "100-continue")) {
			return ErrExpect
		}
		// Ignored on HTTP/1.0 and without a body (RFC 9110 section 10.1.1). We send
		// HTTP/1.1, so it must not be forwarded.
		r.Expect100 = r.Minor == 1 && body
		for ; i < r.NumFields; i++ {
			if r.Fields[i].Known == KnownExpect {
				r.Fields[i].drop(!r.Expect100)
			}
		}
	}
	return nil
}

// hasTrailers reports whether the TE value v lists trailers.
func hasTrailers(v []byte) bool {
	for len(v) > 0 {
		i := 0
		for i < len(v) && v[i] != ',' {
			i++
		}
		if foldIs(trim(v[:i]), "trailers") {
			return true
		}
		v = v[min(i+1, len(v)):]
	}
	return false
}

// versionError returns why b does not start with a supported version and CRLF, or nil if
// bytes are missing.
func versionError(b []byte) error {
	const form = "HTTP/0.0\r\n"
	for i := 0; i < len(form) && i < len(b); i++ {
		switch c := b[i]; {
		case form[i] == '0' && '0' <= c && c <= '9', c == form[i]:
		case i >= 8 && c == '\n', i == 9:
			return ErrLineEnd
		default:
			return ErrVersion
		}
	}
	if len(b) < len(form) {
		return nil
	}
	return ErrVersionUnknown
}
