package http1

import (
	"bytes"
	"encoding/binary"
	"strconv"

	"github.com/sluicelb/sluice/core/ascii"
)

// Limits of a head. Each is checked before bytes beyond it are examined.
const (
	MaxFields = 128      // field lines; more get a 431
	MaxHead   = 64 << 10 // bytes of a head with its blank line; more get a 431
	MaxTarget = 16 << 10 // bytes of a request target, raw and canonical; more get a 414
	MaxMethod = 32       // bytes of a method; more get a 501
	MaxHost   = 255      // bytes of a host name without its port

	// maxLine exceeds the longest request line within the limits.
	maxLine = 2 + MaxMethod + 1 + MaxTarget + 1 + len("HTTP/1.1\r\n")
)

// Span is a range of the bytes of a head: b[Off:End].
type Span struct{ Off, End uint32 }

// Of returns the bytes of s in b, the buffer of the head.
func (s Span) Of(b []byte) []byte { return b[s.Off:s.End] }

// Len returns the number of bytes of s.
func (s Span) Len() int { return int(s.End - s.Off) }

// Field is one field line of a head.
type Field struct {
	Name  Span  // as spelled by the peer
	Value Span  // without surrounding blanks
	Known Known // known field, or KnownNone
	state state // 0: copied unchanged
}

// Head is the common part of requests and responses. Spans are offsets into Buf. Entries of
// Fields from NumFields on are stale.
type Head struct {
	Buf       []byte // the bytes of the head, borrowed from the caller of Parse
	Len       int    // length of the head with its blank line and a skipped empty line
	NumFields int
	Fields    [MaxFields]Field
	Minor     uint8 // 0 or 1: HTTP/1.0 or HTTP/1.1

	ContentLength int64 // -1 if absent
	Chunked       bool  // Transfer-Encoding: chunked
	KeepAlive     bool  // the peer keeps its connection open after this exchange
	Upgrade       bool  // see Request and Response

	next int // start of the first unparsed line; 0: nothing is parsed
	seen int // number of bytes when the last Parse needed more

	allow Leniency // of a response

	have, twice mask      // known fields that are present, or repeated
	first       [64]uint8 // index of the first field of each kind in have

	values [MaxFields][]byte // new values set by Edit
}

// Name returns the name of field i as spelled by the peer.
func (h *Head) Name(i int) []byte { return h.Fields[i].Name.Of(h.Buf) }

// Value returns the value of field i without surrounding blanks, or the one set by Edit.
func (h *Head) Value(i int) []byte {
	if f := &h.Fields[i]; f.state&edited == 0 {
		return f.Value.Of(h.Buf)
	}
	return h.values[i]
}

// Find returns the index of the first field of kind k, or -1, in constant time.
func (h *Head) Find(k Known) int {
	if h.have.has(k) {
		return int(h.first[k])
	}
	return -1
}

// mask is a set of Known values, one bit each.
type mask uint64

func (m mask) has(k Known) bool { return m>>(k&63)&1 != 0 }

func maskOf(ks ...Known) (m mask) {
	for _, k := range ks {
		m |= 1 << k
	}
	return m
}

// Lookup returns the index of the first field with that name, or -1. name must be in lower
// case. It compares all fields; use it for names that are not Known.
func (h *Head) Lookup(name string) int { return h.LookupFrom(name, 0) }

// LookupFrom is Lookup among the fields from index i on.
func (h *Head) LookupFrom(name string, i int) int {
	for ; i < h.NumFields; i++ {
		if n := h.Name(i); ascii.Is(n, name) && h.Fields[i].state&removed == 0 {
			return i
		}
	}
	return -1
}

// Reset discards an incomplete head. It is only needed when a head for which Parse returned
// 0, nil is abandoned for another connection's.
func (h *Head) Reset() { h.next, h.seen = 0, 0 }

// NeedMore reports whether b cannot hold a complete head yet, given that Parse of b[:seen]
// needed more bytes. It only examines b[seen:]. Callers that share a Request between
// connections keep seen per connection and call Parse only if NeedMore returns false, which
// avoids parsing a slow head repeatedly. An unshared Request does this itself.
func NeedMore(b []byte, seen int) bool {
	if seen > len(b) || seen < MaxMethod+1 || len(b) >= MaxHead || seen < maxLine && len(b) >= maxLine {
		return false // detect garbage and limits at once
	}
	return bytes.IndexByte(b[seen:], '\n') < 0
}

// Parse of both kinds of head calls waits, then parse for its kind of lines, then result.
// The two Parse methods are separate: with an interface they were never faster and sometimes
// 5 % slower.

