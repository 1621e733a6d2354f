package http1

import (
	"bytes"

	"github.com/sluicelb/sluice/core/ascii"
)

// Leniency is a set of deviations from the grammar accepted in responses of a backend. Each
// is unambiguous, and clients get the correct form. Requests have none, because two parsers
// on their path may disagree.
type Leniency uint16

// The deviations.
const (
	// LenientCoding: Transfer-Encoding repeats chunked, or has empty elements.
	LenientCoding Leniency = 1 << iota
	// LenientIdentity: Transfer-Encoding contains identity (RFC 2616), without a
	// Content-Length.
	LenientIdentity
	// LenientChunkSize: blanks after a chunk size, or zeros before it beyond 16 digits.
	LenientChunkSize
	// LenientStatus: a status of 600-999.
	LenientStatus
	// LenientStatusLine: a later version of HTTP, several blanks or tabs as separator,
	// control bytes in the reason.
	LenientStatusLine
	// LenientLineEnd: every line of the head ends in LF alone.
	LenientLineEnd
	// LenientNameBlank: blanks between the name of a field and its colon.
	LenientNameBlank
	// LenientNameByte: invalid bytes in a field name. The field is dropped.
	LenientNameByte
	// LenientControl: control bytes other than NUL in a field value. They become blanks.
	LenientControl
	// LenientConnection: an invalid option in Connection. It counts as close.
	LenientConnection
)

// Allow accepts the deviations in l from now on.
func (r *Response) Allow(l Leniency) { r.allow = l }

// Allowed returns the deviations set by Allow.
func (h *Head) Allowed() Leniency { return h.allow }

// framed fields decide where a message or a connection ends. No deviation is accepted in
// them: if the backend meant something else, its response would be split differently.
var framed = dropResponse

// maxStatusLine bounds a deviating status line.
const maxStatusLine = 1 << 10

// deviantStatusLine parses a status line that statusLine refuses with strict. It returns the
// error of the first deviation that r does not allow, or strict for an ambiguous line.
func (r *Response) deviantStatusLine(b []byte, strict error) (next int, err error) {
	i := bytes.IndexByte(b[:min(len(b), maxStatusLine)], '\n')
	if i < 0 {
		if n := min(len(b), len("HTTP/")); r.allow != 0 && len(b) < maxStatusLine && string(b[:n]) == "HTTP/"[:n] {
			return 0, nil // the complete line decides
		}
		return 0, strict
	}
	line, ends := bytes.CutSuffix(b[:i], []byte("\r"))
	l, status, reason, ok := readStatusLine(line)
	if !ok {
		return 0, strict
	}
	if !ends {
		l |= LenientLineEnd
	}
	if missing := l &^ r.allow; missing != 0 {
		return 0, missing.err()
	}
	if !ends {
		return 0, errBareHead
	}
	r.Minor, r.Status, r.bare = 1, status, true
	if b[5] == '1' && b[7] == '0' {
		r.Minor = 0
	}
	clean(line[reason:])
	r.Reason = Span{uint32(reason), uint32(len(line))}
	return i + 1, nil
}

// readStatusLine parses a status line at word boundaries (RFC 9112 section 4) and returns
// its deviations. Versions after HTTP/1.1 are treated as HTTP/1.1 (RFC 9110 section 2.5).
func readStatusLine(line []byte) (l Leniency, status, reason int, ok bool) {
	const version = len("HTTP/1.1")
	if len(line) < len("HTTP/1.1 200") || !bytes.HasPrefix(line, []byte("HTTP/")) || line[6] != '.' {
		return 0, 0, 0, false
	}
	switch major, minor := line[5]-'0', line[7]-'0'; {
	case major == 0 || major > 9 || minor > 9:
		return 0, 0, 0, false
	case major > 1 || minor > 1:
		l |= LenientStatusLine
	}
	i := version
	for i < len(line) && isBlank(line[i]) {
		i++
	}
	if i == version || i+3 > len(line) {
		return 0, 0, 0, false
	}
	if i != version+1 || line[version] != ' ' {
		l |= LenientStatusLine
	}
	c, d, u := line[i]-'0', line[i+1]-'0', line[i+2]-'0'
	if c-1 > 8 || d > 9 || u > 9 {
		return 0, 0, 0, false
	}
	if status = int(c)*100 + int(d)*10 + int(u); status > 599 {
		l |= LenientStatus
	}
	if i += 3; i == len(line) {
		return l, status, i, true
	}
	if line[i] == '\t' {
		l |= LenientStatusLine
	} else if line[i] != ' ' {
		return 0, 0, 0, false
	}
	i++
	if end := textEnd(line[i:]); end < len(line[i:]) {
		l |= LenientStatusLine
	}
	return l, status, i, !bytes.ContainsAny(line[i:], "\x00\r")
}

// err returns the error of the first deviation in l.
func (l Leniency) err() error {
	switch {
	case l&LenientLineEnd != 0:
		return ErrBareHead
	case l&LenientStatus != 0:
		return ErrStatusRange
	}
	return ErrStatusForm
}

