package http1

import (
	"bytes"
	"encoding/binary"
	"strconv"
)

// Limits of a head. Each is checked before the bytes beyond it are looked at.
const (
	MaxFields = 128      // field lines; more are answered 431
	MaxHead   = 64 << 10 // bytes of a head with its blank line; more are answered 431
	MaxTarget = 16 << 10 // bytes of a request target, raw and canonical; more are answered 414
	MaxMethod = 32       // bytes of a method; more are answered 501
	MaxHost   = 255      // bytes of a host name without its port

	// maxLine is more than a request line can have without exceeding a limit.
	maxLine = 2 + MaxMethod + 1 + MaxTarget + 1 + len("HTTP/1.1\r\n")
)

// Span is a range of the bytes of a head: b[Off:End].
type Span struct{ Off, End uint32 }

// Of gives the bytes of s in b, the buffer that holds the head.
func (s Span) Of(b []byte) []byte { return b[s.Off:s.End] }

// Len is the number of bytes of s.
func (s Span) Len() int { return int(s.End - s.Off) }

// Field is one field line of a head.
type Field struct {
	Name  Span  // as the peer spelled it
	Value Span  // without surrounding blanks
	Known Known // which of the fields we care about, KnownNone otherwise
	state state // 0: copied as it stands
}

// Head is what requests and responses have in common. Spans are offsets into
// Buf; entries of Fields from NumFields on are stale.
type Head struct {
	Buf       []byte // the bytes of the head, borrowed from the caller of Parse
	Len       int    // bytes of the head with its blank line, and an empty line before it
	NumFields int
	Fields    [MaxFields]Field
	Minor     uint8 // 0 or 1: HTTP/1.0 or HTTP/1.1

	ContentLength int64 // -1 when not given
	Chunked       bool  // Transfer-Encoding: chunked
	KeepAlive     bool  // the peer leaves its connection open after this exchange
	Upgrade       bool  // see Request and Response

	next int // start of the first line not parsed yet; 0: nothing is parsed
	seen int // bytes that were there when the last Parse asked for more

	allow Leniency // of a response

	have, twice mask      // known fields present, present more than once
	first       [64]uint8 // index of the first field of each kind in have

	values [MaxFields][]byte // of the fields Edit gave another value
}

// Name gives the name of field i as the peer spelled it.
func (h *Head) Name(i int) []byte { return h.Fields[i].Name.Of(h.Buf) }

// Value gives the value of field i without surrounding blanks: the one Edit
// gave it, if it did.
func (h *Head) Value(i int) []byte {
	if f := &h.Fields[i]; f.state&edited == 0 {
		return f.Value.Of(h.Buf)
	}
	return h.values[i]
}

// Find gives the index of the first field that is k, -1 when there is none. It
// takes constant time.
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

// Lookup gives the index of the first field called name, which must be in
// lower case, -1 when there is none. It compares every field: for names that
// are not Known.
func (h *Head) Lookup(name string) int { return h.LookupFrom(name, 0) }

// LookupFrom is Lookup among the fields from index i on.
func (h *Head) LookupFrom(name string, i int) int {
	for ; i < h.NumFields; i++ {
		if n := h.Name(i); len(n) == len(name) && equalLower(n, name) && h.Fields[i].state&removed == 0 {
			return i
		}
	}
	return -1
}

func equalLower(b []byte, s string) bool {
	for i, c := range b {
		if lower(c) != s[i] {
			return false
		}
	}
	return true
}

// Reset forgets what is left of an incomplete head. It is needed only when a
// head for which Parse answered 0, nil is given up for another connection's.
func (h *Head) Reset() { h.next, h.seen = 0, 0 }

// NeedMore reports that b cannot hold a whole head yet, given that Parse of
// b[:seen] asked for more bytes. It looks only at b[seen:]: a caller that shares
// one Request between connections keeps seen per connection and calls Parse
// only when NeedMore is false, which keeps a head that comes byte by byte from
// being read again and again. A Request that is not shared does this by itself.
func NeedMore(b []byte, seen int) bool {
	if seen > len(b) || seen < MaxMethod+1 || len(b) >= MaxHead || seen < maxLine && len(b) >= maxLine {
		return false // garbage and limits are to be noticed at once
	}
	return bytes.IndexByte(b[seen:], '\n') < 0
}

// Parse of either kind of head is waits, then parse for the lines of its kind,
// then result. The two parse methods stay apart, a few lines each: joined by an
// interface they were never faster and in some runs 5 % slower.

// waits reports that b cannot hold a whole head yet, whatever it is.
func (h *Head) waits(b []byte) bool {
	if h.seen > len(b) {
		h.Reset() // these cannot be the same bytes and more
	}
	if h.seen == 0 || !NeedMore(b, h.seen) {
		return false
	}
	h.seen = len(b)
	return true
}

// result gives what Parse answers after reading b came to n and err, and makes
// h ready for the bytes to come: the rest of this head or the next one.
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

// begin makes h ready for the first line of a head.
func (h *Head) begin() {
	h.NumFields = 0
	h.have, h.twice = 0, 0
	h.ContentLength = -1
	h.Chunked, h.KeepAlive, h.Upgrade = false, false, false
}

// parseFields reads field lines from b[i:] until the blank line; h.next is
// where it stopped when bytes are missing. It answers the length of the head,
// which then is h.Buf, or 0.
//
// A line is name ":" blanks value blanks CRLF. Everything the loop does not
// expect ends up in nameError or valueError, which only have to find the fitting
// reason.
//
// unfold is true for responses: a line that goes on with the field before it becomes
// a part of that field, and deviations may be allowed. Else the head is refused.
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

// slot hashes the name b[:n] of at least two bytes by its length and its ends,
// whatever its case.
func slot(b []byte, n int) uint8 {
	ends := uint32(binary.LittleEndian.Uint16(b[n-2:n]))&0x1f1f | uint32(b[0]&0x1f)<<16 | uint32(n)<<24
	return uint8(ends * 0xc63bfbe9 >> 24)
}

// recognise finds the field whose name is b[:n], which may be any bytes; ok
// tells that they are a token. It reads on after the name where it can.
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

// framing finds the length of the body from Content-Length and
// Transfer-Encoding (RFC 9112 section 6.3), which must not both be there.
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
			!foldIsText(h.Value(int(h.first[KnownTransferEncoding])), "chunked"):
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

// length takes v as the Content-Length.
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

// connection reads all Connection fields, sets KeepAlive and marks the fields
// they name as not to be forwarded.
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

// appendKept copies the lines of the fields from index i on that are not
// dropped or removed. Neighbours are copied together; a run of bytes to be copied that is
// already open starts at run.
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

// appendFraming writes the one field that says where the body ends.
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