// waits reports whether b cannot hold a complete head of either kind yet.
func (h *Head) waits(b []byte) bool {
	if h.seen > len(b) {
		h.Reset() // b cannot be the same bytes and more
	}
	if h.seen == 0 || !NeedMore(b, h.seen) {
		return false
	}
	h.seen = len(b)
	return true
}

// result returns the result of Parse after reading b yielded n and err, and prepares h for
// the next bytes: the rest of this head or the next head.
func (h *Head) result(b []byte, n int, err error) (int, error) {
	if n == 0 && err == nil {
		if len(b) < MaxHead {
			h.seen = len(b)
			return 0, nil
		}
		err = ErrHeadTooLong
	}
	h.Reset()
	if err != nil {
		return 0, err
	}
	return n, nil
}

// begin prepares h for the first line of a head. Nothing of the previous head, which may be
// another client's, is reachable after a failed Parse.
func (h *Head) begin() {
	h.Buf, h.Len, h.NumFields = nil, 0, 0
	h.have, h.twice = 0, 0
	h.ContentLength = -1
	h.Chunked, h.KeepAlive, h.Upgrade = false, false, false
}

// parseFields parses field lines from b[i:] up to the blank line. If bytes are missing,
// h.next is the continuation. It returns the length of the head, which is then h.Buf, or 0.
//
// A line is name ":" blanks value blanks CRLF. All deviations end up in nameError or
// valueError, which find the specific error.
//
// unfold is true for responses: a continuation line becomes a part of the previous field,
// and deviations may be allowed. Otherwise the head is refused.
func (h *Head) parseFields(b []byte, i int, drop mask, unfold bool) (int, error) {
	for p := b[i:]; ; {
		if len(p) >= 2 && p[0] == '\r' && p[1] == '\n' {
			h.Len = len(b) - len(p) + 2
			h.Buf = b[:h.Len]
			return h.Len, nil
		}
		n := firstColon(p)
		k, ok := recognise(p, n)
		if !ok || n == len(p) {
			h.next = len(b) - len(p)
			if unfold && h.NumFields > 0 && len(p) > 0 && isBlank(p[0]) {
				n, err := h.unfold(b)
				if n == 0 || err != nil {
					return 0, err
				}
				p = p[n:]
				continue
			}
			if !unfold {
				return 0, nameError(p)
			}
			switch skip, again, err := h.deviantName(p); {
			case skip > 0:
				h.leaveOut(h.next, skip)
				p = p[skip:]
			case !again:
				return 0, err
			}
			continue
		}
		nf := h.NumFields
		if nf >= MaxFields {
			return 0, ErrTooManyFields
		}
		v := p[n+1:]
		for len(v) > 0 && isBlank(v[0]) {
			v = v[1:]
		}
		end := firstControl(v)
		if end < len(v) && v[end] == '\t' {
			end = textEnd(v)
		}
		if end+1 >= len(v) || v[end] != '\r' || v[end+1] != '\n' {
			h.next = len(b) - len(p)
			if !unfold {
				return 0, valueError(v, end)
			}
			again, err := h.deviantValue(v, end, k)
			if !again {
				return 0, err
			}
			continue
		}
		next := v[end+2:]
		for end > 0 && isBlank(v[end-1]) {
			end--
		}
		f := &h.Fields[nf]
		start, value := uint32(len(b)-len(p)), uint32(len(b)-len(v))
		f.Name.Off, f.Name.End = start, start+uint32(n)
		f.Value.Off, f.Value.End = value, value+uint32(end)
		f.Known, f.state = k, state(drop>>(k&63)&1)*dropped
		h.NumFields = nf + 1
		if h.have.has(k) {
			h.twice |= 1 << (k & 63)
		} else {
			h.have |= 1 << (k & 63)
			h.first[k&63] = uint8(nf)
		}
		p = next
	}
}

// slot hashes the name b[:n], of at least two bytes, by its length and ends, ignoring case.
func slot(b []byte, n int) uint8 {
	ends := uint32(binary.LittleEndian.Uint16(b[n-2:n]))&0x1f1f | uint32(b[0]&0x1f)<<16 | uint32(n)<<24
	return uint8(ends * 0xc63bfbe9 >> 24)
}

// recognise returns the kind of the name b[:n], which may contain any bytes; ok reports
// whether it is a token. It reads beyond the name if possible.
func recognise(b []byte, n int) (k Known, ok bool) {
	if n < 2 || n > maxName {
		return recogniseSlow(b[:n])
	}
	e := &entries[slot(b, n)]
	if int(e.len) != n {
		return recogniseSlow(b[:n])
	}
	if len(b) < maxName { // near the end of the buffer
		var pad [maxName]byte
		copy(pad[:], b)
		b = pad[:]
	}
	w := (*[maxName]byte)(b)
	diff := (binary.LittleEndian.Uint64(w[0:]) ^ e.word[0]) & e.care[0]
	if n > 8 {
		diff |= (binary.LittleEndian.Uint64(w[8:]) ^ e.word[1]) & e.care[1]
	}
	if n > 16 {
		diff |= (binary.LittleEndian.Uint64(w[16:]) ^ e.word[2]) & e.care[2]
		diff |= (binary.LittleEndian.Uint64(w[24:]) ^ e.word[3]) & e.care[3]
	}
	if diff != 0 {
		return recogniseSlow(b[:n])
	}
	return e.known, true
}