// parseBare parses a head whose lines all end in a bare LF. A head with mixed line ends is
// ambiguous: in one reading a field contains another.
func (r *Response) parseBare(b []byte) (int, error) {
	r.next = 0
	head, _, whole := bytes.Cut(b, []byte("\n\n"))
	if bytes.IndexByte(head, '\r') >= 0 {
		return 0, ErrMixedEnds
	}
	if !whole {
		return 0, nil
	}
	n := len(head) + len("\n\n")
	r.lines = r.lines[:0]
	for _, c := range b[:n] {
		if c == '\n' {
			r.lines = append(r.lines, '\r')
		}
		r.lines = append(r.lines, c)
	}
	if len(r.lines) > MaxHead {
		return 0, ErrHeadTooLong
	}
	if parsed, err := r.parse(r.lines); parsed == 0 || err != nil {
		return 0, err
	}
	return n, nil
}

// deviantName handles a line p with a malformed name. It returns the length of a line to drop,
// or 0. The result again means that the line was corrected and must be parsed again; without it
// the line is incomplete. If h does not allow the deviation, it returns the error of that
// deviation.
func (h *Head) deviantName(p []byte) (skip int, again bool, err error) {
	strict := nameError(p)
	end := bytes.IndexByte(p, '\n')
	if strict != nil && strict != ErrFieldName {
		return 0, false, strict
	}
	if end < 0 {
		if h.allow&(LenientNameBlank|LenientNameByte) != 0 {
			return 0, false, nil
		}
		return 0, false, strict
	}
	colon := bytes.IndexByte(p[:end], ':')
	if colon <= 0 || p[end-1] != '\r' {
		return 0, false, strict
	}
	name := trim(p[:colon])
	if resembles(name) || isBlank(p[0]) {
		return 0, false, strict
	}
	if len(name) < colon && isToken(name) {
		if h.allow&LenientNameBlank == 0 {
			return 0, false, ErrNameBlank
		}
		p[len(name)], p[colon] = ':', ' '
		return 0, true, nil
	}
	for _, c := range p[:colon] {
		if c <= ' ' || c == 0x7f {
			return 0, false, strict
		}
	}
	switch v := p[colon+1 : end-1]; {
	case textEnd(v) < len(v):
		return 0, false, strict
	case h.allow&LenientNameByte == 0:
		return 0, false, ErrNameByte
	case h.NumFields >= MaxFields:
		return 0, false, ErrTooManyFields
	}
	return end + 1, false, nil
}

// leaveOut records the line of n bytes at b[at:] as a dropped field.
func (h *Head) leaveOut(at, n int) {
	f := &h.Fields[h.NumFields]
	f.Name, f.Value = Span{uint32(at), uint32(at)}, Span{uint32(at + n - 2), uint32(at + n - 2)}
	f.Known, f.state = KnownNone, dropped
	h.NumFields++
}

// resembles reports whether name could be meant as a framing field: it equals one without
// its invalid bytes.
func resembles(name []byte) bool {
	var plain [maxName]byte
	n := 0
	for _, c := range name {
		switch {
		case token[c] == tokenNot:
			continue
		case n == len(plain):
			return false
		case token[c] == tokenOdd:
			c = '-'
		}
		plain[n] = c
		n++
	}
	k, _ := recognise(plain[:], n)
	return framed.has(k) || n == 0
}

// deviantValue handles the value v of a field of kind k that stopped at v[end] before the
// end of its line. It reports whether the value was corrected.
func (h *Head) deviantValue(v []byte, end int, k Known) (again bool, err error) {
	if err = valueError(v, end); err != ErrFieldValue {
		return false, err
	}
	switch {
	case v[end] == 0 || framed.has(k):
		return false, err
	case h.allow&LenientControl == 0:
		return false, ErrControl
	}
	clean(v[end:])
	return true, nil
}

// clean replaces control bytes by blanks, up to NUL or the end of the line.
func clean(v []byte) {
	for i, c := range v {
		switch {
		case c == '\r' || c == '\n' || c == 0:
			return
		case c < 0x20 && c != '\t' || c == 0x7f:
			v[i] = ' '
		}
	}
}

// deviantCoding parses a Transfer-Encoding that framing refuses with strict. The body is
// chunked once if the last coding is chunked and all others are identity or chunked.
func (r *Response) deviantCoding(strict error) error {
	if strict == ErrCodingLength || strict == ErrCodingVersion {
		return strict
	}
	l, chunks, last := Leniency(0), 0, false
	for i := range r.Fields[:r.NumFields] {
		if r.Fields[i].Known != KnownTransferEncoding {
			continue
		}
		v := r.Value(i)
		if bytes.HasSuffix(v, []byte(",")) {
			l |= LenientCoding // cutList returns no element there
		}
		for {
			var coding []byte
			coding, v = cutList(v)
			switch {
			case ascii.Is(coding, "chunked"):
				chunks, last = chunks+1, true
			case ascii.Is(coding, "identity"):
				l, last = l|LenientIdentity, false
			case len(coding) == 0:
				l |= LenientCoding
			default:
				return strict
			}
			if len(v) == 0 {
				break
			}
		}
	}
	if chunks > 1 {
		l |= LenientCoding
	}
	switch {
	case chunks > 0 && !last, chunks == 0 && l&LenientIdentity == 0:
		return strict
	case l&LenientCoding&^r.allow != 0:
		return ErrCodingRepeated
	case l&LenientIdentity&^r.allow != 0:
		return ErrCodingIdentity
	}
	r.Chunked = chunks > 0
	return nil
}