// framing determines the length of the body from Content-Length and Transfer-Encoding (RFC
// 9112 section 6.3), which must not both be present.
func (h *Head) framing() error {
	const both = 1<<KnownContentLength | 1<<KnownTransferEncoding
	if h.have&both == 0 {
		return nil
	}
	if h.have.has(KnownTransferEncoding) {
		switch {
		case h.have.has(KnownContentLength):
			return ErrCodingLength
		case h.Minor == 0:
			return ErrCodingVersion
		case h.twice.has(KnownTransferEncoding),
			!ascii.Is(h.Value(int(h.first[KnownTransferEncoding])), "chunked"):
			return h.codingError()
		}
		h.Chunked = true
		return nil
	}
	if h.twice.has(KnownContentLength) {
		return ErrLengthRepeated
	}
	return h.length(h.Value(int(h.first[KnownContentLength])))
}

// length parses v as Content-Length.
func (h *Head) length(v []byte) error {
	if len(v) == 0 || len(v) > 18 { // 18 digits fit an int64
		return ErrLength
	}
	n := int64(0)
	for _, c := range v {
		if c -= '0'; c > 9 {
			return ErrLength
		}
		n = n*10 + int64(c)
	}
	h.ContentLength = n
	return nil
}

// connection parses all Connection fields, sets KeepAlive, and marks the listed fields as
// dropped.
func (h *Head) connection() (options uint8, err error) {
	switch {
	case !h.have.has(KnownConnection):
	case !h.twice.has(KnownConnection) && foldIs(h.Value(int(h.first[KnownConnection])), "keep-alive"):
		options = optKeepAlive
	default:
		named := 0
		for i := int(h.first[KnownConnection]); i < h.NumFields; i++ {
			if h.Fields[i].Known == KnownConnection {
				if options, named, err = h.options(h.Value(i), options, named); err != nil {
					return 0, err
				}
			}
		}
	}
	h.KeepAlive = options&optClose == 0 && (h.Minor == 1 || options&optKeepAlive != 0)
	return options, nil
}

// noRun is not an offset.
const noRun = ^uint32(0)

// appendKept copies the lines of the fields from index i on that are not dropped or removed.
// Adjacent lines are copied together; run is the start of a run that is already open.
func (h *Head) appendKept(dst []byte, run uint32, i int) []byte {
	for ; i < h.NumFields; i++ {
		f := &h.Fields[i]
		if f.state == 0 {
			if run == noRun {
				run = f.Name.Off
			}
			continue
		}
		if run != noRun {
			dst = append(dst, h.Buf[run:f.Name.Off]...)
			run = noRun
		}
		if f.state == edited {
			dst = appendLine(dst, h.Name(i), h.values[i])
		}
	}
	if run != noRun {
		dst = append(dst, h.Buf[run:h.Len-2]...)
	}
	return dst
}

// appendLine writes a field line.
func appendLine(dst, name, value []byte) []byte {
	dst = append(dst, name...)
	dst = append(dst, ": "...)
	dst = append(dst, value...)
	return append(dst, "\r\n"...)
}

// appendFraming writes the field that frames the body.
func (h *Head) appendFraming(dst []byte) []byte {
	if h.Chunked {
		dst = append(dst, "Transfer-Encoding: chunked\r\n"...)
		if names := h.Trailers(); len(names) > 0 {
			dst = append(append(append(dst, "Trailer: "...), names...), "\r\n"...)
		}
		return dst
	}
	if h.ContentLength < 0 {
		return dst
	}
	dst = append(dst, "Content-Length: "...)
	dst = strconv.AppendInt(dst, h.ContentLength, 10)
	return append(dst, "\r\n"...)
}

// appendConnection writes the Connection field with at least one option, and TE.
func appendConnection(dst []byte, upgrade, te, closing bool) []byte {
	if te {
		dst = append(dst, "TE: trailers\r\n"...)
	}
	dst = append(dst, "Connection: "...)
	if upgrade {
		dst = append(dst, "upgrade, "...)
	}
	if te {
		dst = append(dst, "TE, "...)
	}
	if closing {
		dst = append(dst, "close, "...)
	}
	return append(dst[:len(dst)-2], "\r\n"...)
}
